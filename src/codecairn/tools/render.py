"""Values of the history family as Markdown, cut to a token budget with a count and the way to the rest.

What came out of a repository stays inside its line or its fence: a file may be called `a\\n## File: b`, and a commit's
message may hold a heading.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from codecairn.history.log import cursor_at
from codecairn.text import CHARACTERS_PER_TOKEN, binary_kind, fenced, one_line
from codecairn.tools.cursor import SEAL, offset_of
from codecairn.types import Blame, BlameCommit, BlameLine, Commit, CommitList, Diff, FileChange, FileDiff

DEFAULT_TOKENS = 5_500
"""What an answer may cost a caller who asked for nothing special: under 6,000, with room for the closing lines."""

MOST_TOKENS = 20_000
"""For a caller who named a count, a range or a file; below the 25,000 at which clients cut."""

_MOST_FILES = 60
_WIDEST_AUTHOR = 40
_LONGEST_SUBJECT = 500
_RULE = "\n\n---\n\n"


def commit_list(value: CommitList, params: Mapping[str, Any]) -> str:
    head = ["# Git Log", *(f"_{note}_" for note in value.notes)]
    if not value.commits:
        nothing = [] if value.notes and value.tip is None else ["No commits found."]
        return "\n\n".join([*head, *nothing])
    shown = _within(map(_commit, value.commits), _budget(params.get("maxCount") != 10), len(_RULE))
    text = "\n\n".join([*head, _RULE.join(shown)])
    cut = len(value.commits) - len(shown)
    if cut:
        onward = _onward(params, cursor_at(value.tip or "", value.offset + len(shown)))
        return f"{text}{_RULE}_{cut} of {value.count} commits not shown here.{onward}_"
    if value.next_cursor:
        return f"{text}{_RULE}_More commits follow. Continue with cursor: `{value.next_cursor}`_"
    return text


def _commit(commit: Commit) -> str:
    lines = [
        f"## Commit: {commit.short_hash} ({commit.date[:10]})",
        f"**Author**: {_who(commit)}  ",
        f"**Message**: {one_line(commit.message, _LONGEST_SUBJECT)}",
    ]
    if commit.body:
        lines += ["", *(f"> {one_line(line)}".rstrip() for line in commit.body.splitlines())]
    lines += ["", f"**Files Changed** ({len(commit.files)}):"]
    lines += [f"- {_change(change)}" for change in commit.files[:_MOST_FILES]]
    if len(commit.files) > _MOST_FILES:
        lines.append(f"- … and {len(commit.files) - _MOST_FILES} more")
    if commit.omitted_files:
        lines.append(f"- {_withheld(commit.omitted_files)}")
    return "\n".join(lines)


def _who(commit: Commit | BlameCommit) -> str:
    return one_line(f"{commit.author} <{commit.email}>", _LONGEST_SUBJECT)


def _change(change: FileChange) -> str:
    return f"{one_line(change.path)} ({change.status}{_origin(change.old_path)})"


def _origin(old_path: str | None) -> str:
    return f" from {one_line(old_path)}" if old_path else ""


def blame(value: Blame, params: Mapping[str, Any]) -> str:
    head = [f"# Git Blame: {one_line(value.file_path)}"]
    if value.local_modifications:
        head.append("⚠ File has local modifications")
    head += [f"_{note}_" for note in value.notes]
    if not value.lines:
        return "\n\n".join([*head, "The file is empty."])
    asked = params.get("startLine") is not None or params.get("endLine") is not None
    rows, sections = _annotated(value, _budget(asked) - sum(map(len, head)))
    last = value.lines[len(rows) - 1].line
    parts = [*head, f"## Lines {value.start_line}-{last}", fenced(_joined(rows), value.language)]
    if left := value.end_line - last:
        parts.append(f"_{left:,} of {len(value.lines):,} lines not shown here. Continue with startLine: {last + 1}_")
    return "\n\n".join([*parts, *sections])


def _annotated(value: Blame, budget: float) -> tuple[list[str], list[str]]:
    """The leading lines that fit together with the sections of the commits that wrote them."""
    wrote = {commit.hash: commit for commit in value.commits}
    row = _row_of(value)
    rows: list[str] = []
    sections: dict[str, str] = {}
    for line in value.lines:
        written, commit = row(line), wrote.get(line.hash)
        section = _blamed(commit) if commit and line.hash not in sections else ""
        budget -= len(written) + len(section) + 3
        if budget < 0 and rows:
            break
        rows.append(written if budget >= 0 else _clipped(written, int(len(written) + budget)))
        if section:
            sections[line.hash] = section
    return rows, list(sections.values())


def _row_of(value: Blame) -> Callable[[BlameLine], str]:
    short = {commit.hash: commit.short_hash for commit in value.commits}
    blank = "0" * max((len(each) for each in short.values()), default=7)
    digits = len(str(value.end_line))
    names = {line.author: one_line(line.author, _WIDEST_AUTHOR) for line in value.lines}
    width = max(map(len, names.values()))

    def row(line: BlameLine) -> str:
        who = f"({names[line.author]:<{width}}  {line.date[:10]})"
        return f"{line.line:>{digits}}  {short.get(line.hash, blank)} {who} {line.content}"

    return row


def _blamed(commit: BlameCommit) -> str:
    return (
        f"### Commit {commit.short_hash}\n"
        f"**Author**: {_who(commit)}  \n"
        f"**Date**: {commit.date[:10]}  \n"
        f"**Message**: {one_line(commit.message, _LONGEST_SUBJECT)}"
    )


def diff(value: Diff, params: Mapping[str, Any]) -> str:
    """A place in it is a file's number and, where the text was cut within the file, the line."""
    file, _, line = (params.get("cursor") or "0").partition(".")
    start, from_line = offset_of(file), offset_of(line or None)
    if value.mode == "summary":
        return _summary(value, start, params)
    return _full(value, start, from_line, params)


