"""git_log, git_blame, git_diff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from codecairn import history
from codecairn.budget import DEFAULT_CHARACTERS, MOST_CHARACTERS, ORDINARY_COUNT, characters
from codecairn.history.blame import BlameQuery
from codecairn.history.diff import DiffQuery
from codecairn.history.log import LogQuery
from codecairn.reading import Printer
from codecairn.tools import Call, history_text, tool
from codecairn.tools.cursor import Cursor
from codecairn.tools.inquiry import UnlistedRoot, project_of
from codecairn.tools.suggestions import suggest_paths
from codecairn.types import Blame, CommitList, Diff

# The bound is in the schema; breaking it is answered with the range itself rather than with the schema's words.
LineNumber = Annotated[int | None, Meta(extra_json_schema={"minimum": 1})]

# As many as can fit an answer's text, of a file that few commits wrote, and its value.
_MOST_LINES, _MOST_LINES_ASKED = 120, 280


def _printer(form: type[Any], drawn: Callable[[Any, Mapping[str, Any]], str]) -> Printer:
    return lambda fields, reading: drawn(msgspec.convert(fields, form), reading.params)


@tool(family="history", markdown=history_text.commit_list)
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
    with suggest_paths(project, filePath, call.cancel):
        found = history.log(project.git, project.guard, query, call.cancel)
    return history.commit_page(found, characters(asked=maxCount > ORDINARY_COUNT))


@tool(
    family="history",
    markdown=history_text.blame,
    reading=_printer(Blame, history_text.blame_runs),
    fit=history.blame_page,
)
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
    query = BlameQuery(filePath, startLine, endLine, ref, _MOST_LINES if endLine is None else _MOST_LINES_ASKED)
    project = project_of(call, workspace)
    with suggest_paths(project, filePath, call.cancel):
        found = history.blame(project.git, project.guard, query, call.cancel)
    return history.blame_page(found, MOST_CHARACTERS)


@tool(family="history", markdown=history_text.diff, reading=_printer(Diff, history_text.diff_compared))
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
    query = DiffQuery(ref1, ref2, filePath, summary)
    project = project_of(call, workspace)
    found = history.diff(project.git, project.guard, query, call.cancel)
    call.sequence = repr([(each.path, each.status, each.insertions, each.deletions) for each in found.files])
    return history.diff_page(found, cursor, DEFAULT_CHARACTERS)
