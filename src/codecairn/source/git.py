"""The owner of the verb "run git".

A repository is somebody else's data, and its configuration can name programs: a file-system monitor, hooks, an
external diff, text converters, clean and process filters, a pager, aliases, a signing program, a remote helper that a
missing object would call. So every git here runs

- from an argument list, with callers' values after `--end-of-options` or `--` and pathspecs literal;
- with the settings of `NEUTRAL` in the environment (GIT_CONFIG_COUNT outranks every file), which is safer than `-c`
  because no name in the repository can break its syntax;
- with every configured `filter.*` emptied whenever the working tree is compared, and with a copy of the index, as
  `git diff` writes the one it has refreshed;
- without optional locks, prompts, network protocols or lazy fetches, so nothing is written and nothing is sent;
- with submodules compared by commit alone: looking inside one would start a git that reads the submodule's own
  configuration and none of ours.

Settings that would change the shape of what git prints are fixed too, so that a user's taste is not our parser's bug.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import IO

from msgspec import Struct

from codecairn import config
from codecairn.cache import Cache
from codecairn.cancel import Cancel
from codecairn.errors import CairnError, InvalidInput, NotARepository, RefNotFound, RepositoryDenied, TooManyFiles
from codecairn.paths import has_control, printable
from codecairn.source import process
from codecairn.source.commit_graph import CommitGraph
from codecairn.source.file_stamps import Stamps
from codecairn.source.git_errors import REPAIR, output_of
from codecairn.source.git_settings import NEUTRAL, QUIET
from codecairn.source.process import Child, Finished

# Commands that walk history, and so gain from a commit-graph.
_WALKS = frozenset({"blame", "log", "rev-list"})

_commits: Cache[tuple[str, str], bool] = Cache("git.commits", 2_000_000, lambda _: 200)
"""Commits that a repository is known to have."""
_merge_bases: Cache[tuple[str, str, str], str] = Cache("git.merge_bases", 2_000_000, lambda _: 400)
_LITERAL = ("--literal-pathspecs",)
# Commands that refuse to run so; who calls them gives paths that begin with a dot, and so with no magic.
_NO_LITERALS = frozenset({"check-ignore"})

_FACTS = 8
"""Lines of what git tells of a working tree, the empty one behind the last included."""
_LEFT_OUT = "This project is not a git repository, and the one around it ignores the folder"
OBJECT_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def _spool() -> IO[bytes]:
    from tempfile import TemporaryFile  # noqa: PLC0415 - for who gives git much

    return TemporaryFile()


def _lines(output: bytes) -> list[str]:
    return output.decode("utf-8", "surrogateescape").split("\n")


class Layout(Struct, frozen=True):
    """Where a project root stands in its repository."""

    git_dir: Path
    objects: Path
    prefix: str
    bare: bool
    shallow: bool

    @property
    def whole(self) -> bool:
        return not self.prefix


class SafeTree(Struct, frozen=True):
    """Lets a git look at the project's files and run nothing, write nothing."""

    settings: list[tuple[str, str]]
    index: Path | None = None
    """The copy to look at; None where git is to use, and to write, its own."""


