"""Reads one file and takes it apart, as a worker does for each path it is given."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection
from pathlib import Path

from blake3 import blake3
from msgspec import Struct

from codecairn.index.domain_patterns import tags_of
from codecairn.parse.chunks import own_lines
from codecairn.parse.deadline import SlowParse
from codecairn.parse.documents import extract_text
from codecairn.parse.extract import extract
from codecairn.parse.facts import FileFacts
from codecairn.parse.language import Language, language_of, languages
from codecairn.parse.version import extractor_version
from codecairn.source.file_content import ListedFile, Skip, classify, indexable_text, read_plain, unix_lines
from codecairn.store.file_version import (
    LINES,
    ChunkRow,
    FileVersion,
    Links,
    Stat,
    SymbolRow,
    compress,
    pack_links,
    version_id,
)
from codecairn.words import ANALYSIS, analyse_code

DIGEST = 3
"""Raised whenever this module keeps anything else of the same facts."""
LARGEST_FILE = 1_000_000
_LONGEST_HEAD = 25
_PACKAGE_WITHIN = 60
_PACKAGE = (b"package ", b"module ", b"namespace ", b"defmodule ")
_SMALL = 32_000
"""Bytes. A shorter file is parsed at once: being able to stop costs a sixteenth, and who waits for a worker ends it."""
SLOW_PARSE_S = 5.0
_FAILED_SHARE = 0.1
_GRAIN_NS = 20_000_000
_COARSE_GRAIN_NS = 2_000_000_000


class Outcome(Struct, frozen=True, array_like=True):
    """The outcome for one path: a version that was already known, a new one, or the reason why there is none."""

    path: str
    stat: tuple[int, int, int, int] = (0, 0, 0, 0)
    reason: str = ""
    detail: str = ""
    known: int | None = None
    version: FileVersion | None = None
    blob: bytes = b""
    """The id that git gives the content which is left out; empty where it is not known."""


def digest(root: Path, prefix: str, path: str, known: Collection[int] = (), algorithm: str = "sha1") -> Outcome:
    now_ns = time.time_ns()
    read = read_plain(root, path, LARGEST_FILE)
    if isinstance(read, Skip):
        return Outcome(path, reason=read.reason)
    text = indexable_text(read.bytes)
    if text is None:
        return Outcome(path, reason=Skip.BINARY, blob=blob_id(read.bytes, algorithm))
    stat = lasting_stamp(read.found, now_ns)
    return _take_apart(prefix, path, unix_lines(read.bytes), text, known, algorithm, stat)


def digest_blob(prefix: str, path: str, data: bytes, known: Collection[int] = (), algorithm: str = "sha1") -> Outcome:
    """The same for what git has under a path."""
    text = indexable_text(data)
    if text is None:
        return Outcome(path, reason=Skip.BINARY)
    return _take_apart(prefix, path, unix_lines(data), text, known, algorithm, (0, 0, 0, 0))


def _take_apart(
    prefix: str, path: str, raw: bytes, text: bytes, known: Collection[int], algorithm: str,
    stat: tuple[int, int, int, int],
) -> Outcome:  # fmt: skip
    blob = blob_id(raw, algorithm)
    if reason := classify(path, text):
        return Outcome(path, stat, reason, blob=blob)
    language = language_of(path, text)
    id_ = version_id(prefix + path, blob, reader_version(language))
    if id_ in known:
        return Outcome(path, stat, known=id_)
    try:
        return Outcome(path, stat, version=version_of(id_, prefix + path, blob, text, language))
    except SlowParse:
        return Outcome(path, stat, "slow to parse", f"parsing took over {SLOW_PARSE_S:g} s and was cut off")


def reader_version(language: Language | None) -> str:
    """All that decides what is kept of a text: how it is taken apart, and how its words are told."""
    return f"{extractor_version(language.data.name if language else 'document')}.{ANALYSIS}.{DIGEST}"


def reader_versions() -> str:
    """One text that changes whenever anything would be read otherwise."""
    return blake3("\n".join(map(reader_version, (None, *languages().values()))).encode()).hexdigest(16)


def blob_id(raw: bytes, algorithm: str) -> bytes:
    """The id git gives this content."""
    return hashlib.new(algorithm, b"blob %d\0" % len(raw) + raw, usedforsecurity=False).digest()


def lasting_stamp(found: ListedFile, now_ns: int) -> Stat:
    """The stamp to know a file by that was looked at after `now_ns`; none that lasts where the file may have changed
    again within the clock's grain, unnoticed. A writer may set back the one time, never both."""
    is_young = any(
        now_ns - each < (_GRAIN_NS if each % 1_000_000_000 else _COARSE_GRAIN_NS)
        for each in (found.mtime_ns, found.ctime_ns)
    )
    return Stat(found.size, -1 if is_young else found.mtime_ns, found.inode, found.ctime_ns)


