"""How answers speak of a file's language or format: its title, its other names, what a code fence calls it.

A language says so in its own file (language.py); what no grammar reads is listed in `formats.toml`.
"""

from __future__ import annotations

import tomllib
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from codecairn.parse.language import language_of, languages


class Format(Struct, frozen=True, forbid_unknown_fields=True):
    title: str = ""
    aliases: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    filenames: tuple[str, ...] = ()
    """In lower case."""
    prose: bool = False


msgspec.json.Decoder(Format)  # as for languages: two threads must not take the type apart at once


@cache
def formats() -> dict[str, Format]:
    text = Path(__file__).with_name("formats.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, Format])


@cache
def documents() -> dict[str, Format]:
    """The formats of documents."""
    return {name: each for name, each in formats().items() if each.prose}


def format_of(path: str) -> str:
    """The format of a file that no grammar reads, by its name; that of plain text where nothing else is known."""
    file = PurePosixPath(path.lower())
    by_name = (name for name, each in formats().items() if file.name in each.filenames)
    by_ending = (name for name, each in formats().items() if file.suffix[1:] in each.extensions)
    return next(chain(by_name, by_ending), "text")


def fence(path: str) -> str:
    """What a code fence calls the language of a file."""
    language, ending = language_of(path) or language_of(path.lower()), PurePosixPath(path).suffix[1:]
    return language.data.fences.get(ending, language.data.name) if language else format_of(path)


def display_name(name: str) -> str:
    """A language or a format as people write its name."""
    language, other = languages().get(name), formats().get(name, Format())
    return (language.data.title if language else other.title) or name.capitalize()


def other_names() -> dict[str, str]:
    """The languages and formats that can be asked for, by the other names people give them."""
    named = {name: each.data.aliases for name, each in languages().items()}
    named |= {name: each.aliases for name, each in documents().items()}
    return {alias: name for name, aliases in named.items() for alias in aliases}
