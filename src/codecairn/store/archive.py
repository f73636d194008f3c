"""An archive of what is indexed of a repository's commits, to be used on another machine: NAME.tar.zst

    manifest.json       first: what it is of, who wrote it, and the name, size and BLAKE3 of every other member
    index.db            the rest in the order of the manifest: the folder of an index (folders.py)
    lexical/…
    vectors/N.rows …
    notes/…             what people recorded, where that was asked for

The tar is one Zstandard frame. Behind it a skippable frame, which other programs pass over, holds the BLAKE3 of every
byte before it. So one read of the file tells whether it is the one that was written, before anything is unpacked, and
not a bit of it can change unnoticed.

A file from elsewhere is not believed beyond that. The manifest is read first, and bounds all that follows: members
have its names, in its order and with its sizes, or nothing is taken. Its names are ours or none: no folder but two, no
link, no device. Headers are read one by one and never obeyed: tar's extensions may announce names of any length, and
we write none.
"""

from __future__ import annotations

import os
import re
import shutil
import tarfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO

import msgspec
import zstandard
from blake3 import blake3
from msgspec import Struct

from codecairn.errors import CairnError, InvalidInput
from codecairn.paths import printable

FORMAT = 1
MANIFEST = "manifest.json"
_LEVEL = 3
_PART = 1 << 20
_BLOCK = 512
_DAY_S = 86_400.0
_LARGEST_MANIFEST = 16 << 20
_MOST_MEMBERS = 10_000
_MOST_BYTES = 256 << 30
_MOST_NOTES = 64 << 20
_MOST_TIMES = 200
"""The unpacked size of an archive, in those of the archive; that of Django's is one and a half."""
_SEAL = b"\x5a\x2a\x4d\x18" + (32).to_bytes(4, "little")
"""The head of a skippable frame of 32 bytes."""
_NAMES = re.compile(
    r"index\.db|lexical/\.?[A-Za-z0-9][A-Za-z0-9._-]*|vectors/[0-9]+\.(?:rows|signs|sums)|notes/[a-z]+\.jsonl"
)
_PASSED_OVER = ".lock"
"""Files that tantivy leaves behind are no part of an index."""

Step = Callable[[int, int], None]
"""Told the bytes done, and in all."""


class Member(Struct, frozen=True):
    name: str
    size: int
    blake3: str


class Origin(Struct, frozen=True, kw_only=True):
    """Which repository it is: the commits its history begins with, and its remote."""

    first_commits: list[str]
    remote: str
    shallow: bool = False


class Ref(Struct, frozen=True, kw_only=True):
    name: str
    commit: str
    scope: str
    is_default: bool


class Manifest(Struct, frozen=True, kw_only=True):
    format: int
    schema: int
    product: str
    readers: str
    encoders: list[str]
    repository: Origin
    default_branch: str
    refs: list[Ref]
    created: str
    members: list[Member] = []

    @property
    def size(self) -> int:
        return sum(member.size for member in self.members)


class _Version(Struct, frozen=True):
    """The part that every format has."""

    format: int


def write(path: Path, manifest: Manifest, folder: Path, notes: Mapping[str, bytes], step: Step) -> Manifest:
    """The folder of an index and notes, as an archive that is there whole or not at all."""
    files = sorted(_files(folder))
    listed = [Member(name, (folder / name).stat().st_size, _digest(folder / name)) for name in files]
    listed += [Member(name, len(data), blake3(data).hexdigest()) for name, data in sorted(notes.items())]
    manifest = msgspec.structs.replace(manifest, members=listed)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        _sweep(path)
        with partial.open("wb") as file:
            _write_sealed(file, lambda stream: _pack(stream, manifest, folder, notes, step))
        partial.replace(path)
    except OSError as error:
        raise CairnError(
            f"The archive cannot be written: {path}: {error.strerror}", remedy="Name a place that can be written to."
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def _sweep(path: Path) -> None:
    """Remove what exports to this place left that were killed; one that is under way is not a day old."""
    for each in path.parent.iterdir():
        if (
            re.fullmatch(rf"\.{re.escape(path.name)}\.[0-9]+", each.name)
            and time.time() - each.stat().st_mtime > _DAY_S
        ):
            each.unlink()


def _files(folder: Path) -> Iterator[str]:
    for each in folder.rglob("*"):
        if each.is_file() and each.suffix != _PASSED_OVER:
            yield each.relative_to(folder).as_posix()


def _write_sealed(file: BinaryIO, fill: Callable[[IO[bytes]], None]) -> None:
    hashing: Any = _HashingFile(file)
    with zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).stream_writer(hashing, closefd=False) as stream:
        fill(stream)
    hashing.write(_SEAL)
    file.write(hashing.hash.digest())
    file.flush()
    os.fsync(file.fileno())


