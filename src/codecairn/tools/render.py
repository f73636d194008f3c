"""Values of the history family as Markdown, cut to a token budget with a count and the way to the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from codecairn.history.log import cursor_at
from codecairn.text import CHARACTERS_PER_TOKEN, binary_kind, fenced
from codecairn.types import Blame, BlameLine, Commit, CommitList, Diff, FileChange, FileDiff

DEFAULT_TOKENS = 5_500
"""What an answer may cost a caller who asked for nothing special: under 6,000, with room for the closing lines."""

MOST_TOKENS = 20_000
"""For a caller who named a count, a range or a file; below the 25,000 at which clients cut."""

_MOST_FILES = 60
_RULE = "\n\n---\n\n"


def commit_list(value: CommitList, params: Mapping[str, Any]) -> str:
    head = ["# Git Log", *(f"_{note}_" for note in value.notes)]
    if not value.commits:
        nothing = [] if value.notes and value.tip is None else ["No commits found."]
        return "\n\n".join([*head, *nothing])
    shown = _within([_commit(each) for each in value.commits], _budget(params.get("maxCount") != 10))
    text = "\n\n".join([*head, _RULE.join(shown)])
    cut = len(value.commits) - len(shown)
    if cut:
        cursor = cursor_at(value.tip or "", value.offset + len(shown))
        return f"{text}{_RULE}_{cut} of {value.count} commits not shown here. Continue with cursor: `{cursor}`_"
    if value.next_cursor:
        return f"{text}{_RULE}_More commits follow. Continue with cursor: `{value.next_cursor}`_"
    return text


def _commit(commit: Commit) -> str:
    lines = [
        f"## Commit: {commit.short_hash} ({commit.date[:10]})",
        f"**Author**: {commit.author} <{commit.email}>  ",
        f"**Message**: {commit.message}",
    ]
    if commit.body:
        lines += ["", commit.body]
    lines += ["", f"**Files Changed** ({len(commit.files)}):"]
    lines += [f"- {_change(change)}" for change in commit.files[:_MOST_FILES]]
    if len(commit.files) > _MOST_FILES:
        lines.append(f"- … and {len(commit.files) - _MOST_FILES} more")
    if commit.omitted_files:
        lines.append(f"- {_withheld(commit.omitted_files)}")
    return "\n".join(lines)


def _change(change: FileChange) -> str:
    return f"{change.path} ({change.status}{f' from {change.old_path}' if change.old_path else ''})"


def blame(value: Blame, params: Mapping[str, Any]) -> str:
    head = [f"# Git Blame: {value.file_path}"]
    if value.local_modifications:
        head.append("⚠ File has local modifications")
    head += [f"_{note}_" for note in value.notes]
    if not value.lines:
        return "\n\n".join([*head, "The file is empty."])
    asked = params.get("startLine") is not None or params.get("endLine") is not None
    rows = _within(_annotated(value), _budget(asked) - sum(len(each.message) + 120 for each in value.commits[:80]))
    last = value.lines[len(rows) - 1].line
    parts = [*head, f"## Lines {value.start_line}-{last}", fenced("\n".join(rows), value.language)]
    if last != value.end_line:
        parts.append(f"_Lines {last + 1}-{value.end_line} not shown here. Continue with startLine: {last + 1}_")
    wrote = {line.hash for line in value.lines[: len(rows)]}
    parts += [
        f"### Commit {commit.short_hash}\n"
        f"**Author**: {commit.author} <{commit.email}>  \n"
        f"**Date**: {commit.date[:10]}  \n"
        f"**Message**: {commit.message}"
        for commit in value.commits
        if commit.hash in wrote
    ]
    return "\n\n".join(parts)


def _annotated(value: Blame) -> list[str]:
    short = {commit.hash: commit.short_hash for commit in value.commits}
    digits = len(str(value.end_line))
    width = max(len(line.author) for line in value.lines)
    blank = "0" * max((len(each) for each in short.values()), default=7)

    def row(line: BlameLine) -> str:
        who = f"({line.author:<{width}}  {line.date[:10]})"
        return f"{line.line:>{digits}}  {short.get(line.hash, blank)} {who} {line.content}".rstrip()

    return [row(line) for line in value.lines]


def diff(value: Diff, params: Mapping[str, Any]) -> str:
    return _summary(value) if value.mode == "summary" else _full(value, _budget(params.get("filePath") is not None))


def _full(value: Diff, budget: float) -> str:
    head = [
        f"# Git Diff: {value.title}",
        "## Summary\n" + _totals(value),
        *(f"_{note}_" for note in value.notes),
        *([f"_{_withheld(value.omitted_files)}_"] if value.omitted_files else []),
    ]
    if not value.files:
        return "\n\n".join([*head, "No differences."])
    shown = _within([_file(file) for file in value.files], budget)
    text = _RULE.join(["\n\n".join(head), *shown])
    if len(shown) < len(value.files):
        rest = ", ".join(file.path for file in value.files[len(shown) :][:20])
        left = len(value.files) - len(shown)
        text += (
            f"{_RULE}_{left} of {len(value.files)} files not shown here. Continue with filePath, for example: {rest}_"
        )
    return text


def _file(file: FileDiff) -> str:
    origin = f" from {file.old_path}" if file.old_path else ""
    head = f"## File: {file.path} ({file.status}{origin})\n**Changes**: +{file.insertions} -{file.deletions}"
    if file.old_mode and file.new_mode:
        head += f"  \n**Mode**: {file.old_mode} → {file.new_mode}"
    if file.binary:
        return f"{head}\n\nBinary file changed"
    if not file.diff:
        return head
    if file.status == "added":
        return f"{head}\n\n{fenced(_added_content(file.diff), file.language)}"
    return f"{head}\n\n{fenced(file.diff, 'diff')}"


def _added_content(hunks: str) -> str:
    return "\n".join(line[1:] for line in hunks.split("\n") if line.startswith("+"))


def _summary(value: Diff) -> str:
    groups = {
        "Modified": [f for f in value.files if f.status in ("modified", "type changed", "unmerged")],
        "Added": [f for f in value.files if f.status in ("added", "copied")],
        "Deleted": [f for f in value.files if f.status == "deleted"],
        "Renamed": [f for f in value.files if f.status == "renamed"],
    }
    parts = [f"# Git Diff Summary: {value.title}", _totals(value)]
    for name, files in groups.items():
        if files:
            rows = [f"- {_counted(file)}" for file in files]
            shown = _within(rows, DEFAULT_TOKENS * CHARACTERS_PER_TOKEN / len(groups))
            more = [f"- … and {len(rows) - len(shown):,} more"] if len(shown) < len(rows) else []
            parts.append("\n".join([f"### {name} Files ({len(files):,}):", *shown, *more]))
    binary = [file for file in value.files if file.binary]
    if binary:
        kinds = ", ".join(kind for kind, _ in Counter(binary_kind(file.path) for file in binary).most_common())
        noun = "file" if len(binary) == 1 else "files"
        parts.append(f"**Binary Files**: {len(binary):,} binary {noun} changed ({kinds})")
    if value.omitted_files:
        parts.append(f"_{_withheld(value.omitted_files)}_")
    return "\n\n".join([*parts, *(f"_{note}_" for note in value.notes)])


def _counted(file: FileDiff) -> str:
    name = f"{file.old_path} → {file.path}" if file.status == "renamed" else file.path
    if file.binary:
        return f"{name} (binary)"
    if file.status == "added":
        return f"{name} (+{file.insertions:,})"
    if file.status == "deleted":
        return f"{name} (-{file.deletions:,})"
    return f"{name} (+{file.insertions:,} -{file.deletions:,})"


def _totals(value: Diff) -> str:
    return (
        f"- **Files Changed**: {value.summary.files_changed:,}\n"
        f"- **Insertions**: +{value.summary.insertions:,} lines\n"
        f"- **Deletions**: -{value.summary.deletions:,} lines"
    )


def _withheld(count: int) -> str:
    return f"{count} secret or internal {'file' if count == 1 else 'files'} not shown"


def _budget(asked: object) -> float:
    return (MOST_TOKENS if asked else DEFAULT_TOKENS) * CHARACTERS_PER_TOKEN


def _within(parts: Iterable[str], budget: float) -> list[str]:
    """The leading parts that fit; the first always, cut if it alone is too long."""
    kept: list[str] = []
    for part in parts:
        budget -= len(part) + 1
        if budget < 0 and kept:
            break
        kept.append(part if budget >= 0 else _cut(part, int(len(part) + budget)))
    return kept


def _cut(part: str, length: int) -> str:
    whole = (
        part[: max(length, 200)].rsplit("\n", 1)[0] if "\n" in part[: max(length, 200)] else part[: max(length, 200)]
    )
    fence = "\n```" if whole.count("```") % 2 else ""
    return f"{whole}{fence}\n… ({len(part) - len(whole):,} characters more)"
