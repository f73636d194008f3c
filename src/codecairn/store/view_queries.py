"""The SQL of a view (view.py); `{visible}` and `{counted}` are its layer's conditions (layers.py)."""

from __future__ import annotations

from codecairn.store.file_version import CHUNK_COLUMNS, SYMBOL_COLUMNS, ChunkRow, SymbolRow

FILES = "SELECT file.id, manifest.path, language, package, lines FROM manifest JOIN file ON file.id = file WHERE"
SYMBOLS = f"SELECT {SYMBOL_COLUMNS} FROM symbol WHERE file = ?"  # noqa: S608 - our own names
CHUNKS = f"SELECT {CHUNK_COLUMNS} FROM chunk WHERE file = ?"  # noqa: S608
_CHUNK_FIELDS = ", ".join(f"chunk.{name}" for name in ChunkRow.__struct_fields__)
SYMBOL_FIELDS = ", ".join(f"symbol.{name}" for name in SymbolRow.__struct_fields__)
SYMBOL_AT = 1 + len(ChunkRow.__struct_fields__)
MEETING = (
    f"SELECT file.id, {_CHUNK_FIELDS}, {SYMBOL_FIELDS} "  # noqa: S608
    # A cross join keeps the order: a question a place, each by a key.
    "FROM json_each(?) AS place "
    "CROSS JOIN manifest ON manifest.file = json_extract(place.value, '$[0]') AND {visible} "
    "CROSS JOIN file ON file.id = manifest.file "
    "CROSS JOIN chunk ON chunk.file = file.id AND chunk.number = json_extract(place.value, '$[1]') "
    "LEFT JOIN symbol ON symbol.file = file.id AND symbol.number = chunk.symbol"
)
MEETING_FILES = (
    "SELECT file.id, manifest.path, language, package, lines, importers FROM json_each(?) AS wanted "
    "CROSS JOIN manifest ON manifest.file = wanted.value AND {visible} CROSS JOIN file ON file.id = manifest.file "
    "LEFT JOIN popularity ON popularity.path = manifest.path AND {counted}"
)
TERMS = "SELECT file, terms FROM json_each(?) AS wanted CROSS JOIN body ON body.file = wanted.value"
HEADS = (
    "SELECT chunk.file, chunk.number, chunk.start_line, chunk.symbol, length, coalesce(kind, ''), coalesce(name, ''), "
    "coalesce(symbol.path, ''), coalesce(doc, '') FROM json_each(?) AS wanted "
    "CROSS JOIN chunk ON chunk.file = json_extract(wanted.value, '$[0]') "
    "AND chunk.number = json_extract(wanted.value, '$[1]') "
    "LEFT JOIN symbol ON symbol.file = chunk.file AND symbol.number = chunk.symbol"
)
