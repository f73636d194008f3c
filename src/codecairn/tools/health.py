"""health_check and metrics_snapshot: how the server itself is doing."""

from __future__ import annotations

from codecairn import __version__
from codecairn.errors import CairnError
from codecairn.metrics import timestamp
from codecairn.tools import Call, tool
from codecairn.types import Health, MetricsSnapshot


@tool(family="catalog", method="health/check")
def health_check(call: Call) -> Health:
    """Whether the server is up and has a usable project, with its version. Use it when another tool fails oddly."""
    problems = _problems(call)
    return Health(
        status="degraded" if problems else "ok", timestamp=timestamp(), version=__version__, problems=problems
    )


@tool(family="catalog", method="metrics/snapshot", idempotent=False)
def metrics_snapshot(call: Call) -> MetricsSnapshot:
    """Calls, errors and latencies per tool since the server started. Use it to see what is slow or failing."""
    return call.registry.metrics.snapshot()


def _problems(call: Call) -> list[str]:
    try:
        project = call.project
    except CairnError as error:
        return [f"{error.message} {error.remedy}"]
    return [] if project.root.is_dir() else [f"The project folder is gone: {project.root}"]
