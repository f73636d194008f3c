"""The status of an index at this moment: looked at, not assumed.

`fresh` is a promise: what was done to the files before the question is in the answer. While a watcher that tells of a
change from the moment it is made is alive and has nothing in hand, the files are as they were indexed, and HEAD is
compared by reading it. Otherwise the files are listed and their stamps compared, every time; where that takes too long
to be done every time, nothing is called fresh meanwhile.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from codecairn.cancel import Cancel
from codecairn.errors import CairnError, IndexIncompatible, NotARepository, OverlayNotReady, RefNotFound
from codecairn.index.run import Options
from codecairn.paths import printable
from codecairn.source.file_content import ListedFile, Skip, read_text
from codecairn.source.refs import Tip, commit_of, default_branch, tip_of
from codecairn.store.database import Entry
from codecairn.store.layers import Layer, Scope
from codecairn.store.open_index import OpenIndex
from codecairn.text import number_of

if TYPE_CHECKING:
    from codecairn.index.project_index import ProjectIndex

PROTOCOL_VERSION = "1.0"
LIVE = "live"
"""The name of the working tree where a ref may be named."""
_INTERRUPTED = "The first index run was interrupted, and some files are missing: index_codebase reads the rest."
_LONG_LOOK_S = 1.0
_LOOK_SHARE = 10.0
"""A look that took so long is not repeated for so many times as long: on a slow disk it would be all that is done."""
_NOT_LOOKED_AT = (
    "Nobody watches this project's files, and comparing them all takes too long to be done for every answer: "
    "it is called stale, and may be fresh."
)

Freshness = Literal["fresh", "stale", "syncing"]
FRESHNESS: tuple[Freshness, ...] = ("fresh", "syncing", "stale")
"""The best first."""
Indexing = Literal["not_indexed", "indexing", "ready", "failed"]
Schema = Literal["compatible", "not_indexed", "reindex_required", "corrupt_manifest"]


class IndexStatus(Struct, frozen=True):
    freshness: Freshness
    indexing: Indexing
    schema: Schema
    ref: str
    opened: OpenIndex | None = None
    layer: Layer | None = None
    warnings: list[str] = []
    has_database: bool = True
    has_text: bool = True
    """Which of the stores can be read; both, unless the index is damaged."""
    lacks_files: bool = False
    """Whether the clone lacks contents that the ref has."""

    @property
    def is_partial(self) -> bool:
        return self.layer is None or not self.layer.complete or self.lacks_files

    @property
    def is_interrupted(self) -> bool:
        """Whether the first run ended before it had been through every file, and nobody is at work on the rest."""
        return self.layer is not None and not self.layer.complete and self.indexing == "failed"

    def metadata(self, completeness: Literal["complete", "truncated"] = "complete") -> dict[str, object]:
        said: dict[str, object] = {
            "cruxe_protocol_version": PROTOCOL_VERSION, "freshness_status": self.freshness,
            "indexing_status": self.indexing,
            "result_completeness": "partial" if self.is_partial else completeness,
            "ref": self.ref, "schema_status": self.schema,
        }  # fmt: skip
        return {**said, "warnings": self.warnings} if self.warnings else said


def index_status(index: ProjectIndex, cancel: Cancel, asked: str | None = None) -> IndexStatus:
    """How the working tree's index stands, or that of a ref."""
    index.on_use(index)
    if asked is not None and asked != LIVE:
        return _standing_of_ref(index, asked, cancel)
    ref = index.source.ref(cancel)
    # Asked before anything is read, so that what ends meanwhile is read.
    is_writing = index.activity is not None or index.is_behind or index.owner() is not None
    try:
        opened = index.open_index()
        layer = opened.store.checkout(str(index.root)) if opened else None
        if opened is not None:
            opened.lexical.searcher()
    except IndexIncompatible as error:
        return unusable_status(index, error, ref)
    if isinstance(index.failure, IndexIncompatible) and index.activity is None:  # a check found it damaged all over
        return unusable_status(index, index.failure, ref)
    warnings = index.warnings()
    if layer is None or opened is None:
        indexing: Indexing = "indexing" if is_writing else "failed" if index.failure else "not_indexed"
        freshness: Freshness = "syncing" if is_writing else "stale"
        found = IndexStatus(freshness, indexing, "not_indexed", ref, opened, warnings=warnings)
    elif is_writing:
        indexing = "ready" if layer.complete else "indexing"
        found = IndexStatus("syncing", indexing, "compatible", ref, opened, layer, warnings)
    else:
        is_fresh, remarks = _compare(index, opened, layer, cancel) if layer.complete else (False, [_INTERRUPTED])
        freshness = "fresh" if is_fresh and not index.damage.is_known else "stale"
        indexing = "ready" if layer.complete else "failed"
        found = IndexStatus(freshness, indexing, "compatible", ref, opened, layer, [*warnings, *remarks])
    if found.freshness == "stale" and index.keeping is not None:
        index.keeping.look_again()
    return found


