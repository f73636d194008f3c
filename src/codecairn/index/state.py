"""State that travels: what is indexed of a repository's commits, taken to a clone of it on another machine.

What is taken along is what refs show; a working tree is its own machine's affair. A version of a file is known by its
path, its content and the version of what read it, so on the other side only what differs is read: the run that follows
an import finds nearly every file by its hash. It finds the refs moved, gone or read by another version of Cairn as any
run does, and brings them up to date. So an archive may be old, and is never wrong.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from codecairn import __version__
from codecairn.cancel import Cancel
from codecairn.clock import iso_seconds
from codecairn.errors import CairnError, IndexIncompatible, InvalidInput, NotReady
from codecairn.index.digest import reader_versions
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options, Progress, ignore_progress
from codecairn.source.refs import Tip, commit_of, first_commits, has_commit, remote_of
from codecairn.store import archive, folders, portable
from codecairn.store.archive import Manifest, Origin, Ref
from codecairn.store.database import IndexStore
from codecairn.store.layers import Layer
from codecairn.store.lexical import Lexical
from codecairn.store.schema import SCHEMA
from codecairn.store.vector_segments import Segments

_PATIENCE_S = 30.0
Notes = Mapping[str, bytes]
"""The records of people, by the name of the member that holds them."""


class Exported(Struct, frozen=True, kw_only=True):
    manifest: Manifest
    size: int
    warnings: list[str]


class Imported(Struct, frozen=True, kw_only=True):
    manifest: Manifest
    notes: dict[str, bytes]
    files_read: int
    """Files that had to be read and taken apart, since the archive did not know them."""
    warnings: list[str]


class Adopted(NamedTuple):
    """What an archive brought, and what this machine had before it."""

    manifest: Manifest
    notes: dict[str, bytes]
    options: Options
    known: set[str]


def export_state(
    index: ProjectIndex,
    path: Path,
    cancel: Cancel,
    progress: Progress = ignore_progress,
    notes: Notes = MappingProxyType({}),
) -> Exported:
    """Bring the index up to date, and write what it has of commits. Notes are put beside it as they are."""
    index.git.layout(cancel)
    report = index.index(_options(index), force=False, cancel=cancel, progress=progress)
    with folders.workplace(index.home) as folder:
        copy = _copy(index, folder)
        try:
            manifest = _describe(index, copy, cancel)
            portable.write_documents(copy, folder / "lexical", partial(_tell, progress, cancel, "Writing"))
        finally:
            copy.close()
        step = partial(_tell, progress, cancel, "Packing")
        manifest = archive.write(path, manifest, folder, notes, step)
    return Exported(manifest=manifest, size=path.stat().st_size, warnings=report.warnings)


def _copy(index: ProjectIndex, folder: Path) -> IndexStore:
    with index.lock.hold("exporting", patience=_PATIENCE_S):
        opened = index.open_index()
        assert opened is not None, "it was indexed this moment"
        return portable.copy_committed(opened.store, folder)


def _describe(index: ProjectIndex, copy: IndexStore, cancel: Cancel) -> Manifest:
    layers = portable.refs_of(copy)
    base = next((layer for layer in layers if layer.base is None), None)
    if base is None:
        raise NotReady("Nothing of this repository is committed", remedy="Commit first: state is what commits hold.")
    origin = Origin(
        first_commits=first_commits(index.git, base.head, cancel), shallow=index.git.layout(cancel).shallow,
        remote=folders.public_remote(remote_of(index.git, cancel)),
    )  # fmt: skip
    return Manifest(
        format=archive.FORMAT, schema=SCHEMA, product=__version__, readers=reader_versions(),
        encoders=[each.encoder for each in Segments(copy).all()], repository=origin, default_branch=base.name,
        refs=list(map(_ref, layers)), created=iso_seconds(),
    )  # fmt: skip


def _ref(layer: Layer) -> Ref:
    return Ref(name=layer.name, commit=layer.head, scope=layer.scope, is_default=layer.base is None)


def _tell(progress: Progress, cancel: Cancel, doing: str, done: int, total: int) -> None:
    cancel.check()
    progress(done, total, doing)


def import_state(
    index: ProjectIndex, path: Path, cancel: Cancel, progress: Progress = ignore_progress,
    look_at: Callable[[Notes], object] = lambda _: None,
) -> Imported:  # fmt: skip
    """Put an archive in the place of the index, then bring it up to date with what is on this machine."""
    taken = adopt_state(index, path, cancel, progress, look_at)
    report = index.index(taken.options, force=False, cancel=cancel, progress=progress)
    warnings = report.warnings + _index_again(index, taken.options, taken.known, cancel)
    return Imported(
        manifest=taken.manifest, notes=taken.notes, files_read=report.files_indexed, warnings=warnings
    )  # fmt: skip


def adopt_state(
    index: ProjectIndex, path: Path, cancel: Cancel, progress: Progress = ignore_progress,
    look_at: Callable[[Notes], object] = lambda _: None,
) -> Adopted:  # fmt: skip
    """Put an archive in the place of the index; the next run brings it up to date. `look_at` is given the notes before
    anything is changed, and refuses the archive by raising."""
    with archive.open_archive(path) as found:
        _check(index, found.manifest, cancel)
        with index.lock.hold("importing", patience=_PATIENCE_S):
            known = index.ref_names()
            options = _options(index, found.manifest)
            notes = _put_in_use(index, found, look_at, partial(_tell, progress, cancel, "Unpacking"))
    return Adopted(found.manifest, notes, options, known)


def _put_in_use(
    index: ProjectIndex, found: archive.Archive, look_at: Callable[[Notes], object], step: archive.Step
) -> dict[str, bytes]:
    """Nobody sees the new folder before it is whole and was looked at."""
    folders.sweep(index.folder)
    epoch = folders.new_epoch(index.folder)
    try:
        notes = found.unpack(epoch, step)
        _check_unpacked(epoch, found.manifest)
        look_at(notes)
        folders.use_epoch(index.folder, epoch)
        index.damage.vouch(epoch)  # its seal was compared on the way
    finally:
        if folders.current_epoch(index.folder) != epoch:
            shutil.rmtree(epoch, ignore_errors=True)
    return notes


def _check(index: ProjectIndex, manifest: Manifest, cancel: Cancel) -> None:
    if manifest.schema != SCHEMA:
        is_newer = manifest.schema > SCHEMA
        raise IndexIncompatible(
            f"The archive's index is of schema {manifest.schema}, written by Cairn {manifest.product}; this is "
            f"Cairn {__version__} with schema {SCHEMA}",
            remedy="Update Cairn, then import it." if is_newer else "Export it again with this version.",
        )
    if not _is_of_this_repository(index, manifest, cancel):
        raise InvalidInput(
            "The archive is of another repository: none of the commits it begins with is here", param="path",
            reason="another repository", remote=manifest.repository.remote,
            remedy="Name the clone it belongs to with --workspace.",
        )  # fmt: skip


def _is_of_this_repository(index: ProjectIndex, manifest: Manifest, cancel: Cancel) -> bool:
    """By the first commits; where a shallow clone has others than the history, by its refs' commits or the remote."""
    git, origin = index.git, manifest.repository
    is_shallow = git.layout(cancel).shallow
    if any(has_commit(git, commit, cancel) for commit in origin.first_commits):
        return True
    if not is_shallow and not origin.shallow:
        return False
    is_same_remote = origin.remote != "" and origin.remote == folders.public_remote(remote_of(git, cancel))
    return is_same_remote or any(has_commit(git, ref.commit, cancel) for ref in manifest.refs)


