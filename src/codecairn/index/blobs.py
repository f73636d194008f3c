"""Entries of a commit's tree, read into versions: those known by path and blob without looking at their content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from codecairn.index.batch import Batch
from codecairn.index.digest import LARGEST_FILE, Outcome, reader_version
from codecairn.index.run import Run
from codecairn.index.team_versions import take_for_entries
from codecairn.index.worker_pool import jobs_for
from codecairn.parse.language import languages
from codecairn.source.file_content import Skip
from codecairn.source.git_errors import name_first_few
from codecairn.source.git_objects import Blob, Missing, TooLarge, TreeEntry, blobs
from codecairn.store import database as store_index
from codecairn.store.file_version import version_id
from codecairn.store.ref_writer import NO_STAMP
from codecairn.store.writer import Content

_ROUND_BYTES = 8 << 20
"""Of blobs in memory at a time."""


def read_entries(run: Run, prefix: str, entries: Mapping[str, TreeEntry], *, on_branch: bool = False) -> Content:
    """Read these entries, by path, for a layer to name; versions that were not known are written, and unseen."""
    known = {} if run.anew else _find_known(run, prefix, entries)
    left_out = _find_left_out(run, entries)
    lacking = {path: entry for path, entry in entries.items() if path not in known and path not in left_out}
    if take_for_entries(run, prefix, lacking):
        known |= _find_known(run, prefix, lacking)
    unread = {path: entry for path, entry in lacking.items() if path not in known}
    if not unread and not run.store.unsearchable(list(known.values())):
        named = [store_index.Entry(path, file, "", "", NO_STAMP) for path, file in known.items()]
        named += [store_index.Entry(path, None, reason, "", NO_STAMP) for path, reason in left_out.items()]
        return Content(entries=named)
    with run.target.lexical.writing() as writing:
        batch = Batch(run, writing, on_branch=on_branch)
        for path, file in known.items():
            batch.take(Outcome(path, known=file), NO_STAMP)
        for path, reason in left_out.items():
            batch.take(Outcome(path, reason=reason), NO_STAMP)
        for outcome in _digest(run, prefix, unread):
            batch.take(outcome, NO_STAMP)
        return batch.finish()


def _find_known(run: Run, prefix: str, entries: Mapping[str, TreeEntry]) -> dict[str, int]:
    """The versions that these very contents have, as they would be read today."""
    pairs = {prefix + path: bytes.fromhex(entry.id) for path, entry in entries.items()}
    found = {}
    for path, blob, file, language in run.store.versions_of(pairs):
        if version_id(path, blob, reader_version(languages().get(language))) == file:
            found[path.removeprefix(prefix)] = file
    return found


def _find_left_out(run: Run, entries: Mapping[str, TreeEntry]) -> dict[str, str]:
    """Why these very contents are not indexed, as the run found in the working tree: 2,700 files of Django are data or
    no text, and reading them again, from git, took a twentieth of its processor time."""
    seen = ((path, run.left_out.get(path), entry) for path, entry in entries.items())
    return {path: told[1] for path, told, entry in seen if told is not None and told[0].hex() == entry.id}


def _digest(run: Run, prefix: str, entries: Mapping[str, TreeEntry]) -> Iterator[Outcome]:
    algorithm = run.algorithm()
    done = 0
    for contents in _rounds(run, entries):
        readable = {path: blob for path, blob in contents.items() if isinstance(blob, bytes)}
        for path in sorted(contents.keys() - readable.keys()):
            yield Outcome(path, reason=_reason(contents[path]))
        _warn(run, sorted(path for path, blob in contents.items() if isinstance(blob, Missing)))
        jobs = jobs_for(run.source.root, prefix, algorithm, readable, run.versions_at(prefix, readable), readable)
        for outcome in run.workers.outcomes(jobs, run.cancel) if jobs else ():
            done += 1
            run.progress(done, len(entries), outcome.path)
            yield outcome


def _rounds(run: Run, entries: Mapping[str, TreeEntry]) -> Iterator[dict[str, Blob]]:
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
            f"The repository lacks the content of {name_first_few(lacking)}: "
            "it is a partial clone, or damaged. Fetch it "
            "yourself (git fetch --refetch --no-filter), or run `git fsck`; then index with force"
        )


def _reason(blob: Blob) -> str:
    if isinstance(blob, Missing):
        return Skip.LACKING
    return Skip.TOO_LARGE if isinstance(blob, TooLarge) else Skip.SPECIAL