class _HashingFile:
    """A file that is hashed as it is written."""

    def __init__(self, file: BinaryIO) -> None:
        self.hash = blake3()
        self._file = file

    def write(self, data: bytes) -> int:
        self.hash.update(data)
        return self._file.write(data)


def _pack(stream: IO[bytes], manifest: Manifest, folder: Path, notes: Mapping[str, bytes], step: Step) -> None:
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        _add(tar, MANIFEST, data := msgspec.json.encode(manifest), len(data))
        done = 0
        for member in manifest.members:
            _add(tar, member.name, notes.get(member.name, folder / member.name), member.size)
            step(done := done + member.size, manifest.size)


def _add(tar: tarfile.TarFile, name: str, content: bytes | Path, size: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    if isinstance(content, bytes):
        tar.addfile(info, BytesIO(content))
        return
    with content.open("rb") as file:
        tar.addfile(info, file)


def _digest(path: Path) -> str:
    hasher = blake3()
    with path.open("rb") as file:
        while part := file.read(_PART):
            hasher.update(part)
    return hasher.hexdigest()


class Archive:
    """An archive that is what was once written, as far as its seal can tell."""

    def __init__(self, tar: _Tar, size: int) -> None:
        self._tar = tar
        self.manifest = _manifest(tar)
        if self.manifest.size > min(_MOST_BYTES, size * _MOST_TIMES):
            raise refusal("it is larger than any index")

    def unpack(self, folder: Path, step: Step) -> dict[str, bytes]:
        """Write every file into a folder, on the disk when this returns; returns the notes. Where it fails, the caller
        removes the folder."""
        notes: dict[str, bytes] = {}
        done = 0
        _check_room(folder, self.manifest.size)
        for member in self.manifest.members:
            name, size = self._tar.next()
            if (name, size) != (member.name, member.size):
                raise refusal(f"{printable(name)} stands where {member.name} should")
            if member.name.startswith("notes/"):
                notes[member.name] = b"".join(self._parts(member))
            else:
                _store(folder / member.name, self._parts(member))
            step(done := done + member.size, self.manifest.size)
        self._tar.end()
        return notes

    def _parts(self, member: Member) -> Iterator[bytes]:
        hasher = blake3()
        for part in self._tar.content(member.size):
            hasher.update(part)
            yield part
        if hasher.hexdigest() != member.blake3:
            raise refusal(f"{member.name} is not what was written")


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    with _file(path) as file:
        end = _check_seal(file)
        file.seek(0)
        source: Any = _Bounded(file, end)
        try:
            with zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=False) as stream:
                yield Archive(_Tar(stream), end)
        except zstandard.ZstdError as error:
            raise refusal(f"it cannot be decompressed: {error}") from error


