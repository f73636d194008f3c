"""What every tool that answers from the index begins with: the project, how the index stands, and a view of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, TypeVar

from msgspec import Meta

from codecairn.errors import InvalidInput, NotFound, NotReady
from codecairn.index import views as index_views
from codecairn.index.overlays import note_ref_use
from codecairn.index.standing import Standing, standing
from codecairn.project import Project
from codecairn.store.layers import Layer
from codecairn.store.view import View
from codecairn.tools import Call
from codecairn.tools.readiness import Patience, await_files, await_ref, files_indexed, first_run_note, is_first_run
from codecairn.tools.schema import UNLISTED

_Answer = TypeVar("_Answer")

Workspace = Annotated[str | None, Meta(description="Project root (default: the served one)")]
UnlistedRoot = Annotated[
    str | None, Meta(description="Project root (default: the served one)", extra_json_schema={UNLISTED: True})
]
Ref = Annotated[str | None, Meta(description="Branch, tag or commit (default: the working tree)")]


def project_of(call: Call, workspace: str | None, path: str | None = None) -> Project:
    """The project at a root, which callers name as `workspace` or as `path`; the served one where they name none."""
    if path is not None and workspace is not None and path != workspace:
        reason = "path and workspace are two names for the project root"
        raise InvalidInput(f"path and workspace differ: {reason}", param="workspace", reason=reason)
    if path is not None:
        return call.projects.named(path, param="path")
    return call.projects.named(workspace, param="workspace") if workspace else call.project


def looked_at(call: Call, project: Project, ref: str | None = None, patience: Patience | None = None) -> Standing:
    """How the index stands of the ref asked for, else of the connection's, else of the working tree, once that is
    indexed or has taken too long; what goes wrong from here on says so too."""
    asked, patience = call.ref_for(project, ref), patience or Patience(call)
    if asked is None:
        return _noted(call, await_files(call, project, patience))
    return _noted(call, await_ref(call, project, asked, patience))


def glance(call: Call, project: Project, ref: str | None = None) -> Standing:
    """The same as it is now, for what answers without an index too."""
    return _noted(call, standing(project.index, call.cancel, call.ref_for(project, ref)))


def _noted(call: Call, stands: Standing) -> Standing:
    if stands.layer is not None and stands.opened is not None and stands.layer.name:
        note_ref_use(stands.opened.folder, stands.layer)
    call.metadata = stands.metadata()
    if stands.layer is not None:
        call.sequence += _identity(stands, stands.layer)
    return stands


def _identity(stands: Standing, layer: Layer) -> str:
    """What the lists of a layer stand for: a ref's commit; a working tree as it was last looked at."""
    if layer.name:
        return f"{layer.head} "
    epoch = stands.opened.folder.name if stands.opened else ""
    return f"{epoch}/{layer.id}/{layer.generation}/{layer.head} "


def ready(call: Call, project: Project, ref: str | None = None) -> Standing:
    stands = looked_at(call, project, ref)
    if stands.layer is None and stands.indexing in ("not_indexed", "failed"):
        raise unindexed(project, stands)
    return stands


def unindexed(project: Project, stands: Standing, error: type[NotReady] = NotReady) -> NotReady:
    """Says that nothing is indexed, and which call makes it so."""
    if is_first_run(stands):
        note = first_run_note(project.index, stands)
        return error(f"Not indexed yet: {note}", details=stands.warnings, remedy="Call again in a moment.")
    given = json.dumps({"path": str(project.root)}, ensure_ascii=False)
    remedy = f"Call index_codebase {given} first; grep_codebase and read_file work without an index."
    return error("Project not indexed", details=stands.warnings, remedy=remedy)


def newest(stands: Standing, project: Project, answer: Callable[[View], _Answer]) -> _Answer | None:
    """What the newest view answers; None where nothing is indexed yet."""
    if is_first_run(stands) and not files_indexed(stands):
        return None
    with searched(stands, project):
        return index_views.newest(project.index, stands, answer)


@contextmanager
def searched(stands: Standing, project: Project) -> Iterator[None]:
    """What is not found in a part of the files is said of that part."""
    try:
        yield
    except NotFound as error:
        if is_first_run(stands):
            error.message = f"{error.message} in what is indexed: {first_run_note(project.index, stands)}"
            error.remedy = f"Call again in a moment. {error.remedy}"
        raise


def clamped(limit: int, most: int) -> tuple[int, list[str]]:
    """A limit that is kept, and what to say where it is another than was asked for."""
    return (limit, []) if limit <= most else (most, [f"limit: {limit} is more than the most there is, {most}"])
