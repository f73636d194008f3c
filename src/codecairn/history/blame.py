"""Who last changed each line of a file, and in which commit."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, InvalidInput, NotFound
from codecairn.paths import Guard
from codecairn.source.git import Git, Layout, failure
from codecairn.source.process import Finished
from codecairn.text import decoded, fence_language
from codecairn.types import Blame, BlameCommit, BlameLine


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
    if (git.root / path).is_dir() and query.ref is None:
        raise InvalidInput(f"Not a file: {path}", param="filePath", remedy="Name one file; git_log takes folders.")
    revision = _revision(git, layout, query, cancel)
    in_tree = revision is None
    settings = git.filters_off(cancel) if in_tree else []
    arguments = [
        "blame",
        "--porcelain",
        "--no-textconv",
        "--encoding=UTF-8",
        *_lines(query),
        *([revision] if revision else []),
    ]
    with ThreadPoolExecutor(max_workers=1) as beside:
        dirty = beside.submit(_is_modified, git, path, settings, cancel) if in_tree else None
        finished = git.run(*arguments, "--", path, cancel=cancel, settings=settings)
        if finished.status != 0:
            raise _explained(git, finished, path, query, cancel)
        modified = dirty.result() if dirty else False
    return _value(finished.output, path, layout, modified=modified)


def _refuse_bad_range(query: BlameQuery) -> None:
    start, end = query.start, query.end
    if (start is not None and start < 1) or (end is not None and end < (start or 1)):
        raise _bad_range(query)


def _bad_range(query: BlameQuery) -> InvalidInput:
    return InvalidInput(
        f"Invalid line range: {query.range}", param="startLine",
        remedy="Lines count from 1; startLine may not lie behind endLine or the end of the file.",
    )  # fmt: skip


def _revision(git: Git, layout: Layout, query: BlameQuery, cancel: Cancel) -> str | None:
    if query.ref is None and not layout.bare:
        return None
    return git.resolve(query.ref or "HEAD", cancel, param="ref", complaint="Invalid commit reference")


def _lines(query: BlameQuery) -> list[str]:
    if query.start is None and query.end is None:
        return []
    return ["-L", f"{query.start or 1},{query.end or ''}"]


def _is_modified(git: Git, path: str, settings: list[tuple[str, str]], cancel: Cancel) -> bool:
    asked = ["diff", "--quiet", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "HEAD", "--", path]
    return git.run(*asked, cancel=cancel, settings=settings).status == 1


def _explained(git: Git, finished: Finished, path: str, query: BlameQuery, cancel: Cancel) -> CairnError:
    said = finished.complaint
    if "has only" in said or "file lacks line" in said:
        empty = "has only 0 lines" in said
        return _bad_range(query) if not empty else InvalidInput(f"Invalid line range: {query.range}", param="startLine")
    if "no such path" in said or "cannot stat path" in said or "no such ref: HEAD" in said:
        tracked = git.run("ls-files", "-z", "--", path, cancel=cancel).output
        if tracked and "cannot stat path" in said:
            return NotFound(f"File not found: {path} (deleted from the working tree; give a ref to see it)", path=path)
        return NotFound(
            f"File not tracked by git: {path}", path=path,
            remedy="Commit it first; git_blame speaks of committed lines.",
        )  # fmt: skip
    return failure(finished)


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
        local_modifications=modified or any(facts.uncommitted for facts in commits.values()),
        lines=lines,
        commits=[facts.commit(hash_, layout.short) for hash_, facts in commits.items() if not facts.uncommitted],
        notes=["History is shallow: lines older than the clone show its boundary commit."] if layout.shallow else [],
    )


@dataclass
class _Facts:
    """The header lines of one commit in the porcelain output, which come once however many lines it wrote."""

    fields: dict[str, str] = field(default_factory=dict)

    @property
    def uncommitted(self) -> bool:
        return self.fields.get("author-mail") == "<not.committed.yet>"

    @property
    def date(self) -> str:
        zone = self.fields.get("author-tz", "+0000")
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[3:5])) * (-1 if zone[0] == "-" else 1)
        moment = datetime.fromtimestamp(int(self.fields.get("author-time", "0")), UTC)
        return moment.astimezone(timezone(offset)).isoformat()

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
