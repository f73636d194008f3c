"""One file of a project as it was read: what it holds, or why that is nothing to index.

A file is opened folder by folder from the root (safe_open.py), so that a name which was safe when it was listed cannot
lead out of the project when it is read. A pipe or a device is left alone. The bytes are one state of the
file: it is read again where its stamp moved meanwhile.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import stat
from pathlib import Path
from typing import ClassVar, NamedTuple

from msgspec import Struct

from codecairn.file_roles import DOCUMENT_EXTENSIONS, folder_role, form_of
from codecairn.source.safe_open import OUTSIDE, OpenFile, open_inside, open_plain

_ATTEMPTS = 4
_SNIFFED = 8 << 10

_MAGIC = (
    b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"\x1f\x8b", b"PK\x03\x04", b"\x7fELF", b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe", b"\xfd7zXZ", b"7z\xbc\xaf", b"Rar!\x1a", b"\x28\xb5\x2f\xfd", b"wOFF", b"wOF2", b"OggS",
)  # fmt: skip
"""How files begin that may hold no NUL in their first bytes and are no text."""
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
"""The longer marks first: UTF-32's begins with UTF-16's."""


class ListedFile(NamedTuple):
    """A file and the stamp by which a later look tells whether it changed."""

    path: str
    """From the project root, with `/`."""
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int

    @classmethod
    def of(cls, path: str, info: os.stat_result) -> ListedFile:
        return cls(path, info.st_size, info.st_mtime_ns, info.st_ino, info.st_ctime_ns)


class Content(Struct, frozen=True):
    found: ListedFile
    """The stamp of the very file that was read."""
    raw: bytes
    """As on disk, but for line ends, which git may write otherwise than it keeps them: what is hashed."""
    text: bytes
    """UTF-8, without a byte order mark, lines ended as on Unix; where the file is in no known encoding, its bytes."""


class Skip(Struct, frozen=True):
    """Why a file was not read."""

    BINARY: ClassVar = "binary"
    CHANGING: ClassVar = "changed while it was read"
    FOLDER: ClassVar = "folder"
    GONE: ClassVar = "gone"
    LINK: ClassVar = "link"
    OUTSIDE: ClassVar = "outside the project"
    SPECIAL: ClassVar = "not a regular file"
    TOO_LARGE: ClassVar = "too large"
    LACKING: ClassVar = "not in this clone"
    UNREADABLE: ClassVar = "unreadable"

    reason: str
    size: int = 0
    """Bytes, of one that is too large."""


class Raw(NamedTuple):
    """The bytes of a file, as they are."""

    found: ListedFile
    bytes: bytes


def read_plain(root: Path, path: str, most_bytes: int) -> Raw | Skip:
    """A file of the project under its own name, if it has at most `most_bytes` bytes."""
    try:
        return _read(OpenFile(open_plain(root, path), path), most_bytes)
    except OSError as error:
        return Skip(_trouble(error))


def read_text(root: Path, path: str, most_bytes: int) -> Content | Skip:
    """The same, if it is text."""
    read = read_plain(root, path, most_bytes)
    if isinstance(read, Skip):
        return read
    text = indexable_text(read.bytes)
    return Skip(Skip.BINARY) if text is None else Content(read.found, unix_lines(read.bytes), text)


def read_inside(root: Path, path: str, most_bytes: int) -> Raw | Skip:
    """A file of the project under any name that leads to it without leaving the root; it is found under its own."""
    try:
        return _read(open_inside(root, path), most_bytes)
    except OSError as error:
        return Skip(_trouble(error))


def _read(opened: OpenFile, most_bytes: int) -> Raw | Skip:
    try:
        return _snapshot(opened.descriptor, opened.path, most_bytes)
    finally:
        os.close(opened.descriptor)


def _snapshot(descriptor: int, path: str, most_bytes: int) -> Raw | Skip:
    for _ in range(_ATTEMPTS):
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            return Skip(Skip.FOLDER if stat.S_ISDIR(info.st_mode) else Skip.SPECIAL)
        if info.st_size > most_bytes:
            return Skip(Skip.TOO_LARGE, info.st_size)
        os.lseek(descriptor, 0, os.SEEK_SET)
        raw = _bytes(descriptor, info.st_size + 1)
        found = ListedFile.of(path, info)
        if len(raw) == info.st_size and found == ListedFile.of(path, os.fstat(descriptor)):
            return Raw(found, raw)
    return Skip(Skip.CHANGING)


def _bytes(descriptor: int, most: int) -> bytes:
    """One read gives a whole local file; one over a network may come in pieces."""
    raw = os.read(descriptor, most)
    while len(raw) < most - 1 and (more := os.read(descriptor, most - len(raw))):
        raw += more
    return raw


def unix_lines(raw: bytes) -> bytes:
    """The same with the line ends that git would keep where it converts them."""
    if b"\r" not in raw:  # is found out in a tenth of the time that replacing nothing takes
        return raw
    is_wide = any(raw.startswith(mark) for mark, _ in _WIDE)
    return raw if is_wide else raw.replace(b"\r\n", b"\n")


def indexable_text(raw: bytes) -> bytes | None:
    """The text of a file's bytes, as `Content.text`; None where they are no text."""
    for mark, codec in _WIDE:
        if raw.startswith(mark):
            try:
                return raw.decode(codec).encode().replace(b"\r\n", b"\n")
            except UnicodeError:
                return None
    if raw.find(b"\0", 0, _SNIFFED) >= 0 or raw.startswith(_MAGIC):
        return None
    text = raw.removeprefix(codecs.BOM_UTF8)
    return text.replace(b"\r\n", b"\n") if b"\r" in text else text


