"""Trees and blobs of commits, straight from git's objects: what stands in a commit, and what differs between two.

Blobs are read by two long-lived gits, one that tells sizes and one that hands out contents, a window of ids at a time.
A window is smaller than any pipe, so neither side can wait for the other for ever. They run in an empty repository of
their own over the project's objects: the project's configuration is not read at all, and what a partial clone lacks
is told as missing, where git in the clone itself would die of not being let fetch it. Of an object that cannot be
unpacked git dies even so; it is told as missing too, and another git asked for the rest.
"""

from __future__ import annotations

import posixpath
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, TimedOut
from codecairn.source import process
from codecairn.source.commit_graph import make_bare
from codecairn.source.git import OBJECT_ID, Git, names_of
from codecairn.source.git_errors import REPAIR, failure, lacks_objects, output_of

FOLDER = 0o040000
LINK = 0o120000
SUBMODULE = 0o160000
_WINDOW = 48
"""Ids asked for at once: with SHA-256 they take 3,120 bytes, and the smallest pipe a system gives holds 4,096."""
_SHA256_DIGITS = 64
_MOST_DAMAGED = 200
"""Objects that cannot be unpacked: each costs two processes."""


class TreeEntry(NamedTuple):
    """A path of a commit: a file, a link (its blob is the target), a submodule (its id is a commit), or a folder whose
    content is not here."""

    path: str
    """Relative to the repository, bytes that are no UTF-8 escaped as the file system's are."""
    mode: int
    id: str
    size: int | None
    """Bytes; None for a submodule, and where a partial clone lacks the blob."""

    @property
    def is_link(self) -> bool:
        return self.mode == LINK

    @property
    def is_submodule(self) -> bool:
        return self.mode == SUBMODULE

    @property
    def is_lacking_folder(self) -> bool:
        return self.mode == FOLDER


class TreeChange(NamedTuple):
    """One path on which two trees differ. A side that is not there has mode 0 and an empty id."""

    status: str
    """git's letter: A, D, M, T (a file became a link, or the like), or R where renames were asked for."""
    path: str
    """The later one of a rename."""
    old_path: str
    old_mode: int
    mode: int
    old_id: str
    id: str


class Missing(NamedTuple):
    """The repository has no such blob: a partial clone, damage, or an object of another kind."""


class TooLarge(NamedTuple):
    size: int


Blob = bytes | Missing | TooLarge


def tree(git: Git, commit: str, prefix: str, cancel: Cancel) -> list[TreeEntry]:
    """Everything in a commit below a folder (`""` is all, `src/` a part), in git's order."""
    listing = ("ls-tree", "-r", "-z", "--full-tree")
    within = (commit, "--", prefix) if prefix else (commit,)
    finished = git.run(*listing, "--long", *within, cancel=cancel)
    if finished.status != 0 and lacks_objects(finished):  # of blobs, only the size is asked for
        finished = git.run(*listing, *within, cancel=cancel)
    if finished.status != 0 and lacks_objects(finished):
        return list(_tree_around_gaps(git, f"{commit}:{prefix.rstrip('/')}", prefix, cancel))
    return [_entry(each) for each in names_of(output_of(finished))]


def entry_at(git: Git, commit: str, path: str, cancel: Cancel) -> TreeEntry | None:
    """The entry of a commit at a path from the project's root; None where there is none."""
    listed = git.read("ls-tree", "-z", "--long", "--end-of-options", commit, "--", path, cancel=cancel)
    return next(map(_entry, names_of(listed)), None)


def read_blob(git: Git, name: str, cancel: Cancel) -> bytes:
    """One blob, by its id or as `commit:path`; many are read faster by `blobs`."""
    return git.read("cat-file", "blob", name, cancel=cancel)


def _tree_around_gaps(git: Git, whole: str, prefix: str, cancel: Cancel) -> Iterator[TreeEntry]:
    """Folder by folder, those that are not here as entries of their own."""
    waiting = [TreeEntry(prefix, FOLDER, whole, None)]
    while waiting:
        folder = waiting.pop()
        above = f"{folder.path.rstrip('/')}/" if folder.path else ""
        finished = git.run("ls-tree", "-r", "-z", "--end-of-options", folder.id, cancel=cancel)
        if finished.status != 0 and lacks_objects(finished):
            finished = git.run("ls-tree", "-z", "--end-of-options", folder.id, cancel=cancel)
            if finished.status != 0 and folder.id == whole:
                raise failure(finished)
        entries = [each._replace(path=above + each.path) for each in map(_entry, names_of(finished.output))]
        if finished.status != 0:
            yield folder
            continue
        waiting += [each for each in reversed(entries) if each.mode == FOLDER]
        yield from (each for each in entries if each.mode != FOLDER)


