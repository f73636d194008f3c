"""The resources: pages that a client reads without calling a tool. They are bounded, and count what they leave out.

    context://project/overview     what the project is, how it is laid out, what much of it rests on, what moves in it
    context://module/{name}        one module, by its folder's name or path
    context://session/current      what this connection has done so far
    context://sessions/recent      what the last sessions did, whoever's

One entry of RESOURCES is all there is to one: its address, its words, who reads it, who completes its variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from codecairn.context.build_files import manifests
from codecairn.context.memory_pages import MOST_SESSIONS, discovery_section, session_page, sessions_page
from codecairn.context.module_page import completions, module_page, modules_called
from codecairn.context.overview_page import bare_page, overview_page
from codecairn.context.summaries import readme_of
from codecairn.context.survey import ModuleFolder, ProjectFacts, Survey, survey
from codecairn.errors import NotFound
from codecairn.history.churn import recent_churn
from codecairn.memory.drift_check import verdict
from codecairn.memory.sessions import topics
from codecairn.paths import printable
from codecairn.project import Project
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.view import View
from codecairn.tools import Call
from codecairn.tools.inquiry import glance, inquire

MIME_TYPE = "text/markdown"
_VARIABLE = "{name}"
_MODULE = "context://module/"
_MODULES_LISTED = 20


@dataclass(frozen=True)
class Resource:
    uri: str
    """With `{name}` at its end where it is a template."""
    name: str
    title: str
    description: str
    read: Callable[[Call, str], str]
    """The Markdown, given what stands for the variable."""
    complete: Callable[[Call, str], list[str]] | None = None

    @property
    def is_template(self) -> bool:
        return self.uri.endswith(_VARIABLE)

    def variable(self, uri: str) -> str | None:
        """The value of the variable in an address, empty where there is none; None for an address of another kind."""
        if not self.is_template:
            return "" if uri == self.uri else None
        start = self.uri.removesuffix(_VARIABLE)
        return unquote(uri.removeprefix(start)) if uri.startswith(start) and uri != start else None


def read(call: Call, uri: str) -> str:
    for each in RESOURCES:
        variable = each.variable(uri)
        if variable is not None:
            return each.read(call, variable)
    known = ", ".join(each.uri for each in RESOURCES)
    raise NotFound(f"No such resource: {printable(uri)}", uri=printable(uri), remedy=f"There are {known}.")


def project_facts(call: Call, project: Project, view: View) -> ProjectFacts:
    surveyed = survey(view, project.name)
    uses = project.uses.uses(view, surveyed.product, call.cancel)
    return ProjectFacts(
        surveyed, uses, recent_churn(project.git, project.guard, call.cancel), project.catalog.current()
    )


def read_overview(call: Call, _: str = "") -> str:
    project = call.project
    inquiry = inquire(call, project)
    found = manifests(project.root, project.guard)

    def answer(view: View) -> str:
        notes = [_discoveries(project, view, project.discoveries.all())]
        return overview_page(view, project_facts(call, project, view), found, notes, inquiry.stands)

    page = inquiry.answer(answer)
    return (
        page
        if page is not None
        else bare_page(project.name, readme_of(project.root, project.guard), found, inquiry.stands)
    )


def read_module(call: Call, name: str) -> str:
    project = call.project
    inquiry = inquire(call, project)

    def answer(view: View) -> str:
        known = project_facts(call, project, view)
        shown, others = modules_called(known.survey, name)
        notes = [_discoveries(project, view, [row for row in project.discoveries.all() if _is_about(row, shown)])]
        return module_page(view, known, shown, others, notes, inquiry.stands, call.cancel)

    return inquiry.require(answer)


def _is_about(row: DiscoveryRow, modules: list[ModuleFolder]) -> bool:
    """A discovery of the module, unless it is bound to a file of another folder of the same name."""
    if row.path is None:
        return row.module is not None and row.module.casefold() == modules[0].name.casefold()
    return row.path.rpartition("/")[0] in {each.folder for each in modules}


def _discoveries(project: Project, view: View, rows: list[DiscoveryRow]) -> str:
    return discovery_section(rows, lambda row: verdict(row, view, project.root))


def read_session(call: Call, _: str = "") -> str:
    sessions = call.registry.sessions
    row = sessions.current(call.connection, call.project)
    return session_page(row, topics(row) if row else [], sessions.clock())


def read_sessions(call: Call, _: str = "") -> str:
    sessions = call.registry.sessions
    rows = sessions.recent(call.project, MOST_SESSIONS)
    return sessions_page([(row, topics(row)) for row in rows], sessions.clock())


def module_names(call: Call, typed: str) -> list[str]:
    found = _survey(call)
    return completions(found, typed) if found is not None else []


def list_modules(call: Call) -> Iterator[tuple[str, str]]:
    """The weightiest modules of the product, each once, by address and folder; none while nothing is indexed."""
    found = _survey(call)
    modules = [each for each in found.modules if each.role == "source"] if found is not None else []
    for each in modules[:_MODULES_LISTED]:
        yield f"{_MODULE}{each.folder or each.name}", each.folder or "."


def _survey(call: Call) -> Survey | None:
    project = call.project
    return glance(call, project).answer(lambda view: survey(view, project.name))


RESOURCES: tuple[Resource, ...] = (
    Resource(
        "context://project/overview", "project-overview", "Project overview",
        "What this project is: stack, commands, layout, modules, central symbols, what changes most. Read it first.",
        read_overview,
    ),
    Resource(
        f"{_MODULE}{_VARIABLE}", "module", "Module",
        "One module, by its folder's name or path: its files, what others use of it, what it rests on, its tests.",
        read_module, module_names,
    ),
    Resource(
        "context://session/current", "current-session", "This session",
        "What this connection has done so far: files opened, questions asked, tools used, what it is about.",
        read_session,
    ),
    Resource(
        "context://sessions/recent", "recent-sessions", "Recent sessions",
        "What the last sessions in this project worked on. Read it to take up earlier work.", read_sessions,
    ),
)  # fmt: skip