def _file(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise InvalidInput(
            f"Cannot be read: {printable(str(path))}: {error.strerror}", param="path", reason="not a readable file"
        ) from error


def refusal(why: str) -> InvalidInput:
    return InvalidInput(
        f"Not an archive that can be used: {why}", param="path", reason=why,
        remedy="Nothing was changed. Copy the file again, or export it again.",
    )  # fmt: skip


def _check_seal(file: BinaryIO) -> int:
    """Where the seal begins, behind all that it is of."""
    end = file.seek(0, os.SEEK_END) - len(_SEAL) - 32
    if end <= 0:
        raise refusal("it is too short")
    file.seek(0)
    hasher = blake3()
    left = end + len(_SEAL)
    while part := file.read(min(left, _PART)):
        hasher.update(part)
        left -= len(part)
    file.seek(end)
    seal = file.read()
    if seal[: len(_SEAL)] != _SEAL:
        raise refusal("it was not written by `cairn state export`, or is cut off")
    if seal[len(_SEAL) :] != hasher.digest():
        raise refusal("it is damaged: its checksum is another")
    return end


class _Bounded:
    """A file up to a place."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file, self._left = file, end

    def read(self, size: int) -> bytes:
        part = self._file.read(min(size, self._left))
        self._left -= len(part)
        return part


class _Tar:
    """A tar, header by header; what it holds is read only as far as somebody asked."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def next(self) -> tuple[str, int]:
        """The name and size of the member that follows, which is a plain file."""
        header = self._read(_BLOCK)
        try:
            info = tarfile.TarInfo.frombuf(header, "ascii", "strict")
        except (tarfile.TarError, ValueError) as error:
            raise refusal(f"a member has no header: {error}") from error
        if info.type != tarfile.REGTYPE:
            raise refusal(f"{printable(info.name)} is no plain file")
        return info.name, info.size

    def content(self, size: int) -> Iterator[bytes]:
        left = size
        while left:
            part = self._read(min(left, _PART))
            left -= len(part)
            yield part
        self._read(-size % _BLOCK)

    def end(self) -> None:
        """Raise if anything follows but the padding of tar's end."""
        if self._read(2 * _BLOCK).strip(b"\0"):
            raise refusal("it has more members than it says")
        if self._stream.read(tarfile.RECORDSIZE).strip(b"\0") or self._stream.read(1):
            raise refusal("something follows its end")

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._stream.read(size - len(parts))
            if not part:
                raise refusal("it is cut off")
            parts += part
        return bytes(parts)


def _manifest(tar: _Tar) -> Manifest:
    name, size = tar.next()
    if name != MANIFEST or size > _LARGEST_MANIFEST:
        raise refusal("it does not begin with a manifest")
    data = b"".join(tar.content(size))
    try:
        version = msgspec.json.decode(data, type=_Version).format
        if version != FORMAT:
            raise InvalidInput(
                f"The archive has format {version}; this version of Cairn reads {FORMAT}", param="path",
                remedy="Export it again with this version." if version < FORMAT else "Update Cairn, then import it.",
            )  # fmt: skip
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise refusal(f"its manifest cannot be read: {error}") from error
    _check_members(manifest.members)
    return manifest


def _check_members(members: Iterable[Member]) -> None:
    sizes: dict[str, int] = {}
    for member in members:
        if not _NAMES.fullmatch(member.name) or member.name in sizes or member.size < 0:
            raise refusal(f"{printable(member.name)} is no part of an index")
        if member.name.startswith("notes/") and member.size > _MOST_NOTES:
            raise refusal(f"{member.name} is too large")
        sizes[member.name] = member.size
    if "index.db" not in sizes:
        raise refusal("it holds no index")
    if len(sizes) > _MOST_MEMBERS:
        raise refusal("it has more members than any index")


def _check_room(folder: Path, size: int) -> None:
    if shutil.disk_usage(folder).free < size:
        raise CairnError(
            f"There is no room for the {size / 1e6:,.0f} MB of the archive",
            remedy=f"Free space on the disk of {folder}.",
        )


def _store(path: Path, parts: Iterable[bytes]) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise CairnError(
            f"The archive cannot be unpacked: {path}: {error.strerror}", remedy="Free space in the data directory."
        ) from error
