"""grep_codebase: every line of the project that matches a regular expression."""

from __future__ import annotations

import re
import time
from typing import Annotated

from msgspec import Meta, Struct

from codecairn.errors import InvalidInput
from codecairn.files.gitgrep import GitGrep
from codecairn.files.grep import GrepEngine, GrepResult, Match, Query, Time, search
from codecairn.files.re2_scan import Scan
from codecairn.files.ripgrep import Ripgrep
from codecairn.globs import path_matcher
from codecairn.paths import printable
from codecairn.project import Project
from codecairn.reading.grep import print_grep
from codecairn.source import process
from codecairn.source.git_errors import name_first_few
from codecairn.source.refs import is_repository
from codecairn.tools import Call, tool
from codecairn.tools.cursor import Cursor, offset_of
from codecairn.tools.files import commit_for
from codecairn.tools.inquiry import Ref, UnlistedRoot, project_of

TIMEOUT_S = 10.0
Around = Annotated[int, Meta(ge=0, le=10)]
_NAME_GLOB = re.compile(r"(?P<any>\*\*/)?(?P<name>[\w.*?+{},@%-]+)")
_PLAIN_FOLDERS = re.compile(r"(?:[^*?\[\]{}\\/]+/)+")
_LAST_NAME = re.compile(r"(?:.*/)?(?P<name>[\w.*?+@%-]*[\w.?+@%-][\w.*?+@%-]*)")


class Context(Struct, frozen=True, kw_only=True):
    before: list[str]
    after: list[str]


class GrepMatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    file: str
    line: int
    column: int
    text: str
    context: Context
    lineLength: int | None = None
    """Characters of the whole line, where only the part around the match is shown."""


class Grep(Struct, frozen=True, kw_only=True, omit_defaults=True):
    matches: list[GrepMatch]
    pattern: str
    totalMatches: int
    filesSearched: int
    searchTime: float
    engine: str
    message: str | None = None
    binaryFiles: int | None = None
    unreadableFiles: int = 0
    incomplete: bool = False
    commit: str | None = None
    next_cursor: str | None = None


@tool(family="files", per_minute=60, slow_ms=3000.0, reading=print_grep)
def grep_codebase(
    call: Call,
    *,
    pattern: Annotated[str, Meta(description="Regular expression", min_length=1, max_length=200)],
    filePattern: Annotated[str | None, Meta(description="Glob: **/*.ts")] = None,
    caseSensitive: Annotated[bool, Meta(description="Case counts")] = False,
    limit: Annotated[int, Meta(ge=1, le=100, description="Most matches")] = 50,
    context: Annotated[Around | None, Meta(description="Lines around each match")] = None,
    cursor: Cursor = None,
    ref: Ref = None,
    workspace: UnlistedRoot = None,
) -> Grep:
    """Every line that matches a regular expression, of any branch. Use it for exact text."""
    began = time.perf_counter()
    query, offset = _query(pattern, filePattern, caseSensitive=caseSensitive), offset_of(cursor)
    project = project_of(call, workspace)
    commit = commit_for(call, project, ref)
    engine = _engine(call, project, commit)
    found = search(engine, project.guard, query, offset, limit, Time(TIMEOUT_S, call.cancel), context)
    after = offset + len(found.matches) + found.unreadable
    call.sequence = f"{commit} {found.total}"
    return Grep(
        matches=[_row(each) for each in found.matches], pattern=pattern, totalMatches=found.total,
        filesSearched=found.tally.searched, searchTime=round((time.perf_counter() - began) * 1000, 1),
        engine=engine.name, message=_message(pattern, filePattern, found), binaryFiles=found.tally.binary or None,
        unreadableFiles=found.tally.unreadable, incomplete=bool(not found.tally.is_whole or found.tally.lacking),
        commit=commit or None,
        next_cursor=str(after) if after < found.total else None,
    )  # fmt: skip


def _row(each: Match) -> GrepMatch:
    return GrepMatch(
        file=each.file, line=each.line, column=each.column, text=each.text,
        context=Context(before=each.before, after=each.after), lineLength=each.length or None,
    )  # fmt: skip


def _message(pattern: str, wanted: str | None, found: GrepResult) -> str | None:
    count = f"{found.tally.searched:,}"
    stopped = f"Stopped after {TIMEOUT_S:g} s with at least {count} files searched. Narrow it by filePattern."
    lacking = f"Not searched, as the repository lacks their content: {name_first_few(found.tally.lacking)}"
    none = [] if found.total else [f"No matches found for pattern '{pattern}'{_no_file(wanted, found)}"]
    said = [*none, *([] if found.tally.is_whole else [stopped]), *([lacking] if found.tally.lacking else [])]
    return ". ".join(said) or None


def _no_file(wanted: str | None, found: GrepResult) -> str:
    is_empty = wanted is not None and not found.tally.searched and found.tally.is_whole
    return f": no file matches filePattern {printable(wanted or '')}" if is_empty else ""


def _query(pattern: str, wanted: str | None, *, caseSensitive: bool) -> Query:
    if "\0" in pattern:
        raise InvalidInput("pattern: it holds NUL", param="pattern", reason="it holds NUL")
    if wanted is None:
        return Query(pattern, caseSensitive)
    is_wanted = path_matcher(wanted, "filePattern")
    plain = wanted.removeprefix("./")
    whole = _NAME_GLOB.fullmatch(plain)
    name = whole or _LAST_NAME.fullmatch(plain)
    folders = _PLAIN_FOLDERS.match(plain)
    return Query(
        pattern, caseSensitive, is_wanted, name["name"] if name else "",
        is_name_all=whole is not None and "**" not in whole["name"], folder=folders[0].rstrip("/") if folders else "",
    )  # fmt: skip


def _engine(call: Call, project: Project, commit: str) -> GrepEngine:
    if commit:
        return GitGrep(project.git, project.guard, commit)
    is_here = is_repository(project.git, call.cancel) and not project.git.layout(call.cancel).bare
    program = process.find("rg", outside=project.root)
    if program is not None:
        return Ripgrep(program, project.root, project.guard, is_here)
    return GitGrep(project.git, project.guard) if is_here else Scan(project.git, project.guard)
