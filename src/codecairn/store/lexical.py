"""The lexical index: one tantivy document a chunk, found by the terms of its text, name and path.

    key     the file version, as text: what deletion goes by (a deletion by number matches nothing). Documents of a
            version that was read for a branch have a second one, ON_BRANCH
    file, number   the same as columns, so that a hit is known without reading a document
    name, path, body   analysed terms (words.py), space-separated
    place   `code` or `beside`: what lies beside the product's code has candidates of its own
    uses    the identifiers in the chunk as they are written: which files might refer to a symbol

tantivy proposes; what is visible, and how it scores, is decided from the database. Documents of a version are written
after any it may already have, so that a batch that was interrupted can be written again.

tantivy maps its files, and looks at none of the checksums it writes at their ends. A file that is shorter than it was
ends the process that reads it, so each is checked once before it is opened (tantivy_checksums.py); they never change.
meta.json has none: its fields are compared with ours, and its documents with the chunks in the database. Where
tantivy gives up nevertheless, that is an error like any other and no end of the thread.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codecairn.errors import Busy, CairnError, IndexIncompatible, TooManyFiles
from codecairn.file_roles import is_product
from codecairn.store.file_version import FileVersion, unpack_lines
from codecairn.store.tantivy_checksums import Footers, Stamp
from codecairn.text import one_line
from codecairn.words import analyse

ANALYSED = ("name", "path", "body")
ON_BRANCH = "branch"
_HIDDEN_REASON = "Worker thread failed"
"""tantivy's words for whatever stops a thread that writes; a full disk is the likeliest."""
_LEAST_FREE = 16_000_000
_LONGEST_REASON = 80
"""Characters of what tantivy says of damage, so that the way out after it is not cut off."""
_HEAP = 30_000_000
"""Bytes for the writer's one thread. With tantivy's least (15 MB) a repository of 500,000 lines is cut in pieces
that are merged again at twice the cost."""
_LOCK_PATIENCE_S, _LOCK_GLANCE_S = 10.0, 0.01


class Lexical:
    def __init__(self, folder: Path) -> None:
        import tantivy  # noqa: PLC0415 - only who searches or writes pays for it

        self._folder = folder
        self._footers = Footers(folder)
        self._loaded: Stamp | None = None
        with _translating(folder):
            self._footers.check()
            self._index = tantivy.Index.open(str(folder))
            terms = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._index.register_tokenizer("terms", terms)
            self._index.config_reader("manual")
            if self._index.schema != _schema():
                raise ValueError("meta.json names other fields than were made")
        self.schema = self._index.schema

    @classmethod
    def create(cls, folder: Path) -> Lexical:
        import tantivy  # noqa: PLC0415

        shutil.rmtree(folder, ignore_errors=True)
        try:
            folder.mkdir(parents=True)
            tantivy.Index(_schema(), path=str(folder), reuse=False)
        except (ValueError, OSError) as error:
            raise _trouble(folder, error) from error
        return cls(folder)

    def check_count(self, documents: int) -> None:
        """Raise IndexIncompatible unless there are so many documents: meta.json, which says how many each file has and
        which files there are, is the one file without a checksum."""
        found = self.searcher().num_docs
        if found != documents:
            raise _damage(self._folder, ValueError(f"it has {found:,} documents of {documents:,}"))

    def searcher(self) -> Searching:
        """A searcher over the last commit of any process."""
        with _translating(self._folder):
            stamp = self._footers.check()
            if stamp is None or stamp != self._loaded:  # a commit that lands meanwhile has another stamp
                self._index.reload()
                self._loaded = stamp
            return Searching(self._index.searcher(), self._folder)

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """A batch: what was added and deleted is there after `commit`, or not at all."""
        with _translating(self._folder):
            writer = self._writer()
            try:
                yield Writing(writer)
            finally:
                writer.wait_merging_threads()  # frees tantivy's lock, which an error's traceback would keep

    def _writer(self) -> Any:
        """The caller holds the project's lock, so tantivy's own is at most a breath behind: a process that is being
        started holds a copy of every open file until it runs its program."""
        deadline = time.monotonic() + _LOCK_PATIENCE_S
        while True:
            try:
                return self._index.writer(heap_size=_HEAP, num_threads=1)
            except ValueError as error:
                if "LockBusy" not in str(error):
                    raise
                if time.monotonic() >= deadline:
                    raise Busy("The lexical index is being written by another process") from error
            time.sleep(_LOCK_GLANCE_S)


