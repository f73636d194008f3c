"""What one file says of itself, with nothing taken from any other file: the unit that is stored and never re-linked."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal[
    "function", "method", "class", "struct", "interface", "trait", "enum", "type", "const", "var", "field", "module",
]  # fmt: skip
EdgeKind = Literal["calls", "imports", "implements", "extends", "references"]


class Symbol(Struct, frozen=True, array_like=True, gc=False):
    """A definition. `parent` is the position of the enclosing symbol in the file's list, or -1."""

    kind: Kind
    name: str
    path: str
    """Names from the outermost scope of the file inwards, joined as the language joins them; without the module."""
    signature: str
    doc: str
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    name_line: int
    parent: int
    ordinal: int
    """Which one it is among siblings of the same kind and path: 0 for the first."""
    returns: str


class Site(Struct, frozen=True, array_like=True, gc=False):
    """A name used. `symbol` is the innermost definition around it, or -1."""

    kind: EdgeKind
    name: str
    qualifier: str
    """What stands before the name's dot, arrow or colons, as written; `()` where that is not a plain path."""
    line: int
    column: int
    symbol: int
    owner: str = ""
    """The type whose scope it heads (`impl A for T`, `extension T: A`), where that type is not in this file."""


class Import(Struct, frozen=True, array_like=True, gc=False):
    """One imported name. An empty `name` imports the module itself; `*` everything in it; an empty `module` is
    the file itself, which exports one of its own names under another."""

    module: str
    name: str
    alias: str
    line: int
    exported: bool


class TypeBinding(Struct, frozen=True, array_like=True, gc=False):
    """A variable, parameter or field whose type the file tells: by annotation, or by the constructor it is given."""

    name: str
    type: str
    line: int
    symbol: int


class Chunk(Struct, frozen=True, array_like=True, gc=False):
    """A stretch of lines to search and show; `symbol` is what it is the text of, or -1."""

    start_line: int
    end_line: int
    symbol: int


class FileFacts(Struct, frozen=True, array_like=True):
    language: str
    package: str
    """The module the file declares itself part of, where its language has such a clause."""
    symbols: list[Symbol]
    sites: list[Site]
    imports: list[Import]
    bindings: list[TypeBinding]
    chunks: list[Chunk]
    lines: int
    error_nodes: int
    titles: list[str] = []
    """For each chunk of a document the headings it stands under, `Install > Linux`; empty for code."""
    error_line: int = 0
    error_share: float = 0.0
    """Where the first stretch begins that the grammar could not read, and how much of the file such stretches are."""