def _standing_of_ref(index: ProjectIndex, asked: str, cancel: Cancel) -> IndexStatus:
    """It is as fresh as the ref's own commit; the files of the working tree have no say."""
    try:
        opened = index.open_index()
        layer = find_ref(index, opened, asked, cancel)
        assert opened is not None
        opened.lexical.searcher()
    except IndexIncompatible as error:
        return unusable_status(index, error, asked)
    warnings = index.warnings()
    if index.activity is not None and index.activity.ref is not None and index.activity.ref.name == layer.name:
        return IndexStatus("syncing", "ready", "compatible", layer.name, opened, layer, warnings)
    tip = commit_of(index.git, asked, cancel)
    if tip is None:
        warnings = [*warnings, f"{printable(asked)} is gone from the repository; this is what it was."]
    elif tip != layer.head and index.keeping is not None:
        index.keeping.look_again()
    files, folders = opened.store.reasons(layer.id).get(Skip.LACKING, 0), layer.excluded.get(Skip.LACKING, 0)
    lacking = " and ".join(number_of(count, noun) for count, noun in ((files, "file"), (folders, "folder")) if count)
    if lacking:
        warnings = [*warnings, f"{lacking} of {printable(asked)} could not be read: not in this clone"]
    is_behind = index.source.is_behind is not None and index.source.is_behind()
    # Another process may be laying it at this moment, and a run that was killed left it so: what is found first depends
    # on counts that come last.
    is_whole = tip == layer.head and layer.is_counted
    freshness: Freshness = "fresh" if is_whole and not is_behind else "stale"
    return IndexStatus(
        freshness, "ready", "compatible", layer.name, opened, layer, warnings, lacks_files=bool(lacking)
    )  # fmt: skip


def scope_of(index: ProjectIndex, opened: OpenIndex, cancel: Cancel) -> Scope:
    """Which of the repository's files the project is about, as it was last indexed."""
    folder = opened.store.checkout(str(index.root))
    return folder.within if folder is not None else Scope(index.source.prefix(cancel))


def find_ref(index: ProjectIndex, opened: OpenIndex | None, asked: str, cancel: Cancel) -> Layer:
    """The layer of a ref: under its name, or under another of the same commit."""
    layers = opened.store.refs(scope_of(index, opened, cancel).key) if opened is not None else []
    by_name = {layer.name: layer for layer in layers}
    if asked in by_name:
        return by_name[asked]
    try:
        tip = tip_of(index.git, asked, cancel)
    except NotARepository as error:
        raise RefNotFound(
            f"Not a git repository, so there is no ref {printable(asked)}", ref=printable(asked),
            remedy="Leave ref out, or give `live`: the files as they are.",
        ) from error  # fmt: skip
    same = by_name.get(tip.name) or next((layer for layer in layers if layer.head == tip.commit), None)
    if same is not None:
        return same
    raise _not_indexed(index, tip, cancel)


def _not_indexed(index: ProjectIndex, tip: Tip, cancel: Cancel) -> CairnError:
    under_way = index.activity
    is_coming = under_way is not None and (under_way.is_whole or under_way.ref == tip)
    first = default_branch(index.git, cancel)
    if is_coming and tip.name in (first.name if first else "", index.git.branch(cancel)):
        return OverlayNotReady(f"{tip.name} is being indexed", ref=tip.name)
    return RefNotFound(
        f"Not indexed: {printable(tip.name)}", ref=tip.name, commit=tip.commit,
        remedy=f"Call index_codebase with path {index.root} and ref {printable(tip.name)}, then call again.",
    )  # fmt: skip


def unusable_status(index: ProjectIndex, error: IndexIncompatible, ref: str) -> IndexStatus:
    """How an index stands that cannot be read."""
    said = [f"{error.message}. {error.remedy}"]
    if not error.data.get("damaged"):
        return IndexStatus("stale", "failed", "reindex_required", ref, warnings=said)
    database, text = index.readable()
    return IndexStatus("stale", "failed", "corrupt_manifest", ref, warnings=said, has_database=database, has_text=text)


def _compare(index: ProjectIndex, opened: OpenIndex, layer: Layer, cancel: Cancel) -> tuple[bool, list[str]]:
    """Whether it is fresh, and what to say where that is not known."""
    behind = index.source.is_behind
    if index.is_watching or behind is not None:
        return layer.head == index.source.head(cancel) and not (behind and behind()), []
    began = time.monotonic()
    if began < index.looks_again_at:
        return False, [_NOT_LOOKED_AT]
    same = is_unchanged(index, opened, layer, cancel)
    took = time.monotonic() - began
    if took > _LONG_LOOK_S:
        index.looks_again_at = began + took * _LOOK_SHARE
    return same, []


def is_unchanged(index: ProjectIndex, opened: OpenIndex, layer: Layer, cancel: Cancel) -> bool:
    """Whether the files are, by their stamps, those that were indexed."""
    if layer.head != index.source.head(cancel):
        return False
    files = files_now(index, layer, cancel)
    if files == opened.store.stamps(layer.id):  # in one comparison, where no file is too young for its stamp
        return True
    known = opened.store.manifest(layer.id)
    if len(files) != len(known):
        return False
    return all(_is_same(index, opened, found, known.get(found.path)) for found in files)


def files_now(index: ProjectIndex, layer: Layer, cancel: Cancel) -> list[ListedFile]:
    """The files that a run with the same options would index at this moment."""
    return index.source.list_files(cancel, Options(layer.tests, layer.vendor)).files


def _is_same(index: ProjectIndex, opened: OpenIndex, found: ListedFile, entry: Entry | None) -> bool:
    if entry is None or entry.stat == found[1:5]:
        return entry is not None
    if entry.stat.mtime_ns >= 0 or entry.stat.size != found.size:
        return False
    if entry.file is None:
        return entry.stat.ctime_ns == found.ctime_ns
    # Read when it was too young for its stamp to last: its content tells.
    from codecairn.index.digest import blob_id  # noqa: PLC0415 - for who has such a file, and not the parser for all

    blob = opened.store.blob(entry.file)
    content = read_text(index.root, found.path, found.size)
    return blob is not None and not isinstance(content, Skip) and blob_id(content.raw, _algorithm(blob)) == blob


def _algorithm(blob: bytes) -> str:
    return "sha1" if len(blob) == 20 else "sha256"