class Searching:
    """One state of the index; any number of threads may search it."""

    def __init__(self, searcher: Any, folder: Path) -> None:
        self._searcher = searcher
        self._folder = folder

    @property
    def num_docs(self) -> int:
        return int(self._searcher.num_docs)

    def search(self, query: Any, limit: int, *, count: bool = False) -> Any:
        with _translating(self._folder):
            return self._searcher.search(query, limit, count=count)

    def fast_field_values(self, field: str, addresses: list[Any]) -> list[int]:
        with _translating(self._folder):
            values: list[int] = self._searcher.fast_field_values(field, addresses)
            return values


class Writing:
    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def add(self, version: FileVersion) -> None:
        self.delete(version.id)
        for document in _documents(version):
            self._writer.add_document(document)

    def delete(self, file: int) -> None:
        self._writer.delete_documents_by_term("key", key_of(file))

    def commit(self) -> None:
        self._writer.commit()


def key_of(file: int) -> str:
    return f"{file:x}"


def _documents(version: FileVersion) -> Iterator[Any]:
    from tantivy import Document  # noqa: PLC0415

    terms, uses = unpack_lines(version.terms), unpack_lines(version.uses)
    path = analyse(version.path)
    place = "code" if is_product(version.path, version.language) else "beside"
    key = key_of(version.id)
    for chunk in version.chunks:
        symbol = version.symbols[chunk.symbol] if chunk.symbol >= 0 else None
        document = Document()  # given all its values at once it looks for the type of each
        document.add_text("key", key)
        if version.on_branch:
            document.add_text("key", ON_BRANCH)
        document.add_integer("file", version.id)
        document.add_integer("number", chunk.number)
        document.add_text("place", place)
        document.add_text("name", analyse(symbol.path if symbol else chunk.title))
        document.add_text("path", path)
        document.add_text("body", terms[chunk.number])
        document.add_text("uses", uses[chunk.number])
        yield document


def _schema() -> Any:
    from tantivy import SchemaBuilder  # noqa: PLC0415

    builder = SchemaBuilder()
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")
    builder.add_text_field("place", tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("file", fast=True, indexed=False)
    builder.add_integer_field("number", fast=True, indexed=False)
    for field in ANALYSED:
        builder.add_text_field(field, tokenizer_name="terms", index_option="freq")
    builder.add_text_field("uses", tokenizer_name="terms", index_option="basic")
    return builder.build()


def size_of(folder: Path) -> int:
    """Bytes of what lies in a folder, at any depth; a file that goes away meanwhile counts as none."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).lstat().st_size
    return total


def _is_nearly_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_FREE
    except OSError:
        return False


@contextmanager
def _translating(folder: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError) as error:
        raise _trouble(folder, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # it has no other name to be caught by
            raise
        raise _damage(folder, error) from error


def _damage(folder: Path, error: BaseException) -> CairnError:
    said = one_line(str(error), _LONGEST_REASON)
    return IndexIncompatible(f"The lexical index is damaged: {said}", damaged=True, folder=str(folder))


def _trouble(folder: Path, error: Exception) -> CairnError:
    said = str(error)
    if "No space left" in said or "StorageFull" in said or (_HIDDEN_REASON in said and _is_nearly_full(folder)):
        return CairnError(f"The index cannot be written: {said}", remedy=f"Free space on the disk of {folder}.")
    if "Too many open files" in said:
        return TooManyFiles(f"The index cannot be read: {one_line(said, _LONGEST_REASON)}")
    if "PermissionDenied" in said or "Permission denied" in said or "Read-only" in said:
        return CairnError(
            f"The index cannot be used: {said}",
            remedy="Make the data directory writable, or name another with CAIRN_HOME.",
        )
    return _damage(folder, error)
