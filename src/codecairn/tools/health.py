"""health_check and metrics_snapshot: how the server itself is doing."""

from __future__ import annotations

from typing import Literal

from msgspec import field

from codecairn import __version__
from codecairn.catalog.check import load_with_problems
from codecairn.clock import timestamp
from codecairn.errors import CairnError
from codecairn.metrics import MetricsSnapshot
from codecairn.project import Project
from codecairn.tools import Call, tool
from codecairn.types import CamelStruct

_MOST_PROBLEMS = 20


class Health(CamelStruct, frozen=True, kw_only=True, omit_defaults=True):
    status: Literal["ok", "degraded"]
    timestamp: str
    version: str
    problems: list[str] = field(default_factory=list)


@tool(family="catalog", method="health/check")
def health_check(call: Call) -> Health:
    """Whether the server is up and has a project. Use it when another tool fails oddly."""
    project, problems = _project(call)
    if project is not None:
        _, found = load_with_problems(project.catalog, project.criteria)
        problems = _shorten([str(each) for each in found])
    return Health(
        status="ok" if project is not None else "degraded",
        timestamp=timestamp(),
        version=__version__,
        problems=problems,
    )


@tool(family="catalog", method="metrics/snapshot")
def metrics_snapshot(call: Call) -> MetricsSnapshot:
    """Calls, errors, latencies and memory of the server. Use it to see what is slow."""
    return call.registry.metrics.snapshot()


def _shorten(problems: list[str]) -> list[str]:
    more = len(problems) - _MOST_PROBLEMS
    said = f"{more} more; `cairn instructions check` lists them all"
    return [*problems[:_MOST_PROBLEMS], said] if more > 0 else problems


def _project(call: Call) -> tuple[Project | None, list[str]]:
    """The project, or why there is none; a bad file of the catalogue is a problem, but not the server's."""
    try:
        project = call.project
    except CairnError as error:
        return None, [f"{error.message}. {error.remedy}"]
    if not project.root.is_dir():
        return None, [f"The project folder is gone: {project.root}"]
    return project, []