def decode_text(raw: bytes) -> tuple[str, str] | None:
    """The text of a file's bytes with its own line ends, and its encoding; None where they are no text."""
    if indexable_text(raw) is None:
        return None
    for mark, codec in _WIDE:
        if raw.startswith(mark):
            return raw.decode(codec), codec
    body = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return body.decode(), "utf-8" if body is raw else "utf-8-bom"
    except UnicodeDecodeError:
        return body.decode("latin-1"), "latin-1"


def _trouble(error: OSError) -> str:
    if isinstance(error, IsADirectoryError):
        return Skip.FOLDER
    if error.errno == OUTSIDE:
        return Skip.OUTSIDE
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Skip.GONE
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return Skip.LINK
    return Skip.SPECIAL if error.errno == errno.ENXIO else Skip.UNREADABLE


_DATA_WHEN_LARGE = frozenset({"json", "json5", "xml", "html", "htm", "xhtml", "yaml", "yml", "ipynb", "plist"})
_LARGE_DATA = 64 << 10
_WORD = re.compile(rb"[A-Za-z\x80-\xff]{2,}(?=[\s,.;:!?)'\"`-]|$)")
_FEWEST_WORDS, _SPOKEN, _FILLED = 4, 0.4, 0.97
"""Of a line, and shares of the lines: Django's pages have 0.5 and 0.8, lists of words and tables have 0.1 and 1."""
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"

_MINIFIED_NAME = re.compile(r".+[.-]min\.(?:js|mjs|cjs|css|html)|.+\.bundle\.(?:js|css)")
_MINIFIED_FROM = 4 << 10
_LONG_LINE = 300
"""Bytes a line, on average over the file. Source that people wrote stays under 60, tables of numbers under 150."""

_GENERATED_HEAD = 2 << 10
_GENERATED = re.compile(
    rb"^[^\w@<\n]{0,12}(?:"
    rb"code generated .{0,200}do not edit"
    rb"|(?:automatically )?@generated\b"
    rb"|<auto-?generated"
    rb"|generated by .{1,200}do not (?:edit|modify)"
    rb"|(?:this (?:file|code|class|module) (?:is|was|has been) )?auto(?:matically |-| )?generated (?:by|from|file)\b"
    rb"|auto-?generated file)",
    re.IGNORECASE | re.MULTILINE,
)
"""At the start of a comment's line, so that a file which speaks of the marks is not taken for one that bears them."""


def classify(path: str, content: bytes) -> str | None:
    """Why a text is not one that people read and wrote: `data`, `minified` or `generated`; None where it is."""
    name = path.rpartition("/")[2].lower()
    extension = name.rpartition(".")[2]
    form = form_of(path)
    if form == "data" or _is_large_data(path, extension, content) or content.startswith(_LFS_POINTER):
        return "data"
    is_document = extension in DOCUMENT_EXTENSIONS
    if _MINIFIED_NAME.fullmatch(name) or (not is_document and _is_dense(content)):
        return "minified"
    if form == "generated" or (not is_document and _is_marked(content[:_GENERATED_HEAD])):
        return "generated"
    return None


def _is_large_data(path: str, extension: str, content: bytes) -> bool:
    if len(content) <= _LARGE_DATA:
        return False
    is_plain = extension == "txt" and folder_role(path) != "document"
    return extension in _DATA_WHEN_LARGE or (is_plain and not _is_prose(content))


def _is_prose(content: bytes) -> bool:
    """Whether people wrote a text for people: most of its lines have several words, and blank lines part it."""
    lines = content.splitlines()
    filled = [line for line in lines if line.strip()]
    spoken = sum(len(_WORD.findall(line)) >= _FEWEST_WORDS for line in filled)
    return spoken > len(filled) * _SPOKEN and len(filled) < len(lines) * _FILLED


def _is_marked(head: bytes) -> bool:
    # Looking for the word first takes a tenth of the time.
    return b"generated" in head.lower() and _GENERATED.search(head) is not None


def _is_dense(content: bytes) -> bool:
    return len(content) >= _MINIFIED_FROM and len(content) > _LONG_LINE * (content.count(b"\n") + 1)
