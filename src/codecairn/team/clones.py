"""The clones of one machine, and what is done to each: fetched, set to published refs, indexed.

    team/clones/ID/lock       held by who changes the clone: a worker, or a node's replication
    team/clones/ID/NAME/      the clone itself; its folder has the repository's last name, as a developer's has
    team/clones/ID/shown      the publication that the clone and its index are at, as a digest; not there while either
                              is changed, so that a node that starts again need not look at the files first

A worker and a node on one machine share clones. A worker holds the lock from the fetch to the publication, so that a
node never sees, nor sets back, what is not published yet.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from blake3 import blake3

from codecairn import __version__
from codecairn.cancel import Cancel
from codecairn.config import Settings, data_folder
from codecairn.errors import CairnError
from codecairn.index.digest import reader_versions
from codecairn.index.received_versions import known_keys, receive
from codecairn.index.run import Options
from codecairn.project import Project
from codecairn.source import remote_git
from codecairn.source.refs import Tip
from codecairn.source.remote_git import RemoteRefs
from codecairn.store import folders
from codecairn.store.writer_lock import WriterLock
from codecairn.team.permissions import matches_glob
from codecairn.team.repositories import PublishedRef, TeamRepository
from codecairn.team.versions import Versions

_COMPARE_EVERY_S = 3600.0
"""To compare every checksum of an index of 760,000 lines takes 0.4 s, as long as the rest of a small run."""
TAG = "refs/tags/"
"""Before the name of a published ref that is a tag."""


class Clone:
    """One repository on this machine. Whoever changes it holds the lock."""

    def __init__(
        self, repository: TeamRepository, folder: Path, settings: Settings, compared: dict[Path, float]
    ) -> None:
        self.repository = repository
        self.folder = folder
        self.root = _root_in(folder, repository)
        self._lock = WriterLock(folder / "lock")
        self._shown = folder / "shown"
        self._compared = compared
        self._settings = replace(settings, git_timeout=max(settings.git_timeout, 300.0))

    @contextmanager
    def holding(self, doing: str, patience: float) -> Iterator[bool]:
        folders.make_private_folder(self.folder)
        with self._lock.holding(doing, patience=patience) as had:
            yield had

    def open(self) -> Project:
        """Its handles, for who changes it."""
        return Project(self.root, self._settings, repository=self.repository.name, is_behind=lambda: False)

    def fetch(self, cancel: Cancel) -> RemoteRefs:
        url = self.repository.url
        git = remote_git.ensure_clone(self.root, folders.public_remote(url) or url, cancel)
        return remote_git.fetch(git, url, cancel)

    def show(self, default: str, refs: Iterable[PublishedRef], cancel: Cancel) -> None:
        """Set branches, tags and files to published commits, fetching what is not here."""
        url, listed = self.repository.url, list(refs)
        self._shown.unlink(missing_ok=True)
        git = remote_git.ensure_clone(self.root, folders.public_remote(url) or url, cancel)
        commits = {each.name: each.commit for each in listed}
        if remote_git.lacks(git, commits, cancel):
            remote_git.fetch(git, url, cancel)
        tags = {name.removeprefix(TAG): commit for name, commit in commits.items() if name.startswith(TAG)}
        branches = {name: commit for name, commit in commits.items() if not name.startswith(TAG)}
        remote_git.set_refs(git, default, branches, tags, cancel)

    def note_shown(self, default: str, refs: Iterable[PublishedRef]) -> None:
        """The clone and its index are at this publication."""
        self._shown.write_text(_digest(default, refs), encoding="utf-8")

    def is_at(self, default: str, refs: Iterable[PublishedRef]) -> bool:
        """Whether the clone and its index were left at this publication, by this version of Cairn."""
        try:
            return self._shown.read_text(encoding="utf-8") == _digest(default, refs)
        except OSError:
            return False

    def take_versions(self, project: Project, versions: Versions, refs: Iterable[PublishedRef], cancel: Cancel) -> int:
        """Take the versions that the record has and this machine lacks, if they are of this machine's readers."""
        if all(each.readers != reader_versions() for each in refs):
            return 0
        held, known = versions.keys_of(self.repository.id), known_keys(project.index)
        lacking = {key: on_branch for key, on_branch in held.items() if key not in known}
        return receive(project.index, versions.take(lacking), cancel) if lacking else 0

    def index(self, project: Project, default: str, refs: Iterable[PublishedRef], cancel: Cancel) -> int:
        """Bring the index to what the clone shows; returns how many files had to be parsed."""
        self._vouch(project)
        report = project.index.index(Options(), force=False, cancel=cancel)
        parsed = report.files_indexed
        for each in refs:
            if each.name != default:
                tip = Tip(_short(each.name), each.commit)
                parsed += project.index.index(Options(), force=False, cancel=cancel, ref=tip).files_indexed
        return parsed

    def _vouch(self, project: Project) -> None:
        """An index whose checksums were compared lately is not compared again by the next run."""
        epoch, now = folders.current_epoch(project.index.folder), time.monotonic()
        if epoch is None or project.index.damage.is_known:
            return
        if now - self._compared.get(epoch, -_COMPARE_EVERY_S) < _COMPARE_EVERY_S:
            project.index.damage.vouch(epoch)
        else:
            self._compared[epoch] = now

    def named_versions(self, project: Project, refs: Iterable[PublishedRef]) -> dict[int, bool]:
        opened = project.index.open_index()
        if opened is None:
            raise CairnError("Nothing was indexed")
        return opened.store.named_by_refs(_short(each.name) for each in refs)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _root_in(folder: Path, repository: TeamRepository) -> Path:
    return folder / repository.name.rpartition("/")[2]


def _digest(default: str, refs: Iterable[PublishedRef]) -> str:
    published = "\n".join("\0".join(each) for each in sorted(refs))
    return blake3(f"{__version__}\n{reader_versions()}\n{default}\n{published}".encode()).hexdigest()


def _short(name: str) -> str:
    return name.removeprefix(TAG)


def choose_refs(remote: RemoteRefs, globs: Iterable[str]) -> tuple[str, list[PublishedRef]]:
    """The default branch, and the refs that are published: it, and the branches and tags that a glob matches."""
    listed, readers = list(globs), reader_versions()
    default = remote.default if remote.default in remote.branches else next(iter(sorted(remote.branches)), "")
    if not default:
        raise CairnError("The repository has no branch", remedy="Push a commit.")
    names = {default, *_matching(remote.branches, listed)}
    branches = [PublishedRef(name, remote.branches[name], readers) for name in sorted(names)]
    tags = sorted(set(_matching(remote.tags, listed)) - names)
    return default, [*branches, *(PublishedRef(f"{TAG}{name}", remote.tags[name], readers) for name in tags)]


def _matching(names: Mapping[str, str], globs: Iterable[str]) -> list[str]:
    return [name for glob in globs for name in names if matches_glob(name, glob)]


class Clones:
    """Every clone of this machine."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._compared: dict[Path, float] = {}
        """When the checksums of each index were last compared by this process."""
        self._folder = folders.make_private_folder(data_folder(settings) / "team" / "clones")

    def at(self, repository: TeamRepository) -> Clone:
        return Clone(repository, self._folder / str(repository.id), self._settings, self._compared)

    def root_of(self, repository: TeamRepository) -> Path:
        return _root_in(self._folder / str(repository.id), repository)

    def forget(self, known: set[int]) -> None:
        """Remove the clones of repositories that are no more."""
        for each in self._folder.iterdir() if self._folder.is_dir() else ():
            if each.name.isdigit() and int(each.name) not in known:
                shutil.rmtree(each, ignore_errors=True)
