"""File versions that were read elsewhere, taken into an index as if they had been read here.

Nobody sees them before a run names them. The run that follows finds each by its path and content and parses nothing;
one that is not taken, or is of another reader, is parsed as ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codecairn.cancel import Cancel
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Target
from codecairn.store import folders
from codecairn.store.file_version import FileVersion
from codecairn.store.open_index import OpenIndex

_PATIENCE_S = 30.0


def known_keys(index: ProjectIndex) -> set[int]:
    """The ids of every version that is whole here, whether or not anything names it."""
    opened = index.open_index()
    return opened.store.keys() if opened is not None else set()


def receive(index: ProjectIndex, parts: Iterable[Sequence[FileVersion]], cancel: Cancel) -> int:
    """Write versions, a part at a time; returns how many."""
    from codecairn.index.embedding import Vectors  # noqa: PLC0415 - numpy takes longer to import than a word to find

    count = 0
    with index.lock.hold("receiving", patience=_PATIENCE_S):
        opened = index.open_index() or _create(index)
        encoder = next(iter(index.encoders()), None)
        vectors = Vectors(opened.store, opened.folder, encoder, cancel) if encoder else None
        target = Target(opened.store, opened.lexical, vectors)
        with opened.lexical.writing() as writing:
            for part in parts:
                cancel.check()
                target.receive(writing, part)
                count += len(part)
    return count


def _create(index: ProjectIndex) -> OpenIndex:
    epoch = folders.new_epoch(index.folder)
    OpenIndex.create(epoch).store.close()
    folders.use_epoch(index.folder, epoch)
    opened = index.open_index()
    assert opened is not None, "it was made this moment"
    return opened
