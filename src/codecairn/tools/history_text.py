"""Values of the history family as text. A log and a diff come as pages already; of a blame as many lines are shown as
fit. The text says how much is left, and the way to it.

What came out of a repository stays inside its line or its fence: a file may be called `a\\n## File: b`, and a commit's
message may hold a heading.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from codecairn.budget import characters
from codecairn.text import code_fence, one_line
from codecairn.types import Blame, BlameCommit, BlameLine, Commit, CommitFileChange, CommitList, Diff, FileDiff

_WIDEST_AUTHOR = 40
_LONGEST_SUBJECT = 500
_LONGEST_BODY = 160
_CLOSING = 250
"""Characters for the headings and the closing line of a blame."""
_RULE = "\n\n---\n\n"


def commit_list(value: CommitList, params: Mapping[str, Any]) -> str:
    head = ["# Git Log", *(f"_{note}_" for note in value.notes)]
    if not value.commits:
        nothing = [] if value.notes and value.tip is None else ["No commits found."]
        return "\n\n".join([*head, *nothing])
    text = "\n\n".join([*head, _RULE.join(map(_commit, value.commits))])
    if not value.next_cursor:
        return text
    asked = params.get("maxCount") or value.count
    short = f"{value.count} of {asked} commits fit here" if value.count < asked else "More commits follow"
    return f"{text}{_RULE}_{short}. Continue with cursor: `{value.next_cursor}`_"


def _commit(commit: Commit) -> str:
    lines = [
        f"## Commit: {commit.short_hash} ({commit.date[:10]})",
        f"**Author**: {_who(commit)}  ",
        f"**Message**: {one_line(commit.message, _LONGEST_SUBJECT)}",
    ]
    if commit.body:
        lines += ["", *(f"> {one_line(line)}".rstrip() for line in commit.body.splitlines())]
    lines += ["", f"**Files Changed** ({commit.files_changed:,}):", *(f"- {_change(each)}" for each in commit.files)]
    if left := commit.files_changed - len(commit.files):
        lines.append(f"- … and {left:,} more")
    if commit.omitted_files:
        lines.append(f"- {_withheld(commit.omitted_files)}")
    return "\n".join(lines)


def _who(commit: Commit | BlameCommit) -> str:
    return one_line(f"{commit.author} <{commit.email}>", _LONGEST_SUBJECT)


def _change(change: CommitFileChange) -> str:
    return f"{one_line(change.path)} ({change.status}{_origin(change.old_path)})"


def _origin(old_path: str | None) -> str:
    return f" from {one_line(old_path)}" if old_path else ""


def blame(value: Blame, params: Mapping[str, Any]) -> str:
    """As 000 draws it: each line with its commit, then the commits."""
    head = [f"# Git Blame: {one_line(value.file_path)}", *_blame_remarks(value)]
    if not value.lines:
        return "\n\n".join([*head, "The file is empty."])
    rows, sections = _annotate(value, _blame_room(params) - sum(map(len, head)))
    last = value.lines[len(rows) - 1].line
    parts = [*head, f"## Lines {value.start_line}-{last}", code_fence(_join(rows), value.language)]
    return "\n\n".join([*parts, *_blame_rest(value, last, params), *sections])


def _annotate(value: Blame, room: int) -> tuple[list[str], list[str]]:
    """The leading lines that fit together with the sections of the commits that wrote them."""
    wrote = {commit.hash: commit for commit in value.commits}
    row = _row_of(value)
    rows: list[str] = []
    sections: dict[str, str] = {}
    for line in value.lines:
        written, commit = row(line), wrote.get(line.hash)
        section = _blame_section(commit) if commit and line.hash not in sections else ""
        room -= len(written) + len(section) + 3
        if room < 0 and rows:
            break
        rows.append(written)
        if section:
            sections[line.hash] = section
    return rows, list(sections.values())


def blame_runs(value: Blame, params: Mapping[str, Any]) -> str:
    """For reading: lines that one commit wrote together below it; a commit's message where it comes first."""
    path, remarks = one_line(value.file_path), _blame_remarks(value)
    if not value.lines:
        return "\n".join([f"Blame of {path}", *remarks, "The file is empty."])
    rows = _run_rows(value, _LONGEST_BODY if params.get("endLine") is None else None)
    shown, last = _leading(rows, _blame_room(params) - len(path) - sum(map(len, remarks)))
    last = last or value.end_line
    head = f"Blame of {path}, lines {value.start_line}-{last} of {value.total_lines:,}"
    return "\n\n".join(["\n".join([head, *remarks]), "\n".join(shown), *_blame_rest(value, last, params)])


def _run_rows(value: Blame, longest_body: int | None) -> Iterator[tuple[int, str]]:
    """Each line with its number; that of a run's first line begins with what is said of the run."""
    commits = {commit.hash: commit for commit in value.commits}
    told: set[str] = set()
    digits = len(str(value.end_line))
    for _, run in groupby(_without_blank_runs(value.lines), _run_key):
        for place, line in enumerate(run):
            said = _run_heading(line, commits.get(line.hash), line.hash in told, longest_body) if place == 0 else []
            told.add(line.hash)
            yield line.line, "\n".join([*said, f"{line.line:>{digits}}  {line.content}"])


def _without_blank_runs(lines: list[BlameLine]) -> Iterator[BlameLine]:
    """Nobody asks why a line is empty: one that would need a heading of its own is left out."""
    above = None
    for line in lines:
        if above is None or line.content.strip() or _run_key(line) == above:
            above = _run_key(line)
            yield line


