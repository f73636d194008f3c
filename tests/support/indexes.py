"""Everything an index says, as plain values: to hold one index against another, and one store against the other."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tantivy import Query

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options, Report
from codecairn.index.worker_pool import Workers
from codecairn.project import Project
from codecairn.store import folders
from codecairn.store.database import IndexStore
from codecairn.store.file_version import FileVersion, Links, decompress, unpack_lines
from codecairn.store.lexical import ANALYSED, Lexical
from codecairn.store.open_index import OpenIndex
from codecairn.store.tallies import find_miscounted
from codecairn.store.vector_segments import Segment, Segments, segments_in
from codecairn.store.vectors import VectorFiles

FIELDS = (*ANALYSED, "uses")

Snapshot = dict[str, Any]


class LastingWorkers(Workers):
    """A pool that projects may close as they please: starting a worker takes longer than a small index run."""

    def close(self) -> None:
        """Nothing: other projects go on with it."""

    def rest(self) -> None:
        """Nothing: the next project has it begin at once."""

    def end(self) -> None:
        super().close()


@contextmanager
def project_index(root: Path, home: Path, workers: Workers | None = None) -> Iterator[ProjectIndex]:
    index = Project(root, Settings(data=home)).index
    if workers is not None:
        index._workers = workers
    try:
        yield index
    finally:
        index.close()


def index_once(root: Path, home: Path, workers: Workers | None = None, *, force: bool = False) -> Report:
    """What `cairn index` does."""
    with project_index(root, home, workers) as index:
        return index.index(Options(), force=force, cancel=Cancel())


@contextmanager
def stores(root: Path, home: Path) -> Iterator[OpenIndex | None]:
    """The stores in use, as a process that has just been started finds them."""
    with project_index(root, home) as index:
        yield index.open_index()


def snapshot_of(root: Path, home: Path, probes: Iterable[str]) -> Snapshot:
    with stores(root, home) as opened:
        assert opened is not None
        return snapshot(opened.store, opened.lexical, root, probes)


def snapshot(store: IndexStore, lexical: Lexical, root: Path, probes: Iterable[str]) -> Snapshot:
    """All that can be asked of a layer, whatever the order of rows, and without times, stamps and generations."""
    layer = store.checkout(str(root))
    assert layer is not None
    entries = store.manifest(layer.id)
    versions = {path: store.load(entry.file) for path, entry in entries.items() if entry.file is not None}
    names = {entry.file: path for path, entry in entries.items() if entry.file is not None}
    facts = ("prefix", "complete", "tests", "vendor", "ref", "head", "module", "go_version", "extractors")
    return {
        "checkout": {name: getattr(layer, name) for name in facts},
        "absent": {path: (entry.reason, entry.detail) for path, entry in entries.items() if entry.file is None},
        "files": {path: contents(version) for path, version in versions.items()},
        "hits": hits(lexical, names, probes),
        "vectors": vectors(store, names),
        "importers": importers(store, layer.id),
    }


def importers(store: IndexStore, layer: int) -> dict[str, int]:
    """How many files import each, by the last count."""
    with store.reading() as database:
        ask = "SELECT path, importers FROM popularity WHERE layer = ?"
        return dict(database.execute(ask, (layer,)).fetchall())


def vectors(store: IndexStore, names: dict[int, str]) -> dict[str, list[list[int]]]:
    """The rows of every visible version, as the shipped encoder made them."""
    (segment,) = Segments(store).all() or [Segment(0, "", 0, 0)]
    rows = _files(store).rows(segment)
    placed = (each for each in Segments(store).placements(segment) if each.file in names)
    return {names[each.file]: rows[each.first : each.first + each.rows].tolist() for each in placed}


def links_in(data: bytes) -> Links:
    return msgspec.msgpack.decode(decompress(data), type=Links)


def contents(version: FileVersion | None) -> dict[str, Any] | None:
    """A version as it was read, its parts unpacked."""
    if version is None:
        return None
    packed = {"text": decompress, "links": links_in, "terms": unpack_lines, "uses": unpack_lines}
    plain = {name: getattr(version, name) for name in version.__struct_fields__ if name not in packed}
    opened = {name: unpack(getattr(version, name)) for name, unpack in packed.items()}
    return {**plain, **opened, "links": msgspec.to_builtins(opened["links"])}


def hits(lexical: Lexical, names: dict[int, str], probes: Iterable[str]) -> dict[str, Any]:
    """For each word and field: how many documents have it, and which; a document of no visible version shows."""
    searcher = lexical.searcher()
    told = {}
    for word in sorted(set(probes)):
        for field in FIELDS:
            query = Query.term_query(lexical.schema, field, word)
            found = searcher.search(query, limit=searcher.num_docs + 1, count=True)
            if found.count:
                addresses = [address for _, address in found.hits]
                told[f"{field}:{word}"] = (found.count, sorted(_documents(searcher, addresses, names)))
    return told


def _documents(searcher: Any, addresses: list[Any], names: dict[int, str]) -> Iterator[tuple[str, int]]:
    files = searcher.fast_field_values("file", addresses)
    numbers = searcher.fast_field_values("number", addresses)
    return ((names.get(file, f"version {file:x}"), number) for file, number in zip(files, numbers, strict=True))


def documents(lexical: Lexical) -> Counter[tuple[int, int]]:
    """Every document of the lexical index as (version, chunk), and how often it is there."""
    searcher = lexical.searcher()
    found = searcher.search(Query.all_query(), limit=searcher.num_docs + 1, count=True)
    addresses = [address for _, address in found.hits]
    columns = (searcher.fast_field_values(field, addresses) for field in ("file", "number"))
    return Counter(zip(*columns, strict=True))


def faults(store: IndexStore, lexical: Lexical, *, at_rest: bool) -> list[str]:
    """What is wrong between the tables, and between the database and the lexical index. The latter may be ahead of
    the database while a run is under way or after a crash; at rest it holds what some manifest names and no more."""
    with store.reading() as database:
        integrity = [row[0] for row in database.execute("PRAGMA integrity_check")]
        found = [] if integrity == ["ok"] else integrity
        found += _torn(database)
        found += [f"{table} is not what its tally says" for table in find_miscounted(database)]
        wanted = Counter(dict.fromkeys(_documented(database), 1))
        held = documents(lexical)
        found += [f"chunk {key} is in the lexical index {held[key]} times" for key in wanted if held[key] != 1]
        found += [f"segment {each.number} is cut" for each in segments_in(database) if not _files(store).is_whole(each)]
        if at_rest:
            found += [f"no vectors: {row[0]}" for row in database.execute(_WITHOUT_VECTORS)]
            found += [f"a document that nothing names: {key}" for key in held - wanted]
            found += [f"still to be dropped: {row[0]:x}" for row in database.execute("SELECT file FROM dropped")]
    counted = store.count_documents()
    if counted is not None and counted != sum(held.values()):
        found.append(f"{sum(held.values())} documents where the database has {counted}")
    return found


_TORN = {
    "a manifest names a version that is not there": """
        SELECT manifest.path FROM manifest LEFT JOIN file ON file.id = manifest.file
        WHERE manifest.file IS NOT NULL AND file.id IS NULL""",
    "a version without a body": "SELECT path FROM file WHERE id NOT IN (SELECT file FROM body)",
    "a body without a version": "SELECT file FROM body WHERE file NOT IN (SELECT id FROM file)",
    "a version with other symbols than it counts": """
        SELECT path FROM file WHERE symbols
        <> (SELECT count(*) FROM symbol WHERE symbol.file = file.id)""",
    "a version with other chunks than it counts": """
        SELECT path FROM file WHERE chunks
        <> (SELECT count(*) FROM chunk WHERE chunk.file = file.id)""",
    "a visible version that is marked as unnamed": """
        SELECT path FROM file WHERE unnamed_since IS NOT NULL AND id IN (SELECT file FROM manifest)""",
    "a visible version that is marked as without documents": """
        SELECT path FROM file WHERE NOT searchable AND id IN (SELECT file FROM manifest)""",
    "a version with other vectors than chunks": """
        SELECT path FROM file JOIN vector ON vector.file = file.id
        WHERE vector.rows <> chunks""",
    "vectors behind the end of their segment": """
        SELECT file FROM vector JOIN segment ON segment = number WHERE first + vector.rows > segment.rows""",
    "vectors of no version": "SELECT file FROM vector WHERE file NOT IN (SELECT id FROM file)",
    "a count of no checkout": "SELECT path FROM popularity WHERE layer NOT IN (SELECT id FROM layer)",
    "a count of nobody": """
        SELECT path FROM popularity JOIN layer ON layer.id = popularity.layer WHERE importers < 1 AND base IS NULL""",
    "what a ref says that its base says": """
        SELECT over.path FROM manifest over JOIN layer ON layer.id = over.layer JOIN manifest below
        ON below.layer = layer.base AND below.path = over.path
        WHERE over.file IS below.file AND over.reason = below.reason""",
    "a path that is gone from a base that never had it": """
        SELECT path FROM manifest over JOIN layer ON layer.id = over.layer WHERE reason = 'gone'
        AND path NOT IN (SELECT path FROM manifest below WHERE below.layer = layer.base)""",
    "a ref over no base": "SELECT name FROM layer WHERE base NOT IN (SELECT id FROM layer WHERE base IS NULL)",
    "a count of a generation to come": "SELECT root FROM layer WHERE counted > generation",
    "two versions in one place": """
        SELECT a.file FROM vector a JOIN vector b ON a.segment = b.segment AND a.file <> b.file
        WHERE a.first < b.first + b.rows AND b.first < a.first + a.rows AND a.rows > 0 AND b.rows > 0""",
    "a visible version whose documents are about to be dropped": """
        SELECT file FROM dropped WHERE file IN (SELECT file FROM manifest)""",
}


_WITHOUT_VECTORS = """
    SELECT DISTINCT file.path FROM manifest JOIN file ON file.id = manifest.file
    WHERE chunks > 0 AND file.id NOT IN (SELECT file FROM vector)"""


def _files(store: IndexStore) -> VectorFiles:
    return VectorFiles(store.path.parent / "vectors")


def _torn(database: sqlite3.Connection) -> list[str]:
    return [f"{what}: {row[0]}" for what, ask in _TORN.items() for row in database.execute(ask)]


def _documented(database: sqlite3.Connection) -> Iterator[tuple[int, int]]:
    """The chunks that must have documents: those of the versions that a manifest names."""
    ask = "SELECT DISTINCT chunk.file, chunk.number FROM manifest JOIN chunk ON chunk.file = manifest.file"
    return iter(database.execute(ask).fetchall())


def leftovers(index: ProjectIndex) -> list[str]:
    """What lies beside the index in use and is no part of it."""
    current = folders.current_epoch(index.folder)
    known = {"lock", "current", "used", current.name if current else ""}
    return sorted(each.name for each in index.folder.iterdir() if each.name not in known)