def _entry(line: str) -> TreeEntry:
    facts, _, path = line.partition("\t")
    mode, _, id_, *size = facts.split()
    return TreeEntry(path, int(mode, 8), id_, int(size[0]) if size and size[0].isdigit() else None)


def tree_changes(
    git: Git, old: str, new: str, cancel: Cancel, *, prefix: str = "", renames: bool = False
) -> list[TreeChange]:
    """How the tree of one commit becomes that of another. With `renames`, an added file that is much like a deleted
    one is told as that one renamed; where a partial clone lacks the contents, only if they are the very same."""
    within = (old, new, "--", *_below(git, prefix, cancel))
    asked = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-ext-diff")
    finished = git.run(*asked, "--find-renames" if renames else "--no-renames", *within, cancel=cancel)
    if renames and finished.status != 0 and lacks_objects(finished):
        finished = git.run(*asked, "--find-renames=100%", *within, cancel=cancel)
    if finished.status != 0 and lacks_objects(finished):
        return list(_changes_around_gaps(tree(git, old, prefix, cancel), tree(git, new, prefix, cancel)))
    return list(_changes(iter(names_of(output_of(finished)))))


def _changes_around_gaps(old: list[TreeEntry], new: list[TreeEntry]) -> Iterator[TreeChange]:
    """The differences, without renames; a folder that is not here on either side as one change."""
    was, is_ = {each.path: each for each in old}, {each.path: each for each in new}
    gaps = tuple(f"{each.path}/" for each in (*old, *new) if each.is_lacking_folder)
    for path in sorted({*was, *is_}):
        before, after = was.get(path), is_.get(path)
        is_below = path.startswith(gaps) and f"{path}/" not in gaps
        if is_below or (before and after and (before.mode, before.id) == (after.mode, after.id)):
            continue
        status = "M" if (before and after) or f"{path}/" in gaps else "D" if before else "A"
        yield TreeChange(
            status, path, path, before.mode if before else 0, after.mode if after else 0, before.id if before else "",
            after.id if after else "",
        )  # fmt: skip


def worktree_changes(git: Git, commit: str, cancel: Cancel, *, prefix: str = "") -> list[TreeChange]:
    """How a commit (without one, what is staged) becomes the working tree, renames told; what git does not track is no
    part of it. A file that was changed since it was staged has no id yet, only its mode."""
    asked = ("diff", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-relative", "--find-renames")
    with git.working_tree(git.layout(cancel), cancel) as files:
        within = (*([commit] if commit else []), "--", *_below(git, prefix, cancel))
        finished = git.run(*asked, *within, cancel=cancel, tree=files)
        if finished.status != 0 and lacks_objects(finished):
            finished = git.run(*asked[:-1], "--no-renames", *within, cancel=cancel, tree=files)
    return list(_changes(iter(names_of(output_of(finished)))))


def _below(git: Git, prefix: str, cancel: Cancel) -> list[str]:
    """A folder as git takes it: from where git runs, the project's root."""
    return [posixpath.relpath(prefix, git.layout(cancel).prefix or ".")] if prefix else []


def _changes(fields: Iterator[str]) -> Iterator[TreeChange]:
    for facts in fields:
        old_mode, mode, old_id, id_, status = facts.removeprefix(":").split(" ")
        old_path = next(fields)
        path = next(fields) if status[0] in "RC" else old_path
        modes = int(old_mode, 8), int(mode, 8)
        yield TreeChange(status[0], path, old_path, *modes, _present(old_id), _present(id_))


def _present(id_: str) -> str:
    return id_ if id_.strip("0") else ""


def blobs(git: Git, ids: Iterable[str], cancel: Cancel, *, most_bytes: int | None = None) -> Iterator[tuple[str, Blob]]:
    """The contents of blobs, in the order asked, one at a time in memory; a larger one than `most_bytes` unread."""
    wanted = list(ids)
    if strange := next((each for each in wanted if not OBJECT_ID.fullmatch(each)), None):
        raise ValueError(f"{strange!r} is no object id")
    if not wanted:
        return
    for _ in range(_MOST_DAMAGED):
        read = 0
        try:
            with _reading(git, len(wanted[0]), cancel) as (sizes, contents):
                for each in _read_blobs(wanted, sizes, contents, most_bytes):
                    read += 1
                    yield each
            return
        except _EndedError as error:
            if read == len(wanted):
                return
            if error.is_our_doing:
                raise error.said from None
            yield wanted[read], Missing()
            wanted = wanted[read + 1 :]
            if not wanted:
                return
    raise CairnError("Too many objects cannot be read: the repository is damaged", remedy=REPAIR)


def _read_blobs(
    wanted: list[str], sizes: _Batch, contents: _Batch, most_bytes: int | None
) -> Iterator[tuple[str, Blob]]:
    for first in range(0, len(wanted), _WINDOW):
        window = wanted[first : first + _WINDOW]
        told = sizes.headers(window)
        contents.ask([id_ for id_, each in zip(window, told, strict=True) if _fits(each, most_bytes)])
        for id_, each in zip(window, told, strict=True):
            if _fits(each, most_bytes):
                yield id_, contents.content()
            else:
                yield id_, TooLarge(each.size) if each.kind == "blob" else Missing()


class _EndedError(Exception):
    """git ended while it was asked: of an object that it cannot unpack, or since we ended it."""

    def __init__(self, said: CairnError, *, is_our_doing: bool) -> None:
        super().__init__(said.message)
        self.said = said
        self.is_our_doing = is_our_doing


class _Header(NamedTuple):
    kind: str
    size: int


def _fits(header: _Header, most_bytes: int | None) -> bool:
    return header.kind == "blob" and (most_bytes is None or header.size <= most_bytes)


@contextmanager
def _reading(git: Git, digits: int, cancel: Cancel) -> Iterator[tuple[_Batch, _Batch]]:
    objects = git.layout(cancel).objects
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="cairn-", ignore_cleanup_errors=True)))
        _make_empty(folder, digits)
        environment = {"GIT_DIR": str(folder), "GIT_OBJECT_DIRECTORY": str(objects)}
        batches = []
        for mode in ("--batch-check", "--batch"):
            batch = _Batch(git.start("cat-file", mode, environment=environment), cancel, git.timeout)
            stack.callback(batch.end)
            stack.enter_context(cancel.stopping(batch.stop))
            batches.append(batch)
        yield batches[0], batches[1]


