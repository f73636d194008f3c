"""File versions that a team server has, asked for by key before anything is parsed here.

A key is a hash of path, content and reader: a file that somebody's worker has read, on whatever branch and in whatever
repository that the token may read, is not read again. It is asked for where many files are new at once: a branch that
was checked out, a large pull, a fork. A server that is away, or lacks them, costs a request; the rest is parsed here.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec
import zstandard

from codecairn.cancel import Cancel
from codecairn.index.digest import LARGEST_FILE, blob_id, reader_version
from codecairn.index.run import Run
from codecairn.parse.language import language_of, languages
from codecairn.source.file_content import Skip, classify, read_text
from codecairn.source.git_objects import TreeEntry
from codecairn.store.file_version import FileVersion, unpack_version, version_id
from codecairn.team_client import TeamAway, TeamClient, TeamRefused
from codecairn.team_wire import MOST_KEYS, VERSIONS_PATH, KeysAsked, SentVersion

log = logging.getLogger("codecairn.index")

WORTH_ASKING = 16
"""Files. To parse fewer takes no longer than to ask."""


def fetch_versions(team: TeamClient, keys: Sequence[int], cancel: Cancel) -> Iterator[list[FileVersion]]:
    """The versions of these keys that the team server has for us, some at a time."""
    for start in range(0, len(keys), MOST_KEYS):
        cancel.check()
        asked = KeysAsked(remote=team.remote, keys=list(keys[start : start + MOST_KEYS]))
        try:
            sent = msgspec.msgpack.decode(team.post(VERSIONS_PATH, msgspec.json.encode(asked)), type=list[SentVersion])
            found = [version for each in sent if (version := _open(each)) is not None]
        except (TeamAway, TeamRefused, msgspec.MsgspecError, zstandard.ZstdError) as error:
            log.info("no versions came from the team server: %s", error)
            return
        if not found:  # it reads files in another way, or has nothing of this
            return
        yield found


def _open(sent: SentVersion) -> FileVersion | None:
    """The version, if it is of the path, content and reader that its key stands for."""
    version = unpack_version(sent.content)
    reader = reader_version(languages().get(version.language))
    if version.id != sent.key or version_id(version.path, version.blob, reader) != sent.key:
        return None
    return msgspec.structs.replace(version, on_branch=sent.on_branch)


def take_for_files(run: Run, prefix: str, paths: Sequence[str]) -> int:
    """Take the versions of these files of the working tree that are new here; returns how many there were."""
    if run.source.fetch is None or run.anew or len(paths) < WORTH_ASKING:
        return 0
    return _take(run, {key for path in paths if (key := _key_of_file(run, prefix, path)) is not None})


def take_for_entries(run: Run, prefix: str, entries: Mapping[str, TreeEntry]) -> int:
    """The same for entries of a commit's tree."""
    if run.source.fetch is None or run.anew or len(entries) < WORTH_ASKING:
        return 0
    keys = (_key_of_entry(prefix + path, each) for path, each in entries.items())
    return _take(run, {key for key in keys if key is not None})


def _key_of_file(run: Run, prefix: str, path: str) -> int | None:
    run.cancel.check()
    content = read_text(run.source.root, path, LARGEST_FILE)
    if isinstance(content, Skip) or classify(path, content.text):
        return None
    reader = reader_version(language_of(path, content.text))
    return version_id(prefix + path, blob_id(content.raw, run.algorithm()), reader)


def _key_of_entry(path: str, entry: TreeEntry) -> int | None:
    """None where only its text tells the language."""
    language = language_of(path)
    return version_id(path, bytes.fromhex(entry.id), reader_version(language)) if language is not None else None


def _take(run: Run, keys: Collection[int]) -> int:
    assert run.source.fetch is not None
    lacking = sorted(set(keys) - run.store.keys())
    if len(lacking) < WORTH_ASKING:
        return 0
    count = 0
    for part in run.source.fetch(lacking, run.cancel):
        with run.target.lexical.writing() as writing:
            run.target.receive(writing, part)
        count += len(part)
    if count:
        log.info("%d of %d file versions came from the team server", count, len(lacking))
    return count
