"""What a view may ask: the tools, by their names, as every other door asks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from codecairn.errors import CairnError, InvalidInput, NotFound, ResultNotFound
from codecairn.memory.archive import export_lines, import_rows, parse_lines
from codecairn.page.addresses import address
from codecairn.page.facts import find_fact
from codecairn.page.sessions import PageSession
from codecairn.project import Project
from codecairn.tools import Call

LONGEST_PARAM = 4_000
FIRST_LINES = 600
"""Lines of a file that its page has from the start on, whichever of them is asked for."""
PROJECT_PAGES = (
    ("/", "Search"), ("/branch", "Changes"), ("/memory", "Memory"), ("/rules", "Rules"), ("/server", "Server"),
)  # fmt: skip


@dataclass(frozen=True)
class PageRequest:
    """A request as views see it: what is asked for, by whom, and the tools to answer it with."""

    path: str
    params: Mapping[str, str]
    """Of the address, or of the form."""
    session: PageSession
    call: Call
    failures: list[CairnError] = field(default_factory=list)

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The whole value of a tool; raises its error. Arguments that are not set are left out."""
        tool = self.call.registry.tools.get(name)
        if tool is None:
            raise NotFound(f"This server does not offer {name}", remedy="Start it with that tool among --tools.")
        given = {key: value for key, value in arguments.items() if value not in (None, "", [])}
        if self.text("project") and tool.root_param in tool.params.__struct_fields__:
            given[tool.root_param] = self.text("project")
        call = replace(self.call, answers="text", metadata=None, sequence="")
        reply = self.call.registry.call(tool, call, given)
        if reply.error is not None:
            raise reply.error
        return reply.value

    def try_tool(self, name: str, **arguments: Any) -> dict[str, Any] | None:
        """The value of a tool that a page can do without; its error is shown on the page, and the rest stays."""
        try:
            return self.tool(name, **arguments)
        except CairnError as error:
            self.failures.append(error)
            return None

    def text(self, name: str) -> str:
        value = self.params.get(name, "")
        if len(value) > LONGEST_PARAM:
            raise InvalidInput(f"{name} is too long", param=name, reason=f"at most {LONGEST_PARAM} characters")
        return value

    def number(self, name: str) -> int | None:
        value = self.text(name)
        if not value:
            return None
        if not (value.isascii() and value.isdigit() and 0 < int(value[:12]) < 1 << 31):
            raise InvalidInput(f"{name} is not a line or a count", param=name, reason="a whole number from 1")
        return int(value)

    def fact(self, name: str, **arguments: Any) -> Any:
        """What a view asks beside the tools."""
        return find_fact(self.call, self.project, name, arguments)

    def try_fact(self, name: str, **arguments: Any) -> Any:
        """What a page can do without; its error is shown on the page, and the rest stays."""
        try:
            return self.fact(name, **arguments)
        except CairnError as error:
            self.failures.append(error)
            return None

    def forget(self, identity: str) -> None:
        """Delete a discovery; the next page offers to bring it back."""
        row = self.call.project.discoveries.get(identity)
        self.tool("forget", id=identity)
        if row is not None:
            self.session.keep_forgotten(identity, next(export_lines([row])))
            self.session.undo = identity

    def restore(self, identity: str) -> None:
        """Bring back what was forgotten here, as it was: with its id and with the code it was about."""
        line = self.session.forgotten.pop(identity, None)
        if line is None:
            raise ResultNotFound(
                "There is nothing to bring back", remedy="Only what was forgotten in this session can be."
            )
        project = self.call.project
        import_rows(project.discoveries, parse_lines([line], project.guard))

    @property
    def pages(self) -> Sequence[tuple[str, str]]:
        """The pages that the head of every page leads to."""
        return PROJECT_PAGES

    @property
    def project_name(self) -> str:
        try:
            return self.project.name
        except CairnError:
            return ""

    @property
    def who(self) -> str:
        """Who is logged in, where that is anybody in particular."""
        return ""

    @property
    def may_write(self) -> bool:
        return True

    @property
    def has_working_tree(self) -> bool:
        """Whether there are files that somebody works on, beside the commits."""
        return True

    @property
    def project(self) -> Project:
        named = self.text("project")
        return self.call.projects.project_at(named, param="project") if named else self.call.project

    def at(self, page: str) -> str:
        """A page of the same project, without anything asked of it."""
        return page

    def link(self, page: str, /, **params: Any) -> str:
        """An address in the same project and at the same ref."""
        return address(self.at(page), **{"project": self.text("project"), "ref": self.text("ref"), **params})

    def file_link(self, path: str, line: int | None = None, **more: Any) -> str:
        """The page of a file, at a line of it; only one far down has to be asked for to be on the page."""
        far = line if more or (line or 0) > FIRST_LINES else None
        return self.link("/file", path=path, line=far, **more) + (f"#L{line}" if line else "")


@dataclass(frozen=True)
class PageAnswer:
    """A page: a template with its values."""

    template: str
    values: Mapping[str, Any]
    status: int = 200
    part: str = ""
    """The template of its changing part alone, for a page that is there already."""


@dataclass(frozen=True)
class Redirect:
    """Another address, which the browser asks for next."""

    address: str
    notice: str = ""