def version_of(id_: int, path: str, blob: bytes, source: bytes, language: Language | None) -> FileVersion:
    seconds = SLOW_PARSE_S if len(source) > _SMALL else None
    facts = extract(language, source, seconds=seconds) if language else extract_text(path, source)
    lines = source.split(b"\n")
    chunks, terms, uses = _chunks(facts, lines)
    return FileVersion(
        id=id_, path=path, blob=blob, language=facts.language, package=facts.package, lines=facts.lines,
        size=len(source), error_nodes=facts.error_nodes, complaint=_complaint(facts),
        symbols=_symbols(facts, source), chunks=chunks, text=compress(source),
        links=pack_links(Links(facts.sites, facts.imports, facts.bindings)),
        terms=_pack_lines(terms), uses=_pack_lines(uses), head=_head(facts, lines),
    )  # fmt: skip


def _pack_lines(lines: list[str]) -> bytes:
    return compress(LINES.join(lines).encode("utf-8", "replace"))


def _symbols(facts: FileFacts, source: bytes) -> list[SymbolRow]:
    tags = tags_of(facts.symbols, source)
    return [
        SymbolRow(
            number, each.kind, each.name, each.path, each.signature, each.doc, each.start_line, each.end_line,
            each.name_line, each.parent, each.ordinal, each.returns, tag,
            blake3(source[each.start_byte : each.end_byte]).digest(16),
        )
        for number, (each, tag) in enumerate(zip(facts.symbols, tags, strict=True))
    ]  # fmt: skip


def _chunks(facts: FileFacts, lines: list[bytes]) -> tuple[list[ChunkRow], list[str], list[str]]:
    rows, terms, uses = [], [], []
    titles = facts.titles or [""] * len(facts.chunks)
    for number, (each, own, title) in enumerate(zip(facts.chunks, own_lines(facts.chunks), titles, strict=True)):
        words, spelt = analyse_code(b"\n".join([line for first, last in own for line in lines[first - 1 : last]]))
        terms.append(words)
        uses.append(spelt)
        rows.append(ChunkRow(number, each.start_line, each.end_line, each.symbol, title, words.count(" ") + 1))
    return rows, terms, uses


def _head(facts: FileFacts, lines: list[bytes]) -> str:
    package = [number for number, line in enumerate(lines[:_PACKAGE_WITHIN], 1) if line.startswith(_PACKAGE)]
    wanted = sorted({*package[:1], *(each.line for each in facts.imports)})[:_LONGEST_HEAD]
    return b"\n".join([lines[number - 1] for number in wanted]).decode("utf-8", "replace")


def _complaint(facts: FileFacts) -> str:
    """Macros make a grammar stumble over a word here and there; a file is broken where more than that is lost."""
    if not facts.error_nodes or facts.error_share <= _FAILED_SHARE:
        return ""
    return f"syntax error at line {facts.error_line}; what could be read around it is indexed"
