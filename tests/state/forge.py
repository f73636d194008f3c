"""Archives that `cairn state export` would never write, with a seal that holds."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import zstandard
from blake3 import blake3

from codecairn.store import archive
from codecairn.store.archive import Manifest, Member

Part = tuple[tarfile.TarInfo, bytes]


def parts_of(path: Path) -> list[Part]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        data = io.BytesIO(stream.read())
    with tarfile.open(fileobj=data) as tar:
        return [(info, tar.extractfile(info).read()) for info in tar]  # type: ignore[union-attr]


def part(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> Part:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    return info, data


def forge(path: Path, parts: list[Part], trailer: bytes = b"", form: int = tarfile.GNU_FORMAT) -> Path:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for info, data in parts:
            tar.addfile(info, io.BytesIO(data))
    return seal(path, zstandard.ZstdCompressor().compress(buffer.getvalue() + trailer))


def seal(path: Path, compressed: bytes) -> Path:
    whole = compressed + archive._SEAL
    path.write_bytes(whole + blake3(whole).digest())
    return path


def manifest_of(parts: list[Part]) -> Manifest:
    return msgspec.json.decode(parts[0][1], type=Manifest)


def with_manifest(parts: list[Part], change: Callable[[Manifest], Manifest]) -> list[Part]:
    return [part(archive.MANIFEST, msgspec.json.encode(change(manifest_of(parts)))), *parts[1:]]


def with_members(parts: list[Part], *more: Part) -> list[Part]:
    """Parts that the manifest lists as well."""

    def listed(manifest: Manifest) -> Manifest:
        members = [Member(info.name, len(data), blake3(data).hexdigest()) for info, data in more]
        return msgspec.structs.replace(manifest, members=[*manifest.members, *members])

    return [*with_manifest(parts, listed), *more]


def replaced(parts: list[Part], name: str, data: bytes) -> list[Part]:
    """With another content of a member, of which the manifest knows."""

    def told(member: Member) -> Member:
        return Member(name, len(data), blake3(data).hexdigest()) if member.name == name else member

    def changed(manifest: Manifest) -> Manifest:
        return msgspec.structs.replace(manifest, members=list(map(told, manifest.members)))

    others = [part(name, data) if info.name == name else (info, old) for info, old in parts]
    return with_manifest(others, changed)