def _onward(params: Mapping[str, Any], place: str) -> str:
    """How to go on; what is drawn for no call, as in a prompt, has no next page."""
    return f" Continue with cursor: `{params[SEAL](place)}`" if SEAL in params else ""


def _full(value: Diff, start: int, from_line: int, params: Mapping[str, Any]) -> str:
    """From the given line of the given file on: that file as far as it fits, then those that fit whole."""
    head = [f"# Git Diff: {value.title}", "## Summary\n" + _totals(value), *_remarks(value)]
    following = value.files[start:]
    if not following:
        return "\n\n".join([*head, "No differences." if not value.files else "No more files."])
    first, *others = following
    lines = _lines(first)[from_line:]
    budget = _budget(params.get("filePath") is not None) - sum(map(len, head)) - len(_heading(first))
    fitting = _within(lines, budget, 1)
    shown, left = [_section(first, fitting)], len(lines) - len(fitting)
    if left:
        onward = _onward(params, f"{start}.{from_line + len(fitting)}")
        rest = [f"_{left:,} lines of this file and {len(others):,} files not shown here.{onward}_"]
    else:
        shown += _fitting((_section(file, _lines(file)) for file in others), budget - len(shown[0]), len(_RULE))
        rest = _continued(value, start + len(shown), params)
    return _RULE.join(["\n\n".join(head), *shown, *rest])


def _continued(value: Diff, start: int, params: Mapping[str, Any]) -> list[str]:
    left, whole = len(value.files) - start, len(value.files)
    return [f"_{left:,} of {whole:,} files not shown here.{_onward(params, str(start))}_"] if left else []


def _heading(file: FileDiff) -> str:
    heading = (
        f"## File: {one_line(file.path)} ({file.status}{_origin(file.old_path)})\n"
        f"**Changes**: +{file.insertions} -{file.deletions}"
    )
    return f"{heading}  \n**Mode**: {file.old_mode} → {file.new_mode}" if file.old_mode and file.new_mode else heading


