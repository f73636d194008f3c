"""One way to ask the index: a project and a ref in, how the index stands and a view of it out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, field

from codecairn.cancel import Cancel
from codecairn.errors import InvalidInput, NotFound, NotReady
from codecairn.index.ref_use import note_ref_use
from codecairn.index.status import IndexStatus, index_status
from codecairn.index.views import newest
from codecairn.project import Project
from codecairn.store.view import View
from codecairn.tools import Call
from codecairn.tools.schema import UNLISTED
from codecairn.tools.waiting import CallPatience, await_files, await_ref, files_indexed, first_run_note, is_first_run

_Answer = TypeVar("_Answer")

Workspace = Annotated[str | None, Meta(description="Project root (default: the served one)")]
UnlistedRoot = Annotated[
    str | None, Meta(description="Project root (default: the served one)", extra_json_schema={UNLISTED: True})
]
ProjectPath = Annotated[Annotated[str, Meta(min_length=1)] | None, Meta(description="Project root, absolute")]
Ref = Annotated[str | None, Meta(description="Branch, tag or commit (default: the working tree)")]


class Inquiry(Struct, frozen=True):
    """A question to the index of one project at one ref, and how that index stands."""

    project: Project
    stands: IndexStatus
    cancel: Cancel = field(default_factory=Cancel)

    @property
    def is_empty(self) -> bool:
        """Whether the first run is under way and has indexed no file yet."""
        return is_first_run(self.stands) and not files_indexed(self.stands)

    def answer(self, reply: Callable[[View], _Answer]) -> _Answer | None:
        """Returns the reply from the newest view; None where nothing is indexed yet."""
        if self.is_empty:
            return None
        with self._naming_the_part():
            return newest(self.project.index, self.stands, reply, self.cancel)

    def require(self, reply: Callable[[View], _Answer], error: type[NotReady] = NotReady) -> _Answer:
        """Returns the reply from the newest view; raises where nothing is indexed yet."""
        found = self.answer(reply)
        if found is None:
            raise self.not_indexed(error)
        return found

    def not_indexed(self, error: type[NotReady] = NotReady) -> NotReady:
        """The error says that nothing is indexed, and which call indexes it."""
        details = self.stands.warnings
        if is_first_run(self.stands):
            return error(f"Not indexed yet: {self.first_run}", details=details, remedy="Call again in a moment.")
        given = json.dumps({"path": str(self.project.root)}, ensure_ascii=False)
        remedy = f"Call index_codebase {given} first; grep_codebase and read_file work without an index."
        return error("Project not indexed", details=details, remedy=remedy)

    def metadata(
        self, warnings: Iterable[str] = (), *, is_cut: bool = False, is_whole: bool = True, **more: Any
    ) -> dict[str, Any]:
        """How the index stands, as answers say it, with further warnings. An answer may be cut by its caller's limit,
        or may not be whole since more would cost too much."""
        said = self.stands.metadata("truncated" if is_cut else "complete")
        every = [*self.stands.warnings, *warnings]
        partial = {} if is_whole else {"result_completeness": "partial"}
        return {**said, **partial, **more, **({"warnings": every} if every else {})}

    @property
    def first_run(self) -> str:
        return first_run_note(self.project.index, self.stands)

    @contextmanager
    def _naming_the_part(self) -> Iterator[None]:
        """An error about something not found says which part of the files was searched."""
        try:
            yield
        except NotFound as error:
            if is_first_run(self.stands):
                error.message = f"{error.message} in what is indexed: {self.first_run}"
                error.remedy = f"Call again in a moment. {error.remedy}"
            raise


def project_of(call: Call, workspace: str | None, path: str | None = None) -> Project:
    """The project at a root, which callers name as `workspace` or as `path`; the served one where they name none."""
    if path is not None and workspace is not None and path != workspace:
        reason = "path and workspace are two names for the project root"
        raise InvalidInput(f"path and workspace differ: {reason}", param="workspace", reason=reason)
    if path is not None:
        return call.projects.project_at(path, param="path")
    return call.projects.project_at(workspace, param="workspace") if workspace else call.project


def inquire(call: Call, project: Project, ref: str | None = None, patience: CallPatience | None = None) -> Inquiry:
    """Ask about the given ref, else the connection's, else the working tree. Waits until that is indexed, though not
    for long; errors after this say how the index stands."""
    asked, patience = call.ref_for(project, ref), patience or CallPatience(call)
    if asked is None:
        return _note(call, Inquiry(project, await_files(call, project, patience), call.cancel))
    return _note(call, Inquiry(project, await_ref(call, project, asked, patience), call.cancel))


def glance(call: Call, project: Project, ref: str | None = None) -> Inquiry:
    """Ask without waiting, for answers that can do without an index."""
    return _note(call, look(call, project, ref))


def look(call: Call, project: Project, ref: str | None = None) -> Inquiry:
    """Ask without waiting about a project that the call is not about: nothing is noted of it."""
    return Inquiry(project, index_status(project.index, call.cancel, call.ref_for(project, ref)), call.cancel)


def _note(call: Call, inquiry: Inquiry) -> Inquiry:
    """Note the use of a ref, what errors say of the index, and which list the pages of an answer are cut from: a
    ref's commit, or the working tree as it was last looked at."""
    layer, opened = inquiry.stands.layer, inquiry.stands.opened
    call.metadata = inquiry.metadata()
    if layer is not None and layer.name:
        call.sequence += f"{layer.head} "
        if opened is not None:
            note_ref_use(opened.folder, layer)
    elif layer is not None:
        epoch = opened.folder.name if opened is not None else ""
        call.sequence += f"{epoch}/{layer.id}/{layer.generation}/{layer.head} "
    return inquiry


def clamp(limit: int, most: int) -> tuple[int, list[str]]:
    """The limit that holds, and a warning where it is not the one that was asked for."""
    return (limit, []) if limit <= most else (most, [f"limit: {limit} is more than the most there is, {most}"])