def _make_empty(folder: Path, digits: int) -> None:
    make_bare(folder)
    sha256 = "repositoryformatversion = 1\nbare = true\n[extensions]\nobjectformat = sha256\n"
    (folder / "config").write_text("[core]\n" + (sha256 if digits == _SHA256_DIGITS else "bare = true\n"))


class _Batch:
    """One `git cat-file --batch…` and the conversation with it."""

    def __init__(self, child: process.Child, cancel: Cancel, timeout: float) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._child = child
        self._questions: IO[bytes] = child.stdin
        self._answers: IO[bytes] = child.stdout
        self._cancel = cancel
        self._timeout = timeout
        self._asked_at: float | None = None
        self._is_late = False
        self._done = threading.Event()
        self._watch = threading.Thread(target=self._end_if_late, daemon=True)
        self._watch.start()

    def _end_if_late(self) -> None:
        """A git that does not answer, on a dead network disk say, is ended; that ends the read."""
        while not self._done.wait(self._timeout / 4):
            asked_at = self._asked_at
            if asked_at is not None and time.monotonic() - asked_at > self._timeout:
                self._is_late = True
                self.stop()

    def stop(self) -> None:
        process.kill(self._child)

    def end(self) -> None:
        self._done.set()
        process.end(self._child)
        self._watch.join()

    def ask(self, ids: Sequence[str]) -> None:
        self._cancel.check()
        try:
            self._questions.write("".join(f"{id_}\n" for id_ in ids).encode())
            self._questions.flush()
        except OSError as error:
            raise self._end_error() from error

    def headers(self, ids: Sequence[str]) -> list[_Header]:
        self.ask(ids)
        return [self._header() for _ in ids]

    def content(self) -> bytes:
        size = self._header().size
        data = self._answer(lambda: self._answers.read(size + 1))  # a line end follows
        if len(data) <= size:
            raise self._end_error()
        return data[:size]

    def _header(self) -> _Header:
        answer = self._answer(self._answers.readline).split()
        if len(answer) == 2:
            return _Header(answer[1].decode(), 0)
        if len(answer) != 3:
            raise self._end_error()
        return _Header(answer[1].decode(), int(answer[2]))

    def _answer(self, read: Callable[[], bytes]) -> bytes:
        self._asked_at = time.monotonic()
        try:
            return read()
        finally:
            self._asked_at = None

    def _end_error(self) -> _EndedError:
        self._cancel.check()
        if self._is_late:
            late = TimedOut(f"git did not answer within {self._timeout:g} seconds", seconds=self._timeout)
            return _EndedError(late, is_our_doing=True)
        return _EndedError(CairnError("git ended while it was asked for objects"), is_our_doing=process.is_leaving())
