"""Qualified names: how a file and a symbol are called, and how a name that a caller gives is taken apart.

A name may be qualified in the notation of any language, by types, modules, folders or the file: `pkg.Type.method`,
`mod::fn`, `Class#method`, `a/b.ts:fn`. Because operators and quoted names hold the same characters that join names
(`Message.==`, `Cart.[Symbol.iterator]`, `Job#<=>`), no one way to take a name apart is right: every joint is tried as
the last one, and the symbol table tells which reading is a name. Arguments and type arguments are no part of a name,
unless it is found with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from codecairn.cache import Memo
from codecairn.parse.language import languages
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_JOINT = re.compile(r"->|[.:#/\\]+")
_TYPE_ARGUMENTS = re.compile(r"<[^<>]*>|(?<=\w)\[[^\[\]]*\]")
_ARGUMENTS = re.compile(r"(?<=[\w?!>\]])\s*\(.*$|(?<=[\w?!])/\d+$", re.DOTALL)
_RECEIVER = re.compile(r"^func\s*\(\s*(?:\w+\s+)?\*?(\w+)[^)]*\)\s*")
_LOOSE = ".:#/\\ "
_AROUND = "()*& "
"""Signs that Go writes around the type of a method, `(*Shelf).Put`."""
_DEEPEST = 24
"""Joints, and brackets in each other; what has more is no name."""


class NameReading(Struct, frozen=True):
    """A name taken apart: what stands before the last joint, outermost first, and what after it."""

    around: tuple[str, ...]
    name: str


def module_of(file: FileRow) -> str:
    """The module a file is, as its language writes it; its folder where it has no language."""
    return _modules[file.language, file.path, file.package]


def _module(question: tuple[str, str, str]) -> str:
    name, path, package = question
    language = languages().get(name)
    if language is None:
        return str(PurePosixPath(path).parent) if "/" in path else ""
    return language.module_path(path, package)


_modules: Memo[tuple[str, str, str], str] = Memo("names.modules", 2_000_000, _module)
"""Some ten thousand files; each result of a search asks three times."""


def package_of(file: FileRow) -> str:
    """The package a file names in itself, else the last part of its module."""
    if file.package:
        return file.package
    return last_part(module_of(file))


def qualified_name(file: FileRow, symbol: SymbolRow) -> str:
    """The symbol's name with its module before it, joined as the language joins them."""
    module = module_of(file)
    language = languages().get(file.language)
    return f"{module}{language.data.separator if language else '.'}{symbol.path}" if module else symbol.path


def file_stem(path: str) -> str:
    """The name of a file without its folders and endings."""
    return PurePosixPath(path).name.partition(".")[0]


def last_part(name: str) -> str:
    """The name after the last joint."""
    return _JOINT.split(name)[-1]


def readings(given: str) -> Iterator[NameReading]:
    """Every way to take a name apart, the shortest qualifier first; as it is given, then without arguments."""
    seen = set[NameReading]()
    for text in _spellings(given.strip()):
        for end, start in ((0, 0), *list(_joints(text))[-_DEEPEST:]):
            reading = NameReading(parts(text[:end]), text[start:])
            if reading.name and reading not in seen:
                seen.add(reading)
                yield reading


def _joints(text: str) -> Iterator[tuple[int, int]]:
    """Where a qualifier may end and a name begin: `Cart.#lines` is `#lines` of `Cart`, and `lines` too."""
    for joint in _JOINT.finditer(text):
        for start in range(joint.start() + 1, joint.end() + 1):
            yield joint.start(), start


def _spellings(given: str) -> dict[str, None]:
    """The text as given, and without arguments, type arguments or the rest of a declaration."""
    plain = _without(_TYPE_ARGUMENTS, _ARGUMENTS.sub("", _RECEIVER.sub(r"\1.", given))).strip()
    return dict.fromkeys((given, given.replace(" ", ""), plain, *plain.split()[-1:], plain.strip(_LOOSE)))


def longest_reading(given: str) -> NameReading:
    """The reading with the longest qualifier, which most names are meant in."""
    return max(readings(given), key=lambda each: len(each.around), default=NameReading((), ""))


def parts(text: str) -> tuple[str, ...]:
    split = (part.strip(_AROUND) for part in _JOINT.split(_without(_TYPE_ARGUMENTS, text)))
    return tuple(part for part in split if part)


def _without(pattern: re.Pattern[str], text: str) -> str:
    for _ in range(_DEEPEST):
        shorter = pattern.sub("", text)
        if shorter == text:
            break
        text = shorter
    return text
