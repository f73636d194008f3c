"""Who last changed each line of a file, and in which commit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property

import msgspec

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, InvalidInput, NotFound
from codecairn.paths import Guard
from codecairn.source.failures import damage, failure
from codecairn.source.git import Git, Layout, WorkingTree
from codecairn.source.process import Finished
from codecairn.text import decoded, fence_language
from codecairn.types import Blame, BlameCommit, BlameLine

_HAS_ONLY = re.compile(r"has only (\d+) lines?")
_ZONE = re.compile(r"([+-])(\d\d)([0-5]\d)")


_TRIES = 3
_LAST_LINE = 2**31 - 1
"""No file has more lines than git can count."""


@dataclass(frozen=True)
class BlameQuery:
    path: str
    start: int | None = None
    end: int | None = None
    ref: str | None = None

    @property
    def range(self) -> str:
        return f"{1 if self.start is None else self.start}-{'' if self.end is None else self.end}"


def blame(git: Git, guard: Guard, query: BlameQuery, cancel: Cancel) -> Blame:
    path = guard.inside(query.path, param="filePath")
    _refuse_bad_range(query)
    layout = git.layout(cancel)
    if query.ref is None and git.is_folder(path):
        raise _not_a_file(path)
    revision = _revision(git, layout, query, cancel)
    arguments = [
        "blame",
        "--porcelain",
        "--no-textconv",
        "--no-ignore-revs-file",
        "--encoding=UTF-8",
        *_lines(query),
        *([revision] if revision else []),
    ]
    for _ in range(_TRIES):
        finished, modified = _run(git, layout, arguments, path, cancel, is_live=revision is None)
        fault = _explained(git, finished, path, query, revision or "HEAD", cancel) if finished.status != 0 else None
        if revision is not None or type(fault) is not CairnError:
            break  # a tree that somebody is changing can look damaged, once
    if fault is not None:
        raise fault
    value = _value(finished.output, path, layout, modified=modified)
    if query.end is not None and value.end_line < query.end:
        value = msgspec.structs.replace(value, notes=[*value.notes, f"The file ends at line {value.end_line}."])
    return value


def _run(
    git: Git, layout: Layout, arguments: list[str], path: str, cancel: Cancel, *, is_live: bool
) -> tuple[Finished, bool]:
    """What git says, and whether the file has changes that are not committed."""
    with git.working_tree(layout, cancel) if is_live else nullcontext() as tree:
        with ThreadPoolExecutor(max_workers=1) as beside:
            dirty = beside.submit(_is_modified, git, path, tree, cancel) if tree else None
            finished = git.run(*arguments, "--", path, cancel=cancel, tree=tree)
        return finished, dirty is not None and dirty.result()


def _refuse_bad_range(query: BlameQuery) -> None:
    start, end = query.start, query.end
    if (start is not None and start < 1) or (end is not None and end < (start or 1)):
        raise _bad_range(query)


def _bad_range(query: BlameQuery, lines: int | None = None) -> InvalidInput:
    end = "the end of the file" if lines is None else f"line {lines}, the last of the file"
    return InvalidInput(
        f"Invalid line range: {query.range}", param="startLine" if query.start is not None else "endLine",
        remedy=f"Lines count from 1; startLine may not lie behind endLine, nor either behind {end}.",
    )  # fmt: skip


def _revision(git: Git, layout: Layout, query: BlameQuery, cancel: Cancel) -> str | None:
    if query.ref is None and not layout.bare:
        return None
    return git.resolve(query.ref or "HEAD", cancel, param="ref", complaint="Invalid commit reference")


def _lines(query: BlameQuery) -> list[str]:
    if query.start is None and query.end is None:
        return []
    last = min(query.end, _LAST_LINE) if query.end else ""
    return ["-L", f"{query.start or 1},{last}"]


def _is_modified(git: Git, path: str, tree: WorkingTree, cancel: Cancel) -> bool:
    asked = ["diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD", "--", path]
    return git.run(*asked, cancel=cancel, tree=tree).status == 1


def _explained(git: Git, finished: Finished, path: str, query: BlameQuery, revision: str, cancel: Cancel) -> CairnError:
    said = finished.complaint
    if counted := _HAS_ONLY.search(said):
        return _bad_range(query, int(counted[1]))
    if "No such file or directory" in said:
        return NotFound(f"File not found: {path} (deleted from the working tree; give a ref to see it)", path=path)
    if "no such path" not in said and "no such ref: HEAD" not in said:
        return failure(finished)
    kind = _kind_in_commit(git, path, revision, cancel)
    if kind == "blob":
        return damage(finished, path)
    if kind:
        return _not_a_file(path)
    return NotFound(
        f"File not tracked by git: {path}", path=path, remedy="Commit it first; git_blame speaks of committed lines."
    )


def _not_a_file(path: str) -> InvalidInput:
    return InvalidInput(f"Not a file: {path}", param="filePath", remedy="Name one file; git_log takes folders.")


def _kind_in_commit(git: Git, path: str, revision: str, cancel: Cancel) -> str:
    """blob, tree or commit (a submodule); empty where the commit has no such path, or there is no commit."""
    listed = git.run("ls-tree", "-z", "--end-of-options", revision, "--", path, cancel=cancel)
    words = decoded(listed.output).partition("\t")[0].split(" ")
    return words[1] if listed.status == 0 and len(words) > 1 else ""


def _value(output: bytes, path: str, layout: Layout, *, modified: bool) -> Blame:
    commits: dict[str, _Facts] = {}
    lines = list(_parsed(output, commits))
    if any("\0" in line.content for line in lines[:50]):
        raise InvalidInput(
            f"Binary file: {path}", param="filePath", remedy="git_log shows the history of a binary file."
        )
    return Blame(
        file_path=path,
        language=fence_language(path),
        start_line=lines[0].line if lines else 0,
        end_line=lines[-1].line if lines else 0,
        local_modifications=modified or any(map(_is_uncommitted, commits)),
        lines=lines,
        commits=[facts.commit(hash_, layout.short) for hash_, facts in commits.items() if not _is_uncommitted(hash_)],
        notes=["History is shallow: lines older than the clone show its boundary commit."] if layout.shallow else [],
    )


def _is_uncommitted(hash_: str) -> bool:
    return not hash_.strip("0")


@dataclass
class _Facts:
    """The header lines of one commit in the porcelain output, which come once however many lines it wrote."""

    fields: dict[str, str] = field(default_factory=dict)

    @cached_property
    def date(self) -> str:
        """When it was written, by its author's clock; a commit can claim any time and zone, or none that exists."""
        zone = _ZONE.fullmatch(self.fields.get("author-tz", ""))
        minutes = int(zone[1] + "1") * (int(zone[2]) * 60 + int(zone[3])) if zone else 0
        try:
            moment = datetime.fromtimestamp(int(self.fields.get("author-time", "0")), UTC)
            return moment.astimezone(timezone(timedelta(minutes=minutes))).isoformat()
        except (ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(0, UTC).isoformat()

    def commit(self, hash_: str, short: int) -> BlameCommit:
        return BlameCommit(
            hash=hash_, short_hash=hash_[:short], author=self.fields.get("author", ""), date=self.date,
            email=self.fields.get("author-mail", "").removeprefix("<").removesuffix(">"),
            message=self.fields.get("summary", ""),
        )  # fmt: skip


def _parsed(output: bytes, commits: dict[str, _Facts]) -> Iterator[BlameLine]:
    hash_, number, facts = "", 0, _Facts()
    for raw in output.split(b"\n"):
        if raw.startswith(b"\t"):
            content = decoded(raw[1:]).removesuffix("\r")
            yield BlameLine(
                line=number, hash=hash_, author=facts.fields.get("author", ""), date=facts.date, content=content
            )
            hash_ = ""
        elif not hash_ and raw:
            parts = decoded(raw).split()
            hash_, number = parts[0], int(parts[2])
            facts = commits.setdefault(hash_, _Facts())
        elif raw:
            key, _, value = decoded(raw).partition(" ")
            facts.fields[key] = value
