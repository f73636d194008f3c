"""Which packages may be learned from: those whose own licence asks for no more than to be named.

A package says its licence in the way of its registry: Debian in `debian/copyright`, by paragraphs of path patterns;
npm as an SPDX expression in `package.json`; PyPI in the metadata of a release. Each is read into the same short names.
Of licences joined by "or" one has to be permissive, of those joined by "and" all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PERMISSIVE = re.compile(
    r"""(?ix) expat | mit (?: [-/ ] [\w.+-]+ )* | (?: modified-|new-|simplified-|revised-)? bsd (?: [-_/ ] [\w.+-]+ )*
    | [0123]-?clause-bsd | apache (?: [-_ ]? (?: license[-_ ,]*)? (?: version[ ])? v?2 (?: \.0)? )? | isc (?: -[\w.]+)?
    | zlib (?: /libpng | -[\w.]+)? | bsl-1(?:\.0)? | boost (?: [-\w.]*) | unlicense | the[ ]unlicense | 0bsd
    | cc0 (?: -[\w.]+)? | psf (?: -[\w.]+)? | python-2(?:\.0)? | public-domain (?: -[\w.]+)? | x11 (?: -[\w.]+)?
    | ncsa | asl-?2(?:\.0)?"""
)
_UNWANTED = re.compile(r"(?i)gpl|mpl|epl|cddl|artistic|non-?commercial|cc-by|proprietary|unlicensed|see license")
_INNERMOST = re.compile(r"\(([^()]*)\)")
_COMMA_AND = re.compile(r"(?i)\s*,\s*and\s+")
_OR = re.compile(r"(?i)\s*(?:,\s*)?\bor\b\s*|\s*\|\|?\s*|\s/\s")
_AND = re.compile(r"(?i)\s*(?:,\s*)?\band\b\s*|\s*[,&;]\s*")
_EXCEPTION = re.compile(r"(?i)\s+with[\s-]+[\w.-]+(?:[\s-]+[\w.-]+)?(?:[\s-]+exceptions?)?")
_TEXTS = (
    ("GPL", re.compile(r"gnu (?:lesser |library |affero )?general public license", re.IGNORECASE)),
    ("MPL", re.compile(r"mozilla public license", re.IGNORECASE)),
    ("Apache-2.0", re.compile(r"apache license,?\s+version 2\.0", re.IGNORECASE)),
    ("MIT", re.compile(r"permission is hereby granted, free of charge", re.IGNORECASE)),
    ("ISC", re.compile(r"permission to use, copy, modify,? and(?:/or)? distribute this software", re.IGNORECASE)),
    ("BSD", re.compile(r"redistribution and use in source and binary forms", re.IGNORECASE)),
    ("Unlicense", re.compile(r"this is free and unencumbered software", re.IGNORECASE)),
    ("Zlib", re.compile(r"provided 'as-is', without any express or implied warranty", re.IGNORECASE)),
    ("BSL-1.0", re.compile(r"boost software license", re.IGNORECASE)),
)
_COPYLEFT = re.compile(
    rb"(?i)general\s+public\s+license|mozilla\s+public\s+license|eclipse\s+public|SPDX-License-Identifier:\s*[AL]?GPL"
)
_HEAD = 4096


def is_permissive(expression: str) -> bool:
    """Whether a short name, or an expression of them, is of the permissive kind."""
    flat = re.sub(r"(?i),? version ", " ", " ".join(expression.split()))
    while (inner := _INNERMOST.search(flat)) is not None:
        before, after = flat[: inner.start()].strip(), flat[inner.end() :].strip()
        flat = f"{before} {_settled(inner[1]) if before or after else inner[1]} {after}".strip()
    conditions = [each for each in _COMMA_AND.split(_EXCEPTION.sub("", " ".join(flat.split()))) if each]
    return bool(conditions) and all(map(_any_permissive, conditions))


def _settled(inner: str) -> str:
    """What stands for an expression in brackets; other text in brackets only describes what is before it."""
    if not re.search(r"(?i)\s(?:and|or)\s", inner):
        return ""
    return "MIT" if is_permissive(inner) else "GPL"


def _any_permissive(names: str) -> bool:
    return any(_all_permissive(each) for each in _OR.split(names) if each)


def _all_permissive(names: str) -> bool:
    parts = [each for each in _AND.split(names) if each]
    return bool(parts) and all(_is_one(each.strip()) for each in parts)


def _is_one(name: str) -> bool:
    if _UNWANTED.search(name):
        return False
    name = re.sub(r"(?i)^the |[\s-]+(?:software[\s-]+)?licen[sc]ed?$|\+$", "", name).strip()
    return bool(_PERMISSIVE.fullmatch(name))


def named_by_text(text: str) -> str:
    """The short name of a licence that is given as its text; empty where it is none of those known."""
    folded = " ".join(text.split())
    return next((name for name, expression in _TEXTS if expression.search(folded)), "")


def is_copyleft_file(source: bytes) -> bool:
    """Whether a source file says at its head that it has another licence than the package."""
    return bool(_COPYLEFT.search(source[:_HEAD]))


@dataclass(frozen=True)
class Copyright:
    """What `debian/copyright` says: the licence of the whole, and the paths that have one that is not permissive."""

    licence: str
    apart: tuple[re.Pattern[str], ...] = ()

    def covers(self, path: str) -> bool:
        return not any(pattern.fullmatch(path) for pattern in self.apart)


def read_copyright(text: str) -> Copyright:
    paragraphs = [_fields(each) for each in re.split(r"\n[ \t]*\n", text)]
    stanzas = [each for each in paragraphs if "files" in each and "license" in each]
    if not stanzas:
        return Copyright(named_by_text(text))
    whole = next((each for each in stanzas if "*" in each["files"].split()), stanzas[0])
    apart = [
        _pattern(each["files"].split())
        for each in stanzas
        if each is not whole and not is_permissive(_short_name(each["license"]))
    ]
    return Copyright(_short_name(whole["license"]), tuple(apart))


def _short_name(field: str) -> str:
    return field.strip().split("\n", 1)[0].strip()


def _fields(paragraph: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in paragraph.splitlines():
        if line[:1] in (" ", "\t"):
            found[name] = found.get(name, "") + "\n" + line
        elif ":" in line:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            found[name] = value
    return found


def _pattern(globs: Iterable[str]) -> re.Pattern[str]:
    """Debian's `*` goes over slashes; a folder stands for all it holds."""
    parts = [re.escape(each.removeprefix("./")).replace(r"\*", ".*").replace(r"\?", ".") for each in globs]
    return re.compile("(?:" + "|".join(parts) + ")(?:/.*)?")
