"""Whether the file or symbol of a discovery is still the same.

    fresh      its text is the same, wherever it stands now
    drifted    it is there and its text has changed since
    orphaned   it is gone
    unknown    the index cannot tell, and why

A symbol is the one of its qualified name; one that moved keeps its discovery where it kept its name and its text, or
came to stand under the same qualified name. A name with several definitions (overloads) is fresh while one of them is
the recorded text. A file is told by its text with line ends made equal, so that a checkout on another system
is no change.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal, NamedTuple

from codecairn.cancel import Cancel
from codecairn.errors import AmbiguousSymbol, SymbolNotFound
from codecairn.memory.discoveries import DiscoveryBinding
from codecairn.names.qualified import qualified_name
from codecairn.resolve.engine import Engine
from codecairn.resolve.identity import stable_id
from codecairn.resolve.pick import pick_definition
from codecairn.source.file_content import Skip, read_text
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow, View

Status = Literal["fresh", "drifted", "orphaned", "unknown"]
_LARGEST_FILE = 16 << 20
_NOT_INDEXED = "the project is not indexed yet"


class Verdict(NamedTuple):
    status: Status
    reason: str
    """In words; empty for what is fresh where it always was."""
    path: str | None = None
    """Where it stands now."""
    lines: tuple[int, int] | None = None


def bind_to_symbol(view: View, name: str, path: str | None, cancel: Cancel) -> tuple[DiscoveryBinding, FileRow]:
    """The binding to the symbol that a caller means; raises where there is none, or more than one."""
    definition = pick_definition(Engine(view, cancel), name, path)
    file, symbol = view.file(definition.file), view.symbol(definition.file, definition.number)
    assert file is not None
    assert symbol is not None
    binding = DiscoveryBinding(
        path=file.path, symbol=qualified_name(file, symbol), name=symbol.name, kind=symbol.kind,
        stable_id=stable_id(file, symbol), content_hash=symbol.content_hash,
    )  # fmt: skip
    return binding, file


def bind_to_file(root: Path, path: str) -> DiscoveryBinding | None:
    """The binding to a file of the project; None where there is none to read."""
    digest = file_hash(root, path)
    return DiscoveryBinding(path=path, content_hash=digest) if digest is not None else None


def file_hash(root: Path, path: str) -> bytes | None:
    """The id git gives the file's text; of a file with CRLF the one it would have with LF."""
    content = read_text(root, path, _LARGEST_FILE)
    if isinstance(content, Skip):
        return None
    return _text_hash(content.raw)


def _text_hash(raw: bytes) -> bytes:
    text = raw.replace(b"\r\n", b"\n")
    return hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).digest()


def verdict(row: DiscoveryRow, view: View | None, root: Path) -> Verdict | None:
    """How a discovery stands; None for one that is about nothing in particular."""
    if row.symbol is not None:
        return _of_symbol(row, view)
    return _of_file(row, row.path, view, root) if row.path is not None else None


def _of_symbol(row: DiscoveryRow, view: View | None) -> Verdict:
    if view is None:
        return Verdict("unknown", _NOT_INDEXED, row.path)
    if row.stable_id is None:
        return _of_unseen(row, row.symbol or "", view)
    named = [each for each in view.symbols_named(row.name or "") if each[1].name == row.name]
    own = [each for each in named if _is_it(row, *each)]
    same = [each for each in own or named if each[1].content_hash == row.content_hash]
    if same:
        return _fresh(row, *min(same, key=lambda each: each[0].path != row.path))
    if own:
        file, symbol = min(own, key=lambda each: (stable_id(*each) != row.stable_id, each[0].path != row.path))
        return Verdict("drifted", f"{row.symbol} has changed since", file.path, _lines(symbol))
    return _missing(row, view)


def _of_unseen(row: DiscoveryRow, name: str, view: View) -> Verdict:
    """For a symbol that was named before there was an index to look it up in: what it was then is not known."""
    try:
        binding, _ = bind_to_symbol(view, name, row.path, Cancel())
    except AmbiguousSymbol as error:
        return Verdict("unknown", error.message, row.path)
    except SymbolNotFound:
        return _missing(row, view)
    return Verdict("unknown", "it was recorded before the project was indexed", binding.path)


def _is_it(row: DiscoveryRow, file: FileRow, symbol: SymbolRow) -> bool:
    return stable_id(file, symbol) == row.stable_id or qualified_name(file, symbol) == row.symbol


def _fresh(row: DiscoveryRow, file: FileRow, symbol: SymbolRow) -> Verdict:
    moved = "" if file.path == row.path else f"it stands in {file.path} now"
    return Verdict("fresh", moved, file.path, _lines(symbol))


def _lines(symbol: SymbolRow) -> tuple[int, int]:
    return symbol.start_line, symbol.end_line


def _missing(row: DiscoveryRow, view: View) -> Verdict:
    absence = view.absence(row.path) if row.path else None
    if absence is not None:
        return Verdict("unknown", f"{row.path} is not indexed: {absence}", row.path)
    if not view.layer.complete:
        return Verdict("unknown", "the project is still being indexed", row.path)
    return Verdict("orphaned", f"{row.symbol} is gone", row.path)


def _of_file(row: DiscoveryRow, path: str, view: View | None, root: Path) -> Verdict:
    now = _hash_now(path, view, root)
    if now is not None and row.content_hash in (now, None):
        return Verdict("fresh", "", path)
    if now is not None:
        return Verdict("drifted", f"{path} has changed since", path)
    if not _is_of_ref(view) and (root / path).is_file():
        return Verdict("unknown", f"{path} cannot be read", path)
    if view is None:
        return Verdict("unknown", f"{path} is gone, and {_NOT_INDEXED}: it may have moved", path)
    moved = view.file_of_content(row.content_hash) if row.content_hash else None
    if moved is not None:
        return Verdict("fresh", f"it stands at {moved.path} now", moved.path)
    return Verdict("orphaned", f"{path} is gone", path)


def _hash_now(path: str, view: View | None, root: Path) -> bytes | None:
    """Of the file on disk, or in the commit that a view is of."""
    if view is None or not _is_of_ref(view):
        return file_hash(root, path)
    file = view.file_at(path)
    return _text_hash(view.text(file.id).encode()) if file is not None else None


def _is_of_ref(view: View | None) -> bool:
    return view is not None and bool(view.layer.name)