def _check_unpacked(epoch: Path, manifest: Manifest) -> None:
    portable.check_foreign(epoch)
    store = IndexStore(epoch)
    try:
        if set(map(_ref, portable.refs_of(store))) != set(manifest.refs):
            raise archive.refusal("its index has other refs than it says")
        Lexical(epoch / "lexical").searcher()
    finally:
        store.close()


def _options(index: ProjectIndex, manifest: Manifest | None = None) -> Options:
    """As this folder was last indexed; else as the archive's refs were of the same folder in the repository."""
    with contextlib.suppress(CairnError):  # a damaged index is about to be replaced
        if (layer := index.checkout()) is not None:
            return Options(layer.tests, layer.vendor)
    prefix = index.git.layout(Cancel()).prefix
    scopes = [ref.scope for ref in manifest.refs if ref.is_default] if manifest else []
    scope = next((each for each in scopes if each.partition(":")[2] == prefix), "t-:")
    return Options(tests=scope.startswith("t"), vendor=scope[1:2] == "v")


def _index_again(index: ProjectIndex, options: Options, known: set[str], cancel: Cancel) -> list[str]:
    """Refs that were indexed here and are not in the archive."""
    warnings = []
    for name in sorted(known - index.ref_names()):
        commit = commit_of(index.git, name, cancel)
        if commit is not None:
            report = index.index(options, force=False, cancel=cancel, ref=Tip(name, commit))
            warnings += report.warnings
    return warnings
