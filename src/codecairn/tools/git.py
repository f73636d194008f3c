"""git_log, git_blame, git_diff."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from codecairn import history
from codecairn.history.blame import BlameQuery
from codecairn.history.diff import DiffQuery
from codecairn.history.log import LogQuery
from codecairn.tools import Call, render, tool
from codecairn.tools.nearby import suggesting_paths
from codecairn.tools.views import UnlistedRoot, project_of
from codecairn.types import Blame, CommitList, Diff

# The bound is in the schema; breaking it is answered with the range itself rather than with the schema's words.
LineNumber = Annotated[int | None, Meta(extra_json_schema={"minimum": 1})]

# A file's place in the list and, where the text was cut within it, the line.
DiffCursor = Annotated[str, Meta(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]


@tool(family="history", markdown=render.commit_list)
def git_log(
    call: Call,
    *,
    filePath: Annotated[str | None, Meta(description="Of this file (through renames) or folder")] = None,
    since: Annotated[
        str | None, Meta(description="After this date ('2025-01-01', '30 days ago'), tag or commit")
    ] = None,
    until: Annotated[str | None, Meta(description="Up to this date, tag or commit")] = None,
    author: Annotated[str | None, Meta(description="Part of an author's name or email")] = None,
    maxCount: Annotated[int, Meta(ge=1, le=100, description="Most commits")] = 10,
    ref: Annotated[str | None, Meta(description="Branch, tag or commit to start from (default HEAD)")] = None,
    cursor: Annotated[str | None, Meta(description="Where an earlier answer ended")] = None,
    workspace: UnlistedRoot = None,
) -> CommitList:
    """Commits with the files each changed. Use it to learn when and why something changed, what was done lately, or
    who works on a file."""
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
    ref: Annotated[
        str | None, Meta(description="Read the file at this branch, tag or commit (default: working tree)")
    ] = None,
    workspace: UnlistedRoot = None,
) -> Blame:
    """Who last changed each line of a file, with the commit. Use it before changing a line that looks odd, to learn
    why it is so; name a line range for a long file."""
    query = BlameQuery(filePath, startLine, endLine, ref)
    project = project_of(call, workspace)
    with suggesting_paths(project, filePath, call.cancel):
        return history.blame(project.git, project.guard, query, call.cancel)


@tool(family="history", markdown=render.diff)
def git_diff(
    call: Call,
    *,
    ref1: Annotated[
        str | None, Meta(description="First branch, tag or commit (default: the working directory)")
    ] = None,
    ref2: Annotated[
        str | None, Meta(description="Second branch, tag or commit (default: the working directory)")
    ] = None,
    filePath: Annotated[str | None, Meta(description="Only this file or folder, relative to the project root")] = None,
    summary: Annotated[bool, Meta(description="Only the files with their line counts")] = False,
    cursor: Annotated[DiffCursor | None, Meta(description="Where an earlier answer ended")] = None,
    workspace: UnlistedRoot = None,
) -> Diff:
    """What differs between two refs, a ref and the working directory, or (no refs) unstaged. Use it to review a
    branch or your edits; a large diff comes as a summary: then name a file."""
    del cursor  # the value is whole; only its text is read in pages
    query = DiffQuery(ref1, ref2, filePath, summary)
    project = project_of(call, workspace)
    return history.diff(project.git, project.guard, query, call.cancel)
