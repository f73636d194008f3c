"""Entries of a commit's tree, read into versions: those known by path and blob without looking at their content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from codecairn.index.batch import Batch, Last
from codecairn.index.digest import LARGEST_FILE, Outcome, reader_version
from codecairn.index.pool import jobs_for
from codecairn.parse.language import languages
from codecairn.source.content import Skip
from codecairn.source.failures import listed
from codecairn.source.objects import Blob, Entry, Missing, TooLarge, blobs
from codecairn.store import index as store_index
from codecairn.store.layers import Layer
from codecairn.store.overlays import NO_STAMP
from codecairn.store.version import version_id

if TYPE_CHECKING:
    from codecairn.index.run import Run

_ROUND_BYTES = 8 << 20
"""Of blobs in memory at a time."""


def read_entries(run: Run, prefix: str, entries: Mapping[str, Entry], base: Layer | None = None) -> Last:
    """What a layer is to name for these entries, by path; versions that were not known are written, and unseen: as
    differences to what the base has, where one is given."""
    known = {} if run.anew else _known(run, prefix, entries)
    unread = {path: entry for path, entry in entries.items() if path not in known}
    if not unread and not run.store.unsearchable(list(known.values())):
        named = [store_index.Entry(path, file, "", "", NO_STAMP) for path, file in known.items()]
        return Last([], named, set(), None)
    with run.lexical.writing() as writing:
        batch = Batch(run, writing, bases=run.store.bases(base.id, unread) if base else None)
        for path, file in known.items():
            batch.take(Outcome(path, known=file), NO_STAMP)
        for outcome in _digested(run, prefix, unread):
            batch.take(outcome, NO_STAMP)
        return batch.finish()


def _known(run: Run, prefix: str, entries: Mapping[str, Entry]) -> dict[str, int]:
    """The versions that these very contents have, as they would be read today."""
    pairs = {prefix + path: bytes.fromhex(entry.id) for path, entry in entries.items()}
    found = {}
    for path, blob, file, language in run.store.versions_of(pairs):
        if version_id(path, blob, reader_version(languages().get(language))) == file:
            found[path.removeprefix(prefix)] = file
    return found


def _digested(run: Run, prefix: str, entries: Mapping[str, Entry]) -> Iterator[Outcome]:
    algorithm = run.algorithm()
    done = 0
    for contents in _rounds(run, entries):
        readable = {path: blob for path, blob in contents.items() if isinstance(blob, bytes)}
        for path in sorted(contents.keys() - readable.keys()):
            yield Outcome(path, reason=_reason(contents[path]))
        _warn(run, sorted(path for path, blob in contents.items() if isinstance(blob, Missing)))
        known = _by_path(run, prefix, readable)
        jobs = jobs_for(run.source.root, prefix, algorithm, readable, known, readable)
        for outcome in run.workers.outcomes(jobs, run.cancel) if jobs else ():
            done += 1
            run.progress(done, len(entries), outcome.path)
            yield outcome


def _by_path(run: Run, prefix: str, contents: Mapping[str, bytes]) -> dict[str, list[int]]:
    versions = {} if run.anew else run.store.versions_at(prefix + path for path in contents)
    return {path.removeprefix(prefix): ids for path, ids in versions.items()}


def _rounds(run: Run, entries: Mapping[str, Entry]) -> Iterator[dict[str, Blob]]:
    paths: dict[str, list[str]] = {}
    for path, entry in entries.items():
        paths.setdefault(entry.id, []).append(path)
    part: dict[str, Blob] = {}
    size = 0
    for id_, blob in blobs(run.source.git, paths, run.cancel, most_bytes=LARGEST_FILE):
        part |= dict.fromkeys(paths[id_], blob)
        size += len(blob) if isinstance(blob, bytes) else 0
        if size > _ROUND_BYTES:
            yield part
            part, size = {}, 0
    yield part


def _warn(run: Run, lacking: list[str]) -> None:
    if lacking:
        run.report.warnings.append(
            f"The repository lacks the content of {listed(lacking)}: it is a partial clone, or damaged. Fetch it "
            "yourself (git fetch --refetch --no-filter), or run `git fsck`; then index with force"
        )


def _reason(blob: Blob) -> str:
    if isinstance(blob, Missing):
        return Skip.LACKING
    return Skip.TOO_LARGE if isinstance(blob, TooLarge) else Skip.SPECIAL
