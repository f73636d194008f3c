"""The commit that last changed each line of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import cached_property, partial

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, InvalidInput, NotFound
from codecairn.parse.formats import fence
from codecairn.paths import Guard
from codecairn.source.git import Git, Layout, SafeTree
from codecairn.source.git_errors import REPAIR, damage, failure, lacks_objects
from codecairn.source.git_objects import read_blob
from codecairn.source.git_settings import SHORT_DIGITS
from codecairn.source.process import Finished
from codecairn.source.refs import resolve
from codecairn.source.safe_open import open_plain
from codecairn.text import decode
from codecairn.types import Blame, BlameCommit, BlameLine

_NOT_FOLLOWED = (
    "Partial clone, or a damaged one: what the file was before it was renamed is not told, for want of objects."
)
_HISTORY_ENDS = f"A commit of its history cannot be read: older lines show the one after it. {REPAIR}"
_HAS_ONLY = re.compile(r"has only (\d+) lines?")
_ZONE = re.compile(r"([+-])(\d\d)([0-5]\d)")


_IS_MODIFIED = ("diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD", "--")
_TRIES = 3
_LAST_LINE = 2**31 - 1
"""No file has more lines than git can count."""


# Lines count as moved or copied where so many letters and digits of a block agree. Git takes 40, which one import has:
# it finds "from django.utils.cache import patch_vary_headers" in an older text file, and calls that its origin.
_MOVED_LETTERS = 60
_MOVES = ("-C", f"-C{_MOVED_LETTERS}")
_LONGEST_SEARCH_S = 20.0
"""A page of Django takes 0.7 seconds."""

# A reader of "why" has no use for these lines of a commit's body.
_TRAILER = re.compile(r"^(?:git-svn-id|[A-Z][\w-]*-by|Change-Id|Cc|Conflicts): .*\n?", re.MULTILINE)
_RULE_AT_END = re.compile(r"^-{3,}\s*\Z", re.MULTILINE)
"""The line that GitHub draws above the trailers of a squashed commit."""


@dataclass(frozen=True)
class BlameQuery:
    path: str
    start: int | None = None
    end: int | None = None
    ref: str | None = None
    most: int | None = None
    """How many lines are blamed at most: looking for moves costs a second for some hundred."""


def blame(git: Git, guard: Guard, query: BlameQuery, cancel: Cancel) -> Blame:
    path = guard.inside(query.path, param="filePath")
    if (query.start is not None and query.start < 1) or (query.end is not None and query.end < (query.start or 1)):
        raise _bad_range(query)
    layout = git.layout(cancel)
    if query.ref is None and git.is_folder(path):
        raise _not_a_file(path)
    revision = _revision(git, layout, query, cancel)
    finished, notes, total, modified = _annotate(git, layout, query, path, revision, cancel)
    commits: dict[str, _Facts] = {}
    lines = list(_parse(finished.output, commits, partial(_origin, layout, guard, path)))
    if any("\0" in line.content for line in lines[:50]):
        remedy = "git_log shows the history of a binary file."
        raise InvalidInput(f"Binary file: {path}", param="filePath", remedy=remedy)
    committed = {hash_: facts for hash_, facts in commits.items() if hash_.strip("0")}
    bodies = _bodies(git, list(committed), cancel)
    last = lines[-1].line if lines else 0
    total = last if total is None else total
    if layout.shallow:
        notes.append("History is shallow: lines older than the clone show its boundary commit.")
    if query.end is not None and total < query.end:
        notes.append(f"The file ends at line {total}.")
    return Blame(
        file_path=path, language=fence(path), start_line=lines[0].line if lines else 0, end_line=last,
        total_lines=total, next_start_line=last + 1 if last < min(query.end or total, total) else None,
        local_modifications=modified or len(committed) < len(commits), lines=lines, notes=notes,
        commits=[facts.commit(hash_, bodies.get(hash_, "")) for hash_, facts in committed.items()],
    )  # fmt: skip


def _annotate(
    git: Git, layout: Layout, query: BlameQuery, path: str, revision: str | None, cancel: Cancel
) -> tuple[Finished, list[str], int | None, bool]:
    """The output of git, notes on how it was asked, the number of lines, and whether the file is modified."""
    for _ in range(_TRIES):
        total = _line_count(git, layout, path, revision, cancel)
        with git.working_tree(layout, cancel) if revision is None else nullcontext() as tree:
            with ThreadPoolExecutor(max_workers=1) as beside:
                dirty = beside.submit(git.run, *_IS_MODIFIED, path, cancel=cancel, tree=tree) if tree else None
                finished, notes = _run(git, path, _lines(query, total), revision, tree, cancel)
            modified = dirty is not None and dirty.result().status == 1
        fault = _explain(git, finished, path, query, revision or "HEAD", cancel) if finished.status != 0 else None
        if revision is not None or type(fault) is not CairnError:
            break  # a tree that somebody is changing can look damaged, once
    if fault is not None:
        raise fault
    return finished, notes, total, modified


def _run(
    git: Git, path: str, lines: list[str], revision: str | None, tree: SafeTree | None, cancel: Cancel
) -> tuple[Finished, list[str]]:
    """Through moves where that can be had: it reads files that a partial clone may lack, and may take long."""
    options = ["--porcelain", "--no-textconv", "--no-ignore-revs-file", "--encoding=UTF-8", "-w", *lines]
    asked = [*options, *([revision] if revision else []), "--", path]
    seconds = min(_LONGEST_SEARCH_S, git.timeout)
    finished = git.run("blame", *_MOVES, *asked, cancel=cancel, tree=tree, seconds=seconds)
    if not finished.timed_out and not lacks_objects(finished):
        return finished, []
    reason = "that takes too long here" if finished.timed_out else "this partial clone lacks files for it"
    notes = [f"Lines were not followed to other files, as {reason}: a moved line shows the commit that moved it."]
    finished = git.run("blame", *asked, cancel=cancel, tree=tree)
    if finished.status != 0 and lacks_objects(finished):  # to see whether a file was renamed, others are read as well
        notes.append(_NOT_FOLLOWED)
        finished = git.run("blame", "--no-follow", *asked, cancel=cancel, tree=tree)
    if finished.status == 0 and lacks_objects(finished):
        notes.append(_HISTORY_ENDS)
    return finished, notes


def _bad_range(query: BlameQuery, lines: int | None = None) -> InvalidInput:
    asked = f"{1 if query.start is None else query.start}-{'' if query.end is None else query.end}"
    end = "the end of the file" if lines is None else f"line {lines}, the last of the file"
    return InvalidInput(
        f"Invalid line range: {asked}", param="startLine" if query.start is not None else "endLine",
        remedy=f"Lines count from 1; startLine may not lie behind endLine, nor either behind {end}.",
    )  # fmt: skip


def _revision(git: Git, layout: Layout, query: BlameQuery, cancel: Cancel) -> str | None:
    if query.ref is None and not layout.bare:
        return None
    return resolve(git, query.ref or "HEAD", cancel, param="ref", complaint="Invalid commit reference")


def _line_count(git: Git, layout: Layout, path: str, revision: str | None, cancel: Cancel) -> int | None:
    """Lines of the file; None where it cannot be read, which git then explains."""
    try:
        if revision is not None:
            content = read_blob(git, f"{revision}:{layout.prefix}{path}", cancel)
        else:
            with os.fdopen(open_plain(git.root, path), "rb") as file:
                content = file.read()
    except (CairnError, OSError):
        cancel.check()
        return None
    return content.count(b"\n") + (not content.endswith(b"\n") and content != b"")


def _lines(query: BlameQuery, total: int | None) -> list[str]:
    first, last = query.start or 1, min(query.end or _LAST_LINE, _LAST_LINE)
    if query.most is not None:
        last = min(last, first + query.most - 1)
    if total == 0 or (query.start is None and last >= (total or _LAST_LINE)):
        return []
    return ["-L", f"{first},{last}"]


def _explain(git: Git, finished: Finished, path: str, query: BlameQuery, revision: str, cancel: Cancel) -> CairnError:
    said = finished.complaint
    if counted := _HAS_ONLY.search(said):
        return _bad_range(query, int(counted[1]))
    if "No such file or directory" in said:
        return NotFound(f"File not found: {path} (deleted from the working tree; give a ref to see it)", path=path)
    if lacks_objects(finished):
        return damage(finished, f"the history of {path} cannot be read: {said.splitlines()[-1]}")
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
    words = decode(listed.output).partition("\t")[0].split(" ")
    return words[1] if listed.status == 0 and len(words) > 1 else ""


def _bodies(git: Git, hashes: list[str], cancel: Cancel) -> dict[str, str]:
    """Each commit's message below its first line, without trailers."""
    if not hashes:
        return {}
    asked = ["log", "--no-walk=unsorted", "--no-show-signature", "--encoding=UTF-8", "-z", "--format=%H%n%b"]
    finished = git.run(*asked, "--end-of-options", *hashes, "--", cancel=cancel)
    records = (each.partition("\n") for each in decode(finished.output).split("\0"))
    return {hash_: _RULE_AT_END.sub("", _TRAILER.sub("", body)).strip() for hash_, _, body in records}


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

    def commit(self, hash_: str, body: str) -> BlameCommit:
        return BlameCommit(
            hash=hash_, short_hash=hash_[:SHORT_DIGITS], author=self.fields.get("author", ""), date=self.date,
            email=self.fields.get("author-mail", "").removeprefix("<").removesuffix(">"),
            message=self.fields.get("summary", ""), body=body,
        )  # fmt: skip


