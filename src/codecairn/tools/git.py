"""git_log, git_blame, git_diff."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from codecairn import history
from codecairn.history.blame import BlameQuery
from codecairn.history.diff import DiffQuery
from codecairn.history.log import LogQuery
from codecairn.tools import Call, render, tool
from codecairn.tools.cursor import Cursor
from codecairn.tools.nearby import suggesting_paths
from codecairn.tools.views import UnlistedRoot, project_of
from codecairn.types import Blame, CommitList, Diff

# The bound is in the schema; breaking it is answered with the range itself rather than with the schema's words.
LineNumber = Annotated[int | None, Meta(extra_json_schema={"minimum": 1})]


@tool(family="history", markdown=render.commit_list)
def git_log(
    call: Call,
    *,
    filePath: Annotated[str | None, Meta(description="File (through renames) or folder")] = None,
    since: Annotated[str | None, Meta(description="Date ('2025-01-01', '30 days ago'), tag or commit")] = None,
    until: Annotated[str | None, Meta(description="The same")] = None,
    author: Annotated[str | None, Meta(description="Part of an author's name or email")] = None,
    maxCount: Annotated[int, Meta(ge=1, le=100, description="Most commits")] = 10,
    ref: Annotated[str | None, Meta(description="Branch, tag or commit to start from (default HEAD)")] = None,
    cursor: Cursor = None,
    workspace: UnlistedRoot = None,
) -> CommitList:
    """Commits with their files. Use it to learn when and why something changed."""
    query = LogQuery(filePath, since, until, author, ref, maxCount, cursor)
    project = project_of(call, workspace)
    with suggesting_paths(project, filePath, call.cancel):
        return history.log(project.git, project.guard, query, call.cancel)


@tool(family="history", markdown=render.blame)
def git_blame(
    call: Call,
    *,
    filePath: Annotated[str, Meta(description="File relative to the project root")],
    startLine: Annotated[LineNumber, Meta(description="First line, counted from 1")] = None,
    endLine: Annotated[LineNumber, Meta(description="Last line, inclusive")] = None,
    ref: Annotated[str | None, Meta(description="Read the file there")] = None,
    workspace: UnlistedRoot = None,
) -> Blame:
    """Which commit wrote each line, through moves and copies. Use it on a line that looks odd."""
    query = BlameQuery(filePath, startLine, endLine, ref)
    project = project_of(call, workspace)
    with suggesting_paths(project, filePath, call.cancel):
        return history.blame(project.git, project.guard, query, call.cancel)


@tool(family="history", markdown=render.diff)
def git_diff(
    call: Call,
    *,
    ref1: Annotated[str | None, Meta(description="From this branch, tag or commit")] = None,
    ref2: Annotated[str | None, Meta(description="To this one (default: working tree)")] = None,
    filePath: Annotated[str | None, Meta(description="Only this file or folder")] = None,
    summary: Annotated[bool, Meta(description="Only the files with their line counts")] = False,
    cursor: Cursor = None,
    workspace: UnlistedRoot = None,
) -> Diff:
    """What differs between refs, or (no refs) is unstaged; a large diff as a summary. Use it for the lines."""
    del cursor  # the value is whole; only its text is read in pages
    query = DiffQuery(ref1, ref2, filePath, summary)
    project = project_of(call, workspace)
    found = history.diff(project.git, project.guard, query, call.cancel)
    call.sequence = repr([(each.path, each.status, each.insertions, each.deletions) for each in found.files])
    return found
