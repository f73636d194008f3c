"""Debian's source packages: two indexes tell which there are, with what in them; the packaging tells the licence."""

from __future__ import annotations

import gzip
import io
import lzma
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from training.licences import Copyright, is_permissive, named_by_text, read_copyright
from training.packages import Archive, Cache, Mirror, Package, read

SUITES = ("trixie", "bookworm", "sid", "bullseye")
"""In the order they are tried: a mirror may lack files of one that it has of another."""
_PACKAGING = re.compile(r"\.debian\.tar\.\w+$")
_UPSTREAM = re.compile(r"\.orig(?:-[\w-]+)?\.tar\.(?:gz|xz|bz2)$")
_COPYRIGHT = re.compile(r"(?:\./)?debian/copyright")
_LICENCE = re.compile(r"(?i)(?:\./)?(?:[^/]+/)?(?:(?:un)?licen[cs]e|copying)[^/]*")
_ENDINGS = {
    "py": "python", "js": "javascript", "mjs": "javascript", "ts": "typescript", "tsx": "typescript", "go": "go",
    "java": "java", "rs": "rust", "c": "c", "h": "c", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp",
    "hh": "cpp", "cs": "csharp", "kt": "kotlin", "kts": "kotlin", "swift": "swift", "scala": "scala",
    "hs": "haskell", "ex": "elixir", "exs": "elixir", "rb": "ruby", "php": "php", "lua": "lua", "zig": "zig",
    "sh": "bash", "bash": "bash",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A source package as the index lists it."""

    name: str
    version: str
    folder: str
    files: tuple[tuple[str, str, int], ...]
    """Name, SHA-256 and size."""

    @property
    def archives(self) -> list[tuple[str, str, int]]:
        return [each for each in self.files if _UPSTREAM.search(each[0])]

    @property
    def packaging(self) -> tuple[str, str, int] | None:
        return next((each for each in self.files if _PACKAGING.search(each[0])), None)

    @property
    def size(self) -> int:
        return sum(size for _, _, size in self.archives)

    def fetch(self, file: tuple[str, str, int], cache: Cache, mirror: Mirror) -> Archive:
        name, sha256, _ = file
        return cache.fetch(mirror, Archive(f"{self.folder}/{name}", sha256))


def index(mirror: Mirror, folder: Path, suite: str, name: str) -> bytes:
    """One of a suite's indexes, fetched once."""
    kept = folder / suite / name.rpartition("/")[2]
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(read(f"{mirror.base}/dists/{suite}/main/{name}"))
    return kept.read_bytes()


def sources(mirror: Mirror, folder: Path) -> dict[str, list[Source]]:
    """Every source package as each suite has it."""
    found: dict[str, list[Source]] = defaultdict(list)
    for suite in SUITES:
        text = lzma.decompress(index(mirror, folder, suite, "source/Sources.xz")).decode("utf-8", "replace")
        for each in map(_source, text.split("\n\n")):
            if each is not None and each.archives and each.packaging:
                found[each.name].append(each)
    return found


def _source(stanza: str) -> Source | None:
    fields = dict(re.findall(r"^(Package|Version|Directory): (.*)$", stanza, re.MULTILINE))
    sums = re.search(r"^Checksums-Sha256:\n((?: .*\n?)+)", stanza, re.MULTILINE)
    if len(fields) < 3 or sums is None:
        return None
    rows = [line.split() for line in sums[1].splitlines()]
    files = tuple((name, digest, int(size)) for digest, size, name in rows)
    return Source(fields["Package"], fields["Version"], fields["Directory"], files)


def contents(mirror: Mirror, folder: Path) -> dict[str, Counter[str]]:
    """For each source package how many files of which language it holds."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    packed = index(mirror, folder, SUITES[0], "Contents-source.gz")
    for line in io.TextIOWrapper(gzip.GzipFile(fileobj=io.BytesIO(packed)), "utf-8", "replace"):
        path, _, names = line.rstrip("\n").rpartition("\t")
        language = _ENDINGS.get(path[path.rfind(".") + 1 :])
        if language:
            for name in names.split(","):
                found[name][language] += 1
    return found


def accepted(sources: list[Source], cache: Cache, mirror: Mirror) -> Package | None:
    """The package, fetched, where it has a permissive licence: as the first suite has it of which all is there."""
    for source in sources:
        with suppress(ValueError):
            return _with_packaging(source, cache, mirror)
    for source in sources:
        with suppress(ValueError):
            return _without_packaging(source, cache, mirror)
    return None


def _with_packaging(source: Source, cache: Cache, mirror: Mirror) -> Package | None:
    if source.packaging is None:
        return None
    packaging = source.fetch(source.packaging, cache, mirror)
    licence = copyright_in(cache.place(packaging)).licence
    if not is_permissive(licence):
        return None
    return Package("debian", source.name, source.version, licence, (packaging, *_upstream(source, cache, mirror)))


def _without_packaging(source: Source, cache: Cache, mirror: Mirror) -> Package | None:
    archives = _upstream(source, cache, mirror)
    licence = licence_in(cache.place(archives[0]))
    return Package("debian", source.name, source.version, licence, archives) if is_permissive(licence) else None


def _upstream(source: Source, cache: Cache, mirror: Mirror) -> tuple[Archive, ...]:
    return tuple(source.fetch(each, cache, mirror) for each in source.archives)


def licence_in(archive: Path) -> str:
    """What the licence files at the top of an archive say, as long as none of them is of another kind."""
    names = {named_by_text(text.decode("utf-8", "replace")) for text in _matching(archive, _LICENCE)}
    return "" if not all(map(is_permissive, names)) else " and ".join(sorted(names))


def copyright_in(packaging: Path) -> Copyright:
    text = next(_matching(packaging, _COPYRIGHT), b"")
    return read_copyright(text.decode("utf-8", "replace"))


def _matching(archive: Path, pattern: re.Pattern[str]) -> Iterator[bytes]:
    with tarfile.open(archive, "r|*") as opened:
        for member in opened:
            file = opened.extractfile(member) if member.isfile() and pattern.fullmatch(member.name) else None
            if file is not None:
                yield file.read()


def is_packaging(archive: Archive) -> bool:
    return bool(_PACKAGING.search(archive.place))