def _leading(rows: Iterable[tuple[int, str]], room: int) -> tuple[list[str], int | None]:
    """The rows that fit, one at least, and the number of the last; None where that is all."""
    fitting: list[str] = []
    last = None
    for number, row in rows:
        room -= len(row) + 1
        if room < 0 and fitting:
            return fitting, last
        fitting.append(row)
        last = number
    return fitting, None


def _run_key(line: BlameLine) -> tuple[str, str | None, int]:
    """Equal for lines that stand together now and stood together in the file they came from."""
    return line.hash, line.origin_path, line.line - line.origin_line if line.origin_line else 0


def _run_heading(line: BlameLine, commit: BlameCommit | None, is_told: bool, longest_body: int | None) -> list[str]:
    if commit is None:
        return ["@ not committed yet"]
    moved = f" (moved here from {one_line(line.origin_path)}:{line.origin_line})" if line.origin_path else ""
    who = f"@ {commit.short_hash} {commit.date[:10]} {one_line(commit.author, _WIDEST_AUTHOR)}"
    if is_told:
        return [f"{who}{moved}"]
    body = commit.body if longest_body is None else _first_paragraph(commit.body, longest_body)
    said = f"{who}: {one_line(commit.message, _LONGEST_SUBJECT)}{moved}"
    return [said, *(f"  | {one_line(each)}".rstrip() for each in body.splitlines())]


def _first_paragraph(body: str, most: int) -> str:
    return one_line(" ".join(body.partition("\n\n")[0].split()), most)


def _blame_remarks(value: Blame) -> list[str]:
    changed = ["⚠ File has local modifications"] if value.local_modifications else []
    return [*changed, *(f"_{note}_" for note in value.notes)]


def _blame_rest(value: Blame, last: int, params: Mapping[str, Any]) -> list[str]:
    wanted = min(params.get("endLine") or value.total_lines, value.total_lines)
    if last >= wanted:
        return []
    whole = wanted - value.start_line + 1
    return [f"_{wanted - last:,} of {whole:,} lines not shown here. Continue with startLine: {last + 1}_"]


def _blame_room(params: Mapping[str, Any]) -> int:
    return characters(asked=params.get("endLine") is not None) - _CLOSING


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


def _blame_section(commit: BlameCommit) -> str:
    return (
        f"### Commit {commit.short_hash}\n"
        f"**Author**: {_who(commit)}  \n"
        f"**Date**: {commit.date[:10]}  \n"
        f"**Message**: {one_line(commit.message, _LONGEST_SUBJECT)}"
    )


def diff(value: Diff, params: Mapping[str, Any]) -> str:
    """As 000 draws it."""
    del params
    return _diff(value, [])


def diff_compared(value: Diff, params: Mapping[str, Any]) -> str:
    """For reading: as drawn, with both sides in words below the title."""
    del params
    return _diff(value, [f"Compares {value.compared}."])


def _diff(value: Diff, sides: list[str]) -> str:
    if value.mode == "summary":
        return _summary(value, sides)
    head = [f"# Git Diff: {value.title}", *sides, "## Summary\n" + _totals(value), *_remarks(value)]
    if not value.files:
        return "\n\n".join([*head, "No differences." if not value.summary.files_changed else "No more files."])
    sections = (_section(file, _lines(file)) for file in value.files)
    return _RULE.join(["\n\n".join(head), *sections, *_continuation(value)])


def _continuation(value: Diff) -> list[str]:
    if value.next_cursor is None:
        return []
    whole = value.summary.files_changed
    if value.lines_left:
        left = f"{value.lines_left:,} lines of this file and {value.files_left:,} files"
    else:
        left = f"{value.files_left:,} of {whole:,} files"
    return [f"_{left} not shown here. Continue with cursor: `{value.next_cursor}`_"]


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
    block = code_fence(_join(lines), file.language if file.status == "added" else "diff")
    return f"{_heading(file)}\n\n{block}"


def _summary(value: Diff, sides: list[str]) -> str:
    head = [f"# Git Diff Summary: {value.title}", *sides, _totals(value), *_remarks(value), *_folders(value)]
    groups: dict[str, list[str]] = {name: [] for name in _GROUPS.values()}
    sizes = dict.fromkeys(groups, 0)
    for file in value.files:
        groups[_GROUPS[file.status]].append(f"- {_count_row(file)}")
    for status, count in value.statuses.items():
        sizes[_GROUPS[status]] += count
    listed = [f"### {name} Files ({sizes[name]:,}):\n" + "\n".join(group) for name, group in groups.items() if group]
    return "\n\n".join([*head, *listed, *_continuation(value), *_binaries(value)])


def _folders(value: Diff) -> list[str]:
    """Where to look, if the files do not fit."""
    if not value.folders:
        return []
    rows = [
        f"- {one_line(each.path)}: {each.files:,} {'file' if each.files == 1 else 'files'} "
        f"(+{each.insertions:,} -{each.deletions:,})"
        for each in value.folders
    ]
    return ["### Most Changed Folders (any of them can be the filePath):\n" + "\n".join(rows)]


_GROUPS = {
    "modified": "Modified", "type changed": "Modified", "added": "Added", "copied": "Added", "deleted": "Deleted",
    "renamed": "Renamed", "unmerged": "Unmerged",
}  # fmt: skip


def _binaries(value: Diff) -> list[str]:
    count = value.summary.binary_files
    kinds = ", ".join(value.binary_kinds)
    return [f"**Binary Files**: {count:,} binary files changed ({kinds})"] if count else []


def _count_row(file: FileDiff) -> str:
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


def _join(lines: Iterable[str]) -> str:
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
