"""Who a symbol is, whatever ref or line it stands on.

Both ids are made of the language, the kind, the qualified name (the module's included) and which one it is among
siblings of that name: no line, no signature, no ref, so a changed symbol keeps them.
"""

from __future__ import annotations

import base64

import msgspec
from blake3 import blake3

from codecairn.names.qualified import module_of, qualified_name
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_ID_BYTES = 16


def stable_id(file: FileRow, symbol: SymbolRow | None) -> str:
    return f"b3:{blake3(_inputs(file, symbol)).hexdigest()}"


def symbol_id(file: FileRow, symbol: SymbolRow | None) -> str:
    digest = blake3(b"symbol_id" + _inputs(file, symbol)).digest(_ID_BYTES)
    return f"sym_{base64.b32encode(digest).decode('ascii').rstrip('=')}"


def _inputs(file: FileRow, symbol: SymbolRow | None) -> bytes:
    """Without a symbol, the file as a module."""
    if symbol is None:
        return msgspec.msgpack.encode((file.language, "module", module_of(file) or file.path, 0))
    return msgspec.msgpack.encode((file.language, symbol.kind, qualified_name(file, symbol), symbol.ordinal))