class Git:
    """git, run in one project root. Holds no process; what it remembers of the repository is checked by `stat`."""

    def __init__(
        self, root: Path, *, timeout: float = config.GIT_TIMEOUT_S, data: Callable[[], Path] | None = None
    ) -> None:
        self.root = root
        self.timeout = timeout
        self._data = data
        self._layout: tuple[Stamps, Layout] | None = None
        self._left_out_by: Stamps | None = None
        """The files by which the repository around the root ignores it, where it does."""

    @cached_property
    def _program(self) -> str:
        program = process.find("git", outside=self.root)
        if program is None:
            raise NotARepository("git is not installed or not on PATH", remedy="Install git and restart the server.")
        return program

    def run(
        self,
        *arguments: str,
        cancel: Cancel,
        tree: SafeTree | None = None,
        enough: Callable[[bytearray], bool] | None = None,
        seconds: float | None = None,
        stdin: bytes | None = None,
    ) -> Finished:
        """Run git and hand back how it ended, or what it said within so many `seconds`; a status is the caller's."""
        settings = [*NEUTRAL.items(), *(tree.settings if tree else [])]
        index = {"GIT_INDEX_FILE": str(tree.index)} if tree and tree.index else {}
        index |= {"LC_ALL": "C.UTF-8"} if arguments[0] == "grep" else {}  # a character is not a byte
        graph = self._graph if arguments[0] in _WALKS else None
        began = time.monotonic()
        try:
            # A git that is given much would wait for us to read what it says, while we wait for it to take the rest.
            with _spool() if stdin is not None else nullcontext() as spool:
                finished = process.run(
                    [self._program, "--no-pager", *(() if arguments[0] in _NO_LITERALS else _LITERAL), *arguments],
                    folder=self.root,
                    environment={**_environment(settings), **index, **(graph.environment if graph else {})},
                    timeout=seconds or self.timeout,
                    cancel=cancel,
                    enough=enough,
                    stdin=stdin,
                    partial=seconds is not None,
                    spool=spool,
                )
        except OSError as error:
            raise self._not_started(error) from error
        if graph is not None:
            graph.note_duration(time.monotonic() - began, partial(self._verify, "HEAD^{commit}", cancel))
        return finished

    def start(self, *arguments: str, environment: Mapping[str, str]) -> Child:
        """A git to talk with over its pipes; who starts it ends it."""
        command, ours = [self._program, "--no-pager", *arguments], _environment(NEUTRAL.items())
        try:
            return process.start(command, folder=self.root, environment={**ours, **environment})
        except OSError as error:
            raise self._not_started(error) from error

    @cached_property
    def _graph(self) -> CommitGraph | None:
        """A commit-graph for walks, where there is a place for it; git has no use for one in a shallow clone."""
        layout = self._layout[1] if self._layout else None
        if self._data is None or layout is None or layout.shallow:
            return None
        return CommitGraph(self._data(), layout.objects, self._write_graph)

    def _write_graph(self, folder: Path, tip: str, seconds: float) -> None:
        arguments = ["commit-graph", "write", "--stdin-commits", "--changed-paths", "--no-progress"]
        command, ours = [self._program, f"--git-dir={folder}", *arguments], _environment(NEUTRAL.items())
        stdin = f"{tip}\n".encode()
        output_of(process.run(command, folder=folder, environment=ours, timeout=seconds, cancel=Cancel(), stdin=stdin))

    def _not_started(self, error: OSError) -> CairnError:
        if error.errno == errno.E2BIG:
            return InvalidInput("An argument is too long for git", reason="too long")
        if error.errno in (errno.EMFILE, errno.ENFILE):
            return TooManyFiles("git could not be started: too many files are open")
        if isinstance(error, PermissionError):
            return RepositoryDenied("Cannot access git repository")
        if not self.root.is_dir():
            return NotARepository(
                "This project is not a git repository: its folder is gone",
                remedy="Restore the folder, or start the server in another one.",
            )
        return NotARepository("git could not be started", remedy="Install git and restart the server.")

    def read(self, *arguments: str, cancel: Cancel, tree: SafeTree | None = None) -> bytes:
        """Run git; what it prints, or the typed error that its complaint means."""
        return output_of(self.run(*arguments, cancel=cancel, tree=tree))

    def ask(self, *arguments: str, cancel: Cancel) -> str:
        """Run git; the words it prints, whether or not it fails."""
        return self.run(*arguments, cancel=cancel).output.decode("utf-8", "replace").strip()

    def layout(self, cancel: Cancel) -> Layout:
        """The repository around the root. Asked of git once, then for as long as the git directory looks the same."""
        if self._layout is not None:
            stamps, layout = self._layout
            if not stamps.have_changed():
                return layout
        if not _is_near(self.root):
            raise NotARepository("This project is not a git repository")
        if self._left_out_by is not None and not self._left_out_by.have_changed():
            raise NotARepository(_LEFT_OUT)
        self._left_out_by = None
        layout = self._discover(cancel)
        # They change whenever a layout can: the folder is replaced, re-initialised, reconfigured or deepened.
        self._layout = (Stamps(*(layout.git_dir / name for name in ("HEAD", "config", "shallow"))), layout)
        return layout

    def _discover(self, cancel: Cancel) -> Layout:
        asked = (
            "rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository",
            "--absolute-git-dir", "--git-path", "objects", "--show-prefix",
        )  # fmt: skip
        done = self.run(*asked, "--show-toplevel", cancel=cancel)
        top, facts = "", _lines(done.output if done.output else output_of(done))  # one that was killed says nothing
        if len(facts) == _FACTS:
            top = facts.pop(-2)
        else:  # it is bare, or a folder has a line end in its name
            facts = _lines(self.read(*asked, cancel=cancel))
        bare, inside, shallow, git_dir = facts[0] == "true", facts[1] == "true", facts[2] == "true", Path(facts[3])
        objects, prefix = self.root / facts[4], "\n".join(facts[5:]).rstrip("\n")
        if not bare and not inside:
            raise NotARepository("This project is not a git repository", remedy="Name the working tree, not its .git.")
        if not bare:
            self._refuse_foreign_tree(top or self._top(cancel), prefix)
            self._refuse_ignoring_tree(git_dir, prefix.count("/"), cancel)
        return Layout(git_dir, objects.resolve(), "" if bare else prefix, bare, shallow)

    def _top(self, cancel: Cancel) -> str:
        return self.read("rev-parse", "--show-toplevel", cancel=cancel).decode("utf-8", "surrogateescape").rstrip("\n")

    def _refuse_foreign_tree(self, top: str, prefix: str) -> None:
        # core.worktree can point anywhere; the files it would show are not this project's.
        if (Path(top) / prefix).resolve() != self.root.resolve():
            raise RepositoryDenied(
                "Cannot access git repository",
                remedy="Its core.worktree points outside the project; unset it or serve that folder.",
            )

    def _refuse_ignoring_tree(self, git_dir: Path, depth: int, cancel: Cancel) -> None:
        """A folder that the repository around it ignores, none of its files tracked, is no part of it."""
        if not depth:
            return
        rules = Stamps(
            git_dir / "index", common_dir(git_dir) / "info/exclude",
            *(each / ".gitignore" for each in self.root.parents[:depth]),
        )  # fmt: skip
        if self.run("check-ignore", "--quiet", "--", ".", cancel=cancel).status == 0:
            self._left_out_by = rules
            raise NotARepository(_LEFT_OUT)

    def resolve(self, ref: str, cancel: Cancel, *, param: str, complaint: str) -> str:
        """The commit id a caller's ref stands for; from here on only the id is used."""
        if not ref.strip() or ref.startswith("-") or has_control(ref):
            raise InvalidInput(f"{complaint}: {printable(ref)}", param=param, reason="not a usable reference")
        if _commits.get((str(self.root), ref)):
            return ref
        found = (self.head(cancel) if ref == "HEAD" else None) or self._verify(f"{ref}^{{commit}}", cancel)
        if not found:
            self.layout(cancel)  # if this is no repository at all, say that instead
            raise RefNotFound(f"{complaint}: {printable(ref)}", param=param, ref=printable(ref))
        # An id never comes to mean another commit, so a full one is asked about once.
        _commits.put((str(self.root), found), True)
        return found

    def head(self, cancel: Cancel) -> str | None:
        """The commit checked out, or None while there is none."""
        if (tip := self._head_on_disk(cancel)) is not None:
            return tip
        if found := self._verify("HEAD^{commit}", cancel):
            return found
        if named := self._verify("HEAD", cancel):
            raise CairnError(f"The repository is damaged: HEAD names {named}, which it does not have", remedy=REPAIR)
        return None

    def branch(self, cancel: Cancel) -> str | None:
        """The branch checked out, or None where HEAD is a commit."""
        named = text_at(self.layout(cancel).git_dir / "HEAD")
        if named.startswith("ref: refs/heads/") and not named.endswith("/.invalid"):
            return named.removeprefix("ref: refs/heads/")
        return self.ask("symbolic-ref", "--quiet", "--short", "HEAD", cancel=cancel) or None

    def common(self, cancel: Cancel) -> Path:
        """The git directory that all worktrees share: where branches are."""
        return common_dir(self.layout(cancel).git_dir)

    def _head_on_disk(self, cancel: Cancel) -> str | None:
        """HEAD without a process, where it is a plain file naming a plain file; git itself knows the other ways."""
        git_dir = self.layout(cancel).git_dir
        named = text_at(git_dir / "HEAD")
        if named.startswith("ref: refs/heads/"):
            named = text_at(common_dir(git_dir) / named.removeprefix("ref: "))
        return named if OBJECT_ID.fullmatch(named) else None

    def _verify(self, revision: str, cancel: Cancel) -> str:
        found = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", revision, cancel=cancel)
        return found if OBJECT_ID.fullmatch(found) else ""

    def merge_base(self, one: str, other: str, cancel: Cancel) -> str | None:
        """Where two commits parted; None where they have no history in common that is here. Asked once of each two,
        unless a shallow clone may still learn more."""
        key = (str(self.root), one, other)
        if (known := _merge_bases.get(key)) is not None:
            return known
        found = self.ask("merge-base", one, other, cancel=cancel).partition("\n")[0]
        return _merge_bases.put(key, found) if OBJECT_ID.fullmatch(found) else None

    def is_folder(self, path: str) -> bool:
        """Whether a path of the working tree is a folder; a name too long for the file system is none."""
        try:
            return (self.root / path).is_dir()
        except OSError:
            return False

    @contextmanager
    def working_tree(self, layout: Layout, cancel: Cancel) -> Iterator[SafeTree]:
        """For as long as git is to look at the files of the project."""
        from tempfile import TemporaryDirectory  # noqa: PLC0415 - for who compares files

        with TemporaryDirectory(prefix="cairn-", ignore_cleanup_errors=True) as folder:
            copy = Path(folder) / "index"
            try:
                _copy_index(layout.git_dir / "index", copy)
            except FileNotFoundError:  # nothing was ever staged
                pass
            except OSError as error:
                raise self._not_started(error) from error
            yield SafeTree(self._filters_off(cancel), copy)

    def writable_tree(self, cancel: Cancel) -> SafeTree:
        """For a git that is to check files out, and to run nothing for it."""
        return SafeTree(self._filters_off(cancel))

    def _filters_off(self, cancel: Cancel) -> list[tuple[str, str]]:
        """Settings that empty every filter any configuration file defines; asked anew each time, as files change."""
        listed = self.run("config", "--null", "--name-only", "--get-regexp", r"^filter\.", cancel=cancel).output
        names = {key.rsplit(".", 1)[0] for key in listed.decode("utf-8", "surrogateescape").split("\0") if "." in key}
        return [
            (f"{name}.{part}", value)
            for name in sorted(names)
            for part, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
        ]


