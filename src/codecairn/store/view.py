"""A view: which file versions are visible, and everything that is read through it.

A view is one generation of one layer, and of the base where the layer is laid over it: a snapshot of the database and
the searcher that was current with it. The lexical index also holds versions of other branches and worktrees; they are
no part of a view, neither as hits nor in its statistics, so that a view scores the same whatever else is indexed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct, field

from codecairn.cancel import Cancel
from codecairn.store.database import IndexStore
from codecairn.store.documents import Documents, place_of
from codecairn.store.file_version import ChunkRow, SymbolRow, decompress, lines_of
from codecairn.store.integrity import reading_version
from codecairn.store.layers import BASE, WORKING_TREE, Layer, layer_in, shows_through
from codecairn.store.lexical import Lexical
from codecairn.store.schema import GONE
from codecairn.store.vector_segments import segments_in, visible_in
from codecairn.store.view_queries import (
    CHUNKS,
    FILES,
    HEADS,
    MEETING,
    MEETING_FILES,
    SYMBOL_AT,
    SYMBOL_FIELDS,
    SYMBOLS,
    TERMS,
)

if TYPE_CHECKING:
    from codecairn.store.vectors import VectorField


class FileRow(NamedTuple):
    id: int
    path: str
    """From the root of the project."""
    language: str
    package: str
    lines: int


class Extent(NamedTuple):
    """How much there is to search: what averages are over."""

    files: int
    chunks: int
    terms: int


class Hit(NamedTuple):
    """A chunk that the lexical index proposes."""

    file: int
    number: int
    score: float


class ChunkHead(NamedTuple):
    """A chunk with what is searched of its symbol; empty texts where it has none."""

    file: int
    number: int
    start_line: int
    symbol: int
    length: int
    kind: str
    name: str
    path: str
    doc: str


MetFile = tuple[FileRow, int]
"""A visible file, and how many other files import it."""


class Met(Struct, frozen=True):
    """What views of one state have learnt of it."""

    files: dict[int, MetFile | None] = field(default_factory=dict)
    clauses: dict[str, Any] = field(default_factory=dict)
    """Of the lexical index, for versions that are visible or are not (documents.py)."""


class View:
    def __init__(
        self, database: sqlite3.Connection, lexical: Lexical, folder: Path, layer: Layer, base: Layer | None,
        is_blocked: Callable[[str], bool],
    ) -> None:  # fmt: skip
        self.layer = layer
        self._base = base
        self._visible, self._counted = shows_through("manifest", layer), shows_through("popularity", layer)
        self._meeting = MEETING.format(visible=self._visible)
        self._meeting_files = MEETING_FILES.format(visible=self._visible, counted=self._counted)
        self._folder = folder
        self.is_blocked = is_blocked
        self.cancel = Cancel()
        """Of the call that reads here. Every question to the view checks it, so a loop over files ends with it."""
        self.closing = ExitStack()
        """Called when the view ends, by whoever keeps what no longer holds then."""
        self._database = database
        self._documents = Documents(lexical, database, self._visible)
        self._met = Met().files
        self._met_chunks: dict[tuple[int, int], ChunkRow] = {}
        self._met_symbols: dict[tuple[int, int], SymbolRow] = {}
        self._symbols: dict[int, list[SymbolRow]] = {}
        self._chunks: dict[int, list[ChunkRow]] = {}

    @property
    def state(self) -> tuple[str, int, int, int]:
        """Another one means that something else may be visible here, or count otherwise. It begins with the name of
        the folder, which every index that is built anew has another of."""
        laid_over = self._base.generation if self._base is not None and self.layer.base is not None else 0
        return self._folder.name, self.layer.id, self.layer.generation, laid_over

    @property
    def subject(self) -> tuple[str, str, str]:
        """What it is a view of: the same for every state, in an index that is built anew and for a ref that was dropped
        and is back, which have other numbers."""
        return self.layer.root, self.layer.name, self.layer.scope

    def source_layer(self, path: str, file: int) -> Literal["base", "overlay"]:
        """Whether the default branch has the same version of a file; where nothing is laid over anything, it has."""
        if self._base is None or self._base.id == self.layer.id:
            return "base"
        ask = "SELECT 1 FROM manifest WHERE layer = ? AND path = ? AND file = ?"
        return "base" if self._execute(ask, (self._base.id, path, file)).fetchone() else "overlay"

    def _execute(self, ask: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        self.cancel.check()
        return self._database.execute(ask, values)

    # Files.

    def file(self, file: int) -> FileRow | None:
        """A version that is visible here; None for any other."""
        found = self.meet([file])[file]
        return found[0] if found else None

    def importers(self, file: int) -> int:
        """How many other files import a version's, by the last count."""
        found = self.meet([file])[file]
        return found[1] if found else 0

    def meet(self, files: Collection[int]) -> dict[int, MetFile | None]:
        """Every version that was met, these among them; None for those that are not visible here."""
        self.cancel.check()
        missing = [each for each in files if each not in self._met]
        if missing:
            known: dict[int, MetFile | None] = dict.fromkeys(missing)
            for row in self._execute(self._meeting_files, (msgspec.json.encode(missing).decode(),)):
                if not self.is_blocked(row[1]):
                    known[row[0]] = FileRow(*row[:5]), row[5] or 0
            self._met.update(known)
        return self._met

    def remember(self, met: Met) -> None:
        """Go on with what views of the same state have met."""
        self._met, self._documents.clauses = met.files, met.clauses

    def file_at(self, path: str) -> FileRow | None:
        return next(self._rows("manifest.path = ?", path), None)

    def file_of_content(self, blob: bytes) -> FileRow | None:
        """A file whose content has this id of git's; the first by its path."""
        return next(self._rows("file.blob = ? ORDER BY manifest.path", blob), None)

    def files_ending(self, path: str, most: int = 50) -> list[FileRow]:
        """Files whose path is this, or ends with it after a slash, whatever the case."""
        like = "%/" + path.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        return list(islice(self._rows("'/' || manifest.path LIKE ? ESCAPE '!' ORDER BY manifest.path", like), most))

    def files(self) -> Iterator[FileRow]:
        return self._rows("true ORDER BY manifest.path")

    def files_below(self, folder: str) -> Iterator[FileRow]:
        """Every file in a folder and in those inside it; of the whole project for the empty name."""
        if not folder:
            return self.files()
        return self._rows("manifest.path > ? AND manifest.path < ? ORDER BY manifest.path", f"{folder}/", f"{folder}0")

    def absence(self, path: str) -> str | None:
        """Why a file of the manifest has no version: `binary`, `generated` …; None where it has one, or is unknown."""
        ask = f"SELECT reason FROM manifest WHERE {self._visible} AND path = ? AND file IS NULL"  # noqa: S608 - our own
        row = self._execute(ask, (path,)).fetchone()
        return str(row[0]) if row and row[0] != GONE else None

    def complaint(self, file: int) -> str:
        """Why part of a file could not be read, or nothing."""
        (row,) = self._execute("SELECT complaint FROM file WHERE id = ?", (file,)).fetchall()
        return str(row[0])

    @property
    def is_counted(self) -> bool:
        """Whether the counts of imports are those of what is visible."""
        below = self._base if self.layer.base is not None else None
        return self.layer.is_counted and (below is None or below.is_counted)

    def counts(self) -> dict[str, int]:
        """How many other files import each that any does."""
        ask = f"SELECT path, importers FROM popularity WHERE {self._counted} AND importers > 0"  # noqa: S608 - our own
        return dict(self._execute(ask).fetchall())

    def symbol_counts(self) -> dict[int, int]:
        """How many symbols each visible file has, of those that have any."""
        ask = f"SELECT file.id, symbols FROM manifest JOIN file ON file.id = file WHERE {self._visible} AND symbols > 0"  # noqa: S608
        return dict(self._execute(ask).fetchall())

    def _rows(self, condition: str, *values: object) -> Iterator[FileRow]:
        """Files of the manifest, but for what the guard blocks: it may block more now than when they were indexed."""
        rows = self._execute(f"{FILES} {self._visible} AND {condition}", values)
        return (file for file in map(FileRow._make, rows) if not self.is_blocked(file.path))

    def text(self, file: int) -> str:
        return self._unpack(file, "text").decode("utf-8", "replace")

    def links(self, file: int) -> bytes:
        """A version's links, as `link_table` reads them."""
        return self._unpack(file, "links")

    def terms(self, file: int) -> list[str]:
        """The analysed text of each chunk of a file."""
        return lines_of(self._unpack(file, "terms"))

    def packed_terms(self, files: Iterable[int]) -> dict[int, list[bytes]]:
        """The same of many files as bytes, for who counts words."""
        wanted = list(files)
        packed = dict(self._execute(TERMS, (msgspec.json.encode(wanted).decode(),)).fetchall())
        found: dict[int, list[bytes]] = {}
        for file in wanted:
            with reading_version(self._database, file):
                found[file] = decompress(packed.get(file, b"")).split(b"\n")
        return found

    def head(self, file: int) -> str:
        """The lines of a file that name its package and its imports."""
        with reading_version(self._database, file):
            return str(self._part(file, "head"))

    def _unpack(self, file: int, part: str) -> bytes:
        with reading_version(self._database, file):
            return decompress(self._part(file, part))

    def _part(self, file: int, part: str) -> Any:
        ((found,),) = self._execute(f"SELECT {part} FROM body WHERE file = ?", (file,)).fetchall()  # noqa: S608 - our own names
        return found

    # Symbols and chunks.

    def symbol(self, file: int, number: int) -> SymbolRow | None:
        if (file, number) in self._met_symbols:
            return self._met_symbols[file, number]
        row = self._execute(f"{SYMBOLS} AND number = ?", (file, number)).fetchone()
        return SymbolRow(*row) if row else None

    def symbols(self, file: int) -> list[SymbolRow]:
        if file not in self._symbols:
            rows = self._execute(f"{SYMBOLS} ORDER BY number", (file,))
            self._symbols[file] = [SymbolRow(*row) for row in rows]
        return self._symbols[file]

    def symbols_named(self, name: str) -> list[tuple[FileRow, SymbolRow]]:
        """Every visible symbol of this name, whatever its case."""
        rows = self._execute(
            f"SELECT file.id, manifest.path, language, package, lines, {SYMBOL_FIELDS} FROM symbol "  # noqa: S608
            f"CROSS JOIN manifest ON manifest.file = symbol.file AND {self._visible} "
            "CROSS JOIN file ON file.id = symbol.file WHERE symbol.name = ? COLLATE NOCASE",
            (name,),
        )
        found = ((FileRow(*row[:5]), SymbolRow(*row[5:])) for row in rows)
        return [(file, symbol) for file, symbol in found if not self.is_blocked(file.path)]

    def names(self) -> list[str]:
        """Every name that some version's symbol has, each once; not each of them is visible."""
        return [row[0] for row in self._execute("SELECT DISTINCT name FROM symbol")]

    def chunk(self, file: int, number: int) -> ChunkRow:
        if (file, number) in self._met_chunks:
            return self._met_chunks[file, number]
        (row,) = self._execute(f"{CHUNKS} AND number = ?", (file, number)).fetchall()
        return ChunkRow(*row)

    def prefetch(self, places: Sequence[tuple[int, int]]) -> None:
        """Read these chunks, as far as they are visible, with their files and symbols: two questions, not hundreds."""
        self.meet({file for file, _ in places})
        for row in self._execute(self._meeting, (msgspec.json.encode(places).decode(),)):
            file, chunk, symbol = row[0], ChunkRow(*row[1:SYMBOL_AT]), row[SYMBOL_AT:]
            self._met_chunks[file, chunk.number] = chunk
            if symbol[0] is not None:
                self._met_symbols[file, chunk.symbol] = SymbolRow(*symbol)

    def chunk_heads(self, places: Sequence[tuple[int, int]]) -> list[ChunkHead]:
        """These chunks of versions, without their texts."""
        return [ChunkHead(*row) for row in self._execute(HEADS, (msgspec.json.encode(places).decode(),))]

    def chunks(self, file: int) -> list[ChunkRow]:
        if file not in self._chunks:
            rows = self._execute(f"{CHUNKS} ORDER BY number", (file,))
            self._chunks[file] = [ChunkRow(*row) for row in rows]
        return self._chunks[file]

    def begins_of(self, file: int, symbol: int) -> list[int]:
        """The first lines of the chunks of a symbol, in the order of their numbers."""
        ask = "SELECT start_line FROM chunk WHERE file = ? AND symbol = ? ORDER BY number"
        return [row[0] for row in self._execute(ask, (file, symbol))]

    # What the lexical index says, as far as it is visible.

    @property
    def documents(self) -> int:
        """How many documents there are, visible or not: another count means that somebody has written."""
        return self._documents.count

    @cached_property
    def extent(self) -> Extent:
        row = self._execute(
            "SELECT count(*), total(chunks), total(terms) FROM manifest JOIN file ON file.id = file "  # noqa: S608
            f"WHERE {self._visible}"
        ).fetchone()
        return Extent(*(int(each) for each in row))

    def proposals(
        self, weighted: Sequence[tuple[str, str, float]], place: str, most: int,
        wanted: Callable[[list[Hit]], list[Hit]],
    ) -> list[Hit]:  # fmt: skip
        """The best visible, wanted chunks of a place for terms (field, term, weight), by the lexical index's score;
        `wanted` is asked about many at once."""
        found = [self._best(query, most, wanted) for query in self._documents.queries(weighted, place)]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found), key=place_of)[:most]

    def _best(self, query: Any, most: int, wanted: Callable[[list[Hit]], list[Hit]]) -> list[Hit]:
        """All that score as the last one are read, so that what is cut off depends on no order of writing."""
        asked, seen, hits = most + most // 4, 0, list[Hit]()
        while True:
            found = [Hit(*each) for each in self._documents.best(query, asked)]
            hits += wanted(self._visible_hits(found[seen:]))
            is_full = len(hits) >= most and place_of(found[-1])[0] > place_of(hits[most - 1])[0]
            if is_full or len(found) < asked:
                return sorted(hits, key=place_of)[:most]
            seen, asked = asked, asked * 4  # what is not ours, or not wanted, stood before what is

    def _visible_hits(self, hits: list[Hit]) -> list[Hit]:
        met = self.meet({hit.file for hit in hits})
        return [hit for hit in hits if met[hit.file]]

    def frequency(self, term: str) -> int:
        """In how many visible chunks a term occurs."""
        return self._documents.frequency(term)

    def lexicon(self) -> Documents:
        """The words of this view, for who asks when it is closed."""
        return self._documents.settle()

    def using(self, identifier: str) -> list[int]:
        """The versions in whose text an identifier stands as it is written; not each of them is visible."""
        return sorted(self._documents.using(identifier))

    def field(self, encoder: str) -> VectorField | None:
        """The vectors that an encoder made of what is visible; None where it made none, or they are lost."""
        from codecairn.store.vectors import VectorField, VectorFiles  # noqa: PLC0415 - numpy, for who asks by meaning

        segment = next((each for each in segments_in(self._database) if each.encoder == encoder), None)
        if segment is None:
            return None
        placed = visible_in(self._database, segment, self._visible)
        shown = [rows for path, rows in placed if not self.is_blocked(path)]
        try:
            return VectorField(VectorFiles(self._folder / "vectors"), segment, shown)
        except (OSError, ValueError):  # the next run makes them again
            return None


@contextmanager
def open_view(
    store: IndexStore, lexical: Lexical, root: str, is_blocked: Callable[[str], bool], ref: int | None = None
) -> Iterator[View | None]:
    """The newest generation of a folder's layer, or of a ref's by its number, less what may not be shown; None where
    there is no such layer."""
    with store.reading() as database:
        layer = layer_in(database, WORKING_TREE, root) if ref is None else layer_in(database, "id = ?", ref)
        base = layer_in(database, BASE, layer.within.key) if layer else None
        view = View(database, lexical, store.path.parent, layer, base, is_blocked) if layer else None
        with view.closing if view else nullcontext():
            yield view
