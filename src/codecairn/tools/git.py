"""git_log, git_blame, git_diff."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from codecairn import history
from codecairn.history.blame import BlameQuery
from codecairn.history.diff import DiffQuery
from codecairn.history.log import LogQuery
from codecairn.history.page import DEFAULT_CHARACTERS, MOST_CHARACTERS
from codecairn.tools import Call, render, tool
from codecairn.types import Blame, CommitList, Diff

# The bound is in the schema; breaking it is answered with the range itself rather than with the schema's words.
LineNumber = Annotated[int | None, Meta(extra_json_schema={"minimum": 1})]

# A file's place in the list and, where the text was cut within it, the line.
DiffCursor = Annotated[str, Meta(pattern=r"^[0-9]{1,9}(\.[0-9]{1,9})?$")]

_ORDINARY_COUNT = 10

# As many as can fit an answer's text, of a file that few commits wrote, and its value.
_MOST_LINES, _MOST_LINES_ASKED = 120, 280


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
) -> CommitList:
    """Commits with the files each changed. Use it to learn when and why something changed, what was done lately, or
    who works on a file."""
    query = LogQuery(filePath, since, until, author, ref, maxCount, cursor)
    found = history.log(call.project.git, call.project.guard, query, call.cancel)
    return history.commit_page(found, MOST_CHARACTERS if maxCount > _ORDINARY_COUNT else DEFAULT_CHARACTERS)


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
) -> Blame:
    """Who wrote each line of a file, in which commit and why, through renames, moves and copies. Use it before changing
    a line that looks odd; name the lines you ask about."""
    query = BlameQuery(filePath, startLine, endLine, ref, _MOST_LINES if endLine is None else _MOST_LINES_ASKED)
    found = history.blame(call.project.git, call.project.guard, query, call.cancel)
    return history.blame_page(found, MOST_CHARACTERS)


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
) -> Diff:
    """What differs between two refs, a ref and the working directory, or (no refs) unstaged. Use it to review a
    branch or your edits; a large diff comes as a summary: then name a file."""
    query = DiffQuery(ref1, ref2, filePath, summary)
    found = history.diff(call.project.git, call.project.guard, query, call.cancel)
    return history.diff_page(found, cursor, DEFAULT_CHARACTERS)