def _origin(layout: Layout, guard: Guard, path: str, name: str) -> str | None:
    """The other file a line was written in, seen from the project; a hidden one, or one outside, is not named."""
    prefix = decode(os.fsencode(layout.prefix))
    old_path = name.removeprefix(prefix)
    is_named = name.startswith(prefix) and old_path != path and not guard.blocks(old_path)
    return old_path if is_named else None


def _parse(output: bytes, commits: dict[str, _Facts], origin_of: Callable[[str], str | None]) -> Iterator[BlameLine]:
    hash_, number, line_then, facts = "", 0, 0, _Facts()
    for raw in output.split(b"\n"):
        if raw.startswith(b"\t"):
            origin = origin_of(facts.fields.get("filename", ""))
            yield BlameLine(
                line=number, hash=hash_, author=facts.fields.get("author", ""), date=facts.date,
                content=decode(raw[1:]).removesuffix("\r"), origin_path=origin,
                origin_line=line_then if origin else None,
            )  # fmt: skip
            hash_ = ""
        elif not hash_ and raw:
            parts = decode(raw).split()
            hash_, line_then, number = parts[0], int(parts[1]), int(parts[2])
            facts = commits.setdefault(hash_, _Facts())
        elif raw:
            key, _, value = decode(raw).partition(" ")
            facts.fields[key] = _unquote(value) if key == "filename" else value


def _unquote(name: str) -> str:
    """A file name as it is: git puts one with a quote, a backslash or a control character into quotes."""
    if not (name.startswith('"') and name.endswith('"')):
        return name
    spelled = name[1:-1].encode("utf-8", "surrogatepass")
    return decode(re.sub(rb"\\([0-7]{3}|.)", lambda found: _character(found[1]), spelled))


def _character(spelled: bytes) -> bytes:
    return bytes([int(spelled, 8)]) if len(spelled) == 3 else _ESCAPES.get(spelled, spelled)


_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
