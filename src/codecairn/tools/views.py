"""What every tool that answers from the index begins with: the project, how the index stands, and a view of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeVar

from msgspec import Meta

from codecairn.errors import InvalidInput, NotReady
from codecairn.index.overlays import note_ref_use
from codecairn.index.standing import LIVE, Standing, standing
from codecairn.project import Project
from codecairn.rank import search
from codecairn.store.view import View
from codecairn.tools import Call

_LONGEST_CURSOR = 9
_Answer = TypeVar("_Answer")

Workspace = Annotated[str | None, Meta(description="Project root (default: the served one)")]
Ref = Annotated[str | None, Meta(description="Branch, tag or commit (default: the working tree)")]
Cursor = Annotated[str | None, Meta(description="next_cursor of the page before")]


def project_of(call: Call, workspace: str | None) -> Project:
    return call.projects.named(workspace, param="workspace") if workspace else call.project


def ref_for(call: Call, project: Project, ref: str | None) -> str | None:
    """The ref asked for, else the connection's; None for the working tree."""
    asked = ref if ref is not None else call.connection.refs.get(project.root)
    return None if asked == LIVE else asked


def looked_at(call: Call, project: Project, ref: str | None = None) -> Standing:
    """How the index stands of the ref asked for, else of the connection's, else of the working tree; what goes wrong
    from here on says so too."""
    stands = standing(project.index, call.cancel, ref_for(call, project, ref))
    if stands.layer is not None and stands.opened is not None and stands.layer.name:
        note_ref_use(stands.opened.folder, stands.layer)
    call.metadata = stands.metadata()
    return stands


def ready(call: Call, project: Project, ref: str | None = None) -> Standing:
    stands = looked_at(call, project, ref)
    if stands.layer is None and stands.indexing in ("not_indexed", "failed"):
        raise NotReady("Project not indexed", details=stands.warnings)
    return stands


def newest(stands: Standing, project: Project, answer: Callable[[View], _Answer]) -> _Answer | None:
    """What the newest view answers; None where nothing is indexed yet."""
    return search.newest(project.index, stands, answer)


def epoch(stands: Standing) -> str:
    """Which building of the index is asked: the key of what a searcher may remember."""
    return stands.opened.folder.name if stands.opened else ""


def clamped(limit: int, most: int) -> tuple[int, list[str]]:
    """A limit that is kept, and what to say where it is another than was asked for."""
    return (limit, []) if limit <= most else (most, [f"limit: {limit} is more than the most there is, {most}"])


def offset_of(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > _LONGEST_CURSOR:
        raise InvalidInput("Not a cursor of this tool", param="cursor", reason="give next_cursor as it was")
    return int(cursor)