def names_of(output: bytes) -> list[str]:
    """The names in a list that git printed with `-z`; bytes that are no UTF-8 are escaped as the file system's are."""
    return output.decode("utf-8", "surrogateescape").split("\0")[:-1]


def common_dir(git_dir: Path) -> Path:
    """The git directory that a worktree's own belongs to."""
    return git_dir / text_at(git_dir / "commondir")


def text_at(path: Path) -> str:
    """A line that git keeps in a file; empty where there is no such file, or it is no UTF-8."""
    try:
        return path.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _is_near(root: Path) -> bool:
    """Whether there can be a repository: git need not be started to learn that there is none."""
    try:
        return (root / "HEAD").exists() or any((each / ".git").exists() for each in (root, *root.parents))
    except OSError:
        return True


def _copy_index(source: Path, target: Path) -> None:
    """With its time, by which git tells which files may have changed since it was written."""
    with source.open("rb") as opened:
        target.write_bytes(opened.read())
        written = os.fstat(opened.fileno())
    os.utime(target, ns=(written.st_atime_ns, written.st_mtime_ns))


def _environment(settings: Iterable[tuple[str, str]]) -> dict[str, str]:
    pairs = list(settings)
    env = {**config.child_environment(), **QUIET, "GIT_CONFIG_COUNT": str(len(pairs))}
    for number, (key, value) in enumerate(pairs):
        env[f"GIT_CONFIG_KEY_{number}"], env[f"GIT_CONFIG_VALUE_{number}"] = key, value
    return env
