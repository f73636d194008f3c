"""A page request on a team server: each question is judged as at the door, and goes to a node that has the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from codecairn.errors import NotFound
from codecairn.page.addresses import address
from codecairn.page.asking import PageRequest
from codecairn.page.sessions import PageSession
from codecairn.team.page_answers import PageAnswers
from codecairn.team.repositories import TeamRepository
from codecairn.team.team_call import TeamCall
from codecairn.team.tokens import Caller

REPOSITORIES = "/r"
"""Where the pages of repositories are: `/r/org/repo/-/symbol`. No part of a name begins with a dash."""
_REPOSITORY_PAGES = (
    ("/", "Search"), ("/branch", "Changes"), ("/memory", "Memory"), ("/rules", "Rules"), ("/server", "State"),
)  # fmt: skip
_TEAM_PAGES = (("/", "Search"), ("/server", "Server"))


@dataclass
class TeamPageSession(PageSession):
    """A session for the length of one request: it is whoever its token is now."""

    caller: Caller | None = None
    request: str = ""


@dataclass(frozen=True, kw_only=True)
class TeamPageRequest(PageRequest):
    answers: PageAnswers
    caller: Caller
    request: str
    repository: TeamRepository | None = None
    """The repository that the address names; None for pages about all of them."""

    def tool(self, name: str, **arguments: Any) -> dict[str, Any]:
        tool = self.call.registry.tools.get(name)
        if tool is None:
            raise NotFound(f"This server does not offer {name}")
        given = {key: value for key, value in arguments.items() if value not in (None, "", [])}
        if self.repository is not None:
            given["project"] = self.repository.name
        asked = TeamCall(tool, given, self.caller, "json", self.request, "page", None, self.call.cancel)
        reply = self.answers.tools.answer(asked)
        if reply.error is not None:
            raise reply.error
        return reply.value

    def fact(self, name: str, **arguments: Any) -> Any:
        return self.answers.fact(name, arguments, self.caller, self.repository_name, self.request)

    def forget(self, identity: str) -> None:
        self.tool("forget", id=identity)
        self.session.undo = identity

    def restore(self, identity: str) -> None:
        self.answers.restore(identity, self.caller, self.repository_name, self.request)

    @property
    def repository_name(self) -> str:
        return self.repository.name if self.repository is not None else ""

    @property
    def pages(self) -> Sequence[tuple[str, str]]:
        return _REPOSITORY_PAGES if self.repository is not None else _TEAM_PAGES

    @property
    def project_name(self) -> str:
        return self.repository_name

    @property
    def who(self) -> str:
        return self.caller.name

    @property
    def may_write(self) -> bool:
        return self.repository is not None and self.caller.may_write(self.repository.name)

    @property
    def has_working_tree(self) -> bool:
        return False

    def at(self, page: str) -> str:
        return f"{repository_address(self.repository.name)}{page}" if self.repository is not None else page

    def link(self, page: str, /, **params: Any) -> str:
        return address(self.at(page), **{"ref": self.text("ref"), **params})


def repository_address(name: str) -> str:
    return f"{REPOSITORIES}/{quote(name)}/-"