def _lines(file: FileDiff) -> list[str]:
    """The hunks; of an added file its content, as every line of its one hunk starts with a plus."""
    lines = (file.diff or "").removesuffix("\n").split("\n") if file.diff else []
    return [line[1:] for line in lines if line.startswith("+")] if file.status == "added" else lines


def _section(file: FileDiff, lines: list[str]) -> str:
    if file.binary:
        return f"{_heading(file)}\n\nBinary file changed"
    if not lines:
        return _heading(file)
    block = fenced(_joined(lines), file.language if file.status == "added" else "diff")
    return f"{_heading(file)}\n\n{block}"


def _summary(value: Diff, start: int, params: Mapping[str, Any]) -> str:
    head = [f"# Git Diff Summary: {value.title}", _totals(value), *_remarks(value)]
    rows = [f"- {_counted(file)}" for file in value.files[start:]]
    shown = _within(rows, _budget(asked=False) - sum(map(len, head)), 1)
    groups: dict[str, list[str]] = {name: [] for name in _GROUPS.values()}
    for file, row in zip(value.files[start:], shown, strict=False):
        groups[_GROUPS[file.status]].append(row)
    sizes = Counter(_GROUPS[file.status] for file in value.files)
    listed = [f"### {name} Files ({sizes[name]:,}):\n" + "\n".join(group) for name, group in groups.items() if group]
    rest = _continued(value, start + len(shown), params) if rows else []
    return "\n\n".join([*head, *listed, *rest, *_binaries(value)])


_GROUPS = {
    "modified": "Modified", "type changed": "Modified", "added": "Added", "copied": "Added", "deleted": "Deleted",
    "renamed": "Renamed", "unmerged": "Unmerged",
}  # fmt: skip


def _binaries(value: Diff) -> list[str]:
    binary = [file for file in value.files if file.binary]
    if not binary:
        return []
    kinds = ", ".join(kind for kind, _ in Counter(binary_kind(file.path) for file in binary).most_common())
    return [f"**Binary Files**: {len(binary):,} binary files changed ({kinds})"]


def _counted(file: FileDiff) -> str:
    name = one_line(file.path)
    if file.status == "renamed" and file.old_path:
        name = f"{one_line(file.old_path)} → {name}"
    if file.binary:
        return f"{name} (binary)"
    if file.status == "added":
        return f"{name} (+{file.insertions:,})"
    if file.status == "deleted":
        return f"{name} (-{file.deletions:,})"
    return f"{name} (+{file.insertions:,} -{file.deletions:,})"


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _totals(value: Diff) -> str:
    return (
        f"- **Files Changed**: {value.summary.files_changed:,}\n"
        f"- **Insertions**: +{value.summary.insertions:,} lines\n"
        f"- **Deletions**: -{value.summary.deletions:,} lines"
    )


def _remarks(value: Diff) -> list[str]:
    withheld = [_withheld(value.omitted_files)] if value.omitted_files else []
    return [f"_{remark}_" for remark in (*value.notes, *withheld)]


def _withheld(count: int) -> str:
    return f"{count} secret or internal {'file' if count == 1 else 'files'} not shown"


def _budget(asked: object) -> float:
    return (MOST_TOKENS if asked else DEFAULT_TOKENS) * CHARACTERS_PER_TOKEN


def _within(parts: Iterable[str], budget: float, between: int) -> list[str]:
    """The leading parts that fit; the first always, clipped if it alone is too long."""
    whole = iter(parts)
    first = next(whole, None)
    if first is None:
        return []
    if len(first) > budget:
        return [_clipped(first, int(budget))]
    return [first, *_fitting(whole, budget - len(first), between)]


def _fitting(parts: Iterable[str], budget: float, between: int) -> Iterator[str]:
    """The leading parts that fit, `between` characters apart."""
    for part in parts:
        budget -= len(part) + between
        if budget < 0:
            return
        yield part


def _clipped(part: str, length: int) -> str:
    start = part[: max(length, 200)]
    return f"{start}… ({len(part) - len(start):,} characters more)"
