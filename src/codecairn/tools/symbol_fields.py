"""A symbol as answers name it."""

from __future__ import annotations

from codecairn.names.kinds import SHORT_KINDS
from codecairn.names.qualified import module_of, qualified_name
from codecairn.resolve.identity import stable_id, symbol_id
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow


def symbol_fields(file: FileRow, symbol: SymbolRow | None) -> dict[str, str]:
    """The ids and names of a symbol, as answers say them; of a file's module where there is none."""
    ids = {"symbol_id": symbol_id(file, symbol), "symbol_stable_id": stable_id(file, symbol)}
    if symbol is None:
        stem = file.path.rpartition("/")[2].partition(".")[0]
        return {**ids, "name": stem, "qualified_name": module_of(file) or stem, "kind": "module"}
    kind = SHORT_KINDS.get(symbol.kind, symbol.kind)
    return {**ids, "name": symbol.name, "qualified_name": qualified_name(file, symbol), "kind": kind}
