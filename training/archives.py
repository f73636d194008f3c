"""The files of a package that something can be learned from, read straight from its archives."""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path

from codecairn.file_roles import is_test, is_vendored
from codecairn.parse.language import Language, language_of
from training.debian import copyright_in, is_packaging
from training.licences import Copyright, is_copyleft_file
from training.packages import Archive, Cache, Excluded, Package

RARE = frozenset({"kotlin", "swift", "scala", "csharp", "elixir", "lua", "zig", "rust"})
_LARGE = 30 << 20
"""Of an archive beyond this only the languages there is little of are read, and no tests."""
_SMALLEST, _LARGEST = 200, 250_000
_WIDEST = 160
"""Characters a line on average: wider is minified, or data."""
_BUILT = re.compile(
    r"(?i)(?:^|/)(?:dist|build|umd|esm|cjs|es|lib-esm|bundles?|out|min|compiled|generated|gen|fixtures?)/"
)
_BUILT_IN = frozenset({"javascript", "typescript"})
_GENERATED = re.compile(
    rb"(?i)(?:auto-?\s?|automatically |machine[- ])generated|generated (?:by|from|code|file)|do not (?:edit|modify)"
    rb"|@generated|sourceMappingURL|__esModule|Compiled with roblox-ts|Generated with"
)
_HEAD = 1500
_PROSE = re.compile(r"(?i)(?:^|/)(?:readme|changes|changelog|history|news|releases?|release[-_]?notes)[\w.-]*$")
_DOCUMENT = re.compile(r"(?i)^(?:docs?|documentation|guides?)/.*\.(?:md|rst|adoc|txt)$")


@dataclass(frozen=True)
class Code:
    path: str
    language: Language
    source: bytes
    is_test: bool


@dataclass(frozen=True)
class Document:
    path: str
    text: str

    @property
    def is_changelog(self) -> bool:
        return bool(re.search(r"(?i)change|history|news|release", self.path.rpartition("/")[2]))


def files_of(package: Package, cache: Cache, excluded: Excluded) -> Iterator[Code | Document]:
    """What one package holds of code and of prose, less what is not its own, generated, or of another licence."""
    covered = _copyright(package, cache)
    for archive in package.archives:
        if is_packaging(archive):
            continue
        for path, source in _read(cache.place(archive), archive):
            if excluded.has_path(path) or is_vendored(path) or not covered.covers(path):
                continue
            found = _file(path, source)
            if found is not None:
                yield found


def _copyright(package: Package, cache: Cache) -> Copyright:
    packaging = next((each for each in package.archives if is_packaging(each)), None)
    return copyright_in(cache.place(packaging)) if packaging else Copyright(package.licence)


def _file(path: str, source: bytes) -> Code | Document | None:
    if _PROSE.search(path) or _DOCUMENT.search(path):
        return Document(path, source.decode("utf-8", "replace"))
    language = language_of(path, source[:_HEAD])
    if language is None or is_copyleft_file(source) or _is_generated(source):
        return None
    if language.data.name in _BUILT_IN and _BUILT.search(path):
        return None
    return Code(path, language, source, is_test(path))


def _is_generated(source: bytes) -> bool:
    return bool(_GENERATED.search(source[:_HEAD])) or len(source) > _WIDEST * (source.count(b"\n") + 1)


def _read(place: Path, archive: Archive) -> Iterator[tuple[str, bytes]]:
    only_rare = place.stat().st_size > _LARGE
    component = re.search(r"\.orig-([\w-]+)\.tar", archive.place)
    try:
        with tarfile.open(place, "r|*") as opened:
            for member in opened:
                path = _path(member.name, component[1] if component else "")
                if member.isfile() and _SMALLEST <= member.size <= _LARGEST and _is_candidate(path, only_rare):
                    file = opened.extractfile(member)
                    if file is not None:
                        yield path, file.read()
    except (tarfile.TarError, EOFError, OSError, LZMAError, zlib.error):
        return


def _path(name: str, component: str) -> str:
    """Below the folder that archives have everything in; the parts of a package in several archives have theirs."""
    inner = name.removeprefix("./").partition("/")[2] or name
    return f"{component}/{inner}" if component else inner


def _is_candidate(path: str, only_rare: bool) -> bool:
    if only_rare:
        language = language_of(path)
        return language is not None and language.data.name in RARE and not is_test(path)
    name = path.rpartition("/")[2]
    return "." not in name or language_of(path) is not None or bool(_PROSE.search(path) or _DOCUMENT.search(path))
