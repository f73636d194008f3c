"""Which files of a project are candidates for the index, and why the others are not.

In a git repository git decides: what is tracked, and what is untracked but not ignored. Elsewhere, or where git refuses
to run, the folder is walked here and its nested `.gitignore` files are read as git reads them. On top of either:

- a `.cairnignore` at any depth, in gitignore's syntax, leaves more out; its `!` takes back only what a `.cairnignore`
  left out, never what git ignores;
- what the guard blocks is left out, and so are folders that only tools write (`__pycache__`, `.gradle`, a Python
  environment, a folder marked as a cache by CACHEDIR.TAG) and, unless asked for, other people's code (`vendor/`) that
  git does not track;
- a link is never followed: what it leads to is listed under its own name, or is none of the project's business;
- a submodule or a repository inside the repository is a project of its own. (A plain folder that holds repositories is
  one project with all of them.)

`build/`, `dist/`, `target/` and the like are source folders in too many projects to be left out by name; ignore rules
and CACHEDIR.TAG tell. Whatever is left out is counted under its reason: files, or folders where the reason says so.

A listing opens nothing but ignore files; `file_content.py` reads what it lists.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os import lstat, scandir, sep, stat_result
from os.path import lexists
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, field

from codecairn.cancel import Cancel
from codecairn.errors import NotARepository, RepositoryDenied
from codecairn.file_roles import is_vendored
from codecairn.paths import Guard, has_control, printable
from codecairn.source.file_content import ListedFile, Skip, read_text
from codecairn.source.git import Git
from codecairn.source.ignore_rules import IgnoreRules

ABSENT = "not in the working tree"
CACHE = "written by a tool"
IGNORED = "ignored by .cairnignore"
LINK = "link"
NESTED = "nested repository (folders)"
SECRET = "secret or internal"  # noqa: S105
SPECIAL = "not a regular file"
SUBMODULE = "submodule (folders)"
LACKING = "not in this clone"
UNNAMEABLE = "name is not printable UTF-8"
UNREADABLE = "unreadable"
UNTRACKED = "ignored by .gitignore"
VENDORED = "vendored"

RULES = ".cairnignore"
LARGEST_RULES = 1 << 18
_MOST_WARNINGS = 20

TOOL_FOLDERS = frozenset(
    {
        ".hg", ".svn", ".bzr", ".jj", "CVS", "__pycache__", ".venv", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints", ".gradle", ".terraform", ".next", ".nuxt",
        ".svelte-kit", ".parcel-cache", ".turbo", ".dart_tool", ".bloop", ".metals", ".idea", ".vs",
    }
)  # fmt: skip
MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")
"""A file of this name says that a tool wrote the whole folder it lies in."""


class Listing(Struct, frozen=True):
    files: list[ListedFile]
    """By path."""
    excluded: Counter[str] = field(default_factory=Counter)
    warnings: list[str] = field(default_factory=list)


def list_files(
    root: Path, git: Git, guard: Guard, cancel: Cancel, *, vendor: bool = False, only: Sequence[str] | None = None
) -> Listing:
    """The candidates below a project root. `vendor` lists vendored code that git does not track, too, though never
    node_modules; `only` asks about these paths and what lies below them."""
    sieve = Sieve(root, guard, vendor=vendor)
    try:
        layout = git.layout(cancel)
    except NotARepository:
        sieve.walk(cancel)
    except RepositoryDenied as refused:
        sieve.warn(f"git would not list the files ({refused}); ignore files were read without it")
        sieve.walk(cancel)
    else:
        if layout.bare:
            sieve.warn("the repository is bare: it has no files to list")
        else:
            _list_with_git(sieve, git, cancel, only)
    return Listing(sorted(sieve.files if only is None else _among(sieve.files, only)), sieve.excluded, sieve.warnings)


def _among(files: list[ListedFile], paths: Sequence[str]) -> Iterator[ListedFile]:
    wanted = frozenset(paths)
    return (found for found in files if not wanted.isdisjoint(_with_parents(found.path)))


def _with_parents(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def git_ignored_paths(git: Git, cancel: Cancel) -> frozenset[str]:
    """The paths below the root that git ignores now; a folder that is ignored whole is one path."""
    options = ("--others", "--ignored", "--exclude-standard", "--directory")
    names = git.read("ls-files", "-z", *options, cancel=cancel).split(b"\0")
    return frozenset(path.rstrip("/") for path in map(_decode, names) if path)


def _list_with_git(sieve: Sieve, git: Git, cancel: Cancel, only: Sequence[str] | None) -> None:
    below = ("--", *only) if only is not None else ()
    listed = git.read("ls-files", "-t", "-z", "--cached", "--others", "--exclude-standard", *below, cancel=cancel)
    entries = listed.split(b"\0")
    entries.pop()  # what follows the last NUL
    paths = sieve.showable_names(
        dict.fromkeys(entry[2:] for entry in entries)
    )  # a conflicted file has an entry for each side
    untracked = {entry[2:].decode("utf-8", "replace") for entry in entries if entry.startswith(b"? ")}
    marked = (head for head, _, name in (path.rpartition("/") for path in paths) if name in MARKS)
    sieve.mark(marked if only is None else sieve.folders_marked_above(paths))
    for path in paths:
        cancel.check()
        if path.endswith("/"):
            sieve.excluded[NESTED] += 1
        else:
            sieve.take(path, is_tracked=path not in untracked)
    cancel.check()


class _Folder(NamedTuple):
    """The decision for all files of a folder."""

    reason: str | None
    """Why none of them is listed."""
    rules: IgnoreRules


class Sieve:
    """Takes paths, keeps the files that pass and counts the rest."""

    def __init__(self, root: Path, guard: Guard, *, vendor: bool) -> None:
        self.files: list[ListedFile] = []
        self.excluded: Counter[str] = Counter()
        self.warnings: list[str] = []
        self._root = root
        self._base = f"{root}{sep}"  # joined as text: a Path costs more than the stat
        self._guard = guard
        self._vendor = vendor
        self._marked: frozenset[str] = frozenset()
        self._folders = {"": _Folder(None, self._rules("", RULES, IgnoreRules()))}

    def showable_names(self, names: Iterable[bytes]) -> list[str]:
        """The names that can be shown and stored; git's are bytes, and UTF-8 by convention only."""
        decoded = [_decode(name) for name in names]
        paths = [path for path in decoded if path is not None]
        if len(paths) < len(decoded):
            self.excluded[UNNAMEABLE] += len(decoded) - len(paths)
        return paths

    def mark(self, folders: Iterable[str]) -> None:
        self._marked = frozenset(folders) - {""}

    def folders_marked_above(self, paths: Iterable[str]) -> Iterator[str]:
        """The folders around these paths that a tool marked, asked of the disk: the marks were not listed."""
        for folder in {each for path in paths for each in _with_parents(path.rpartition("/")[0])}:
            if any(lexists(f"{self._base}{folder}/{mark}") for mark in MARKS):
                yield folder

    def warn(self, text: str) -> None:
        if len(self.warnings) < _MOST_WARNINGS:
            self.warnings.append(text)

    def take(self, path: str, *, is_tracked: bool = True) -> None:
        around = path.rpartition("/")[0]
        folder = self._folders.get(around) or self._folder(around)
        reason = folder.reason or self._file_exclusion(path, folder.rules)
        if reason is None and not (is_tracked or self._vendor) and is_vendored(path):
            reason = VENDORED
        if reason:
            self.excluded[reason] += 1
            return
        try:
            info = lstat(self._base + path)
        except OSError as error:
            self.excluded[_trouble(error)] += 1
            return
        if stat.S_ISREG(info.st_mode) and not _is_link(info):
            self.files.append(ListedFile.of(path, info))
        else:
            self.excluded[self._kind(path, info)] += 1

    def _file_exclusion(self, path: str, rules: IgnoreRules) -> str | None:
        if self._guard.blocks(path):
            return SECRET
        return IGNORED if rules.drops(path, folder=False) else None

    def _kind(self, path: str, info: stat_result) -> str:
        if _is_link(info):
            return LINK
        if not stat.S_ISDIR(info.st_mode):
            return SPECIAL
        # Where git has an entry and there is a folder: a submodule, checked out or not, or a file that gave way.
        try:
            with scandir(self._base + path) as entries:
                names = {entry.name for entry in entries}
        except OSError:
            return UNREADABLE
        return SUBMODULE if not names or ".git" in names else ABSENT

    def _folder(self, path: str) -> _Folder:
        missing = []
        while path not in self._folders:  # no recursion: a path may have two thousand components
            missing.append(path)
            path = path.rpartition("/")[0]
        folder = self._folders[path]
        for each in reversed(missing):
            reason = folder.reason or self._exclusion(each, folder.rules)
            folder = _Folder(reason, folder.rules if reason else self._rules(each, RULES, folder.rules))
            self._folders[each] = folder
        return folder

    def _exclusion(self, path: str, rules: IgnoreRules) -> str | None:
        name = path.rpartition("/")[2]
        if self._guard.blocks(path):
            return SECRET
        if name in TOOL_FOLDERS or path in self._marked:
            return CACHE
        if rules.drops(path, folder=True):
            return IGNORED
        return self._is_linked(path)

    def _is_linked(self, path: str) -> str | None:
        try:
            return LINK if _is_link(lstat(self._base + path)) else None
        except OSError as error:
            return _trouble(error)

    def _rules(self, folder: str, name: str, above: IgnoreRules) -> IgnoreRules:
        path = f"{folder}/{name}" if folder else name
        if not lexists(self._base + path):  # a tenth of what trying to read costs, and most folders have none
            return above
        content = read_text(self._root, path, LARGEST_RULES)
        if not isinstance(content, Skip):
            return IgnoreRules(folder, content.text.decode("utf-8", "replace"), above)
        if content.reason != Skip.GONE:
            self.warn(f"{printable(path)} was not read: {content.reason}")
        return above

    def walk(self, cancel: Cancel) -> None:
        """List without git."""
        waiting = [("", IgnoreRules())]
        while waiting:
            cancel.check()
            folder, ignored = waiting.pop()
            waiting += self._walk_one(folder, ignored)

    def _walk_one(self, folder: str, ignored: IgnoreRules) -> Iterator[tuple[str, IgnoreRules]]:
        entries = self._entries(folder)
        if folder and any(mark in entries for mark in MARKS):
            self.excluded[f"{CACHE} (folders)"] += 1
            return
        if ".gitignore" in entries:
            ignored = self._rules(folder, ".gitignore", ignored)
        for name, is_folder in entries.items():
            path = f"{folder}/{name}" if folder else name
            if not is_showable(name):
                self.excluded[UNNAMEABLE] += 1
            elif is_folder:
                reason = self._folder(path).reason or self._unlisted(path, ignored)
                if reason is None:
                    yield path, ignored
                else:
                    self.excluded[f"{reason} (folders)"] += 1
            elif ignored.drops(path, folder=False) and not self._guard.blocks(path):
                self.excluded[UNTRACKED] += 1
            else:
                self.take(path)

    def _unlisted(self, folder: str, ignored: IgnoreRules) -> str | None:
        if not self._vendor and is_vendored(f"{folder}/"):
            return VENDORED
        return UNTRACKED if ignored.drops(folder, folder=True) else None

    def _entries(self, folder: str) -> dict[str, bool]:
        """The names in a folder, and whether each is a folder."""
        try:
            with scandir(self._base + folder) as entries:
                return {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
        except OSError as error:
            self.warn(f"{printable(folder or '.')} was not listed: {error.strerror or type(error).__name__}")
            self.excluded[f"{UNREADABLE} (folders)"] += 1
            return {}


def _decode(name: bytes) -> str | None:
    """None where the name cannot be shown."""
    try:
        path = name.decode()
    except UnicodeDecodeError:
        return None
    return None if has_control(path) else path


def is_showable(name: str) -> bool:
    return name.isprintable() or _decode(name.encode("utf-8", "surrogatepass")) is not None


def _is_link(info: stat_result) -> bool:
    """Also Windows' junctions, which are links to folders by another name."""
    return stat.S_ISLNK(info.st_mode) or getattr(info, "st_reparse_tag", 0) in (0xA0000003, 0xA000000C)


def _trouble(error: OSError) -> str:
    return ABSENT if isinstance(error, FileNotFoundError | NotADirectoryError) else UNREADABLE
