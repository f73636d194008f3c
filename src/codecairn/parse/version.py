"""Which extractor a file's facts come from: facts of another are out of date."""

from __future__ import annotations

import re
from functools import cache
from hashlib import blake2b

import msgspec

from codecairn.parse.language import Extraction, languages

_VERSION = re.compile(r"^Version: *(\S+)", re.MULTILINE)
ENGINE = 1
"""Raised whenever the engine tells anything else of the same text, in any language."""


@cache
def _installed(package: str) -> str:
    """Its version, read from one line: parsing all that is said of twenty packages takes a tenth of a second."""
    from importlib.metadata import distribution  # noqa: PLC0415 - it costs more than the rest, and only indexing asks

    said = distribution(package).read_text("METADATA") or ""
    found = _VERSION.search(said)
    return found[1] if found else distribution(package).version


@cache
def extractor_version(language_name: str) -> str:
    """A digest of all that decides on a language's facts; for a document's format, of the engine alone."""
    told = [str(ENGINE), language_name]
    language = languages().get(language_name)
    if language is not None:
        module = language.data.grammar.partition(":")[0]
        told += [_installed("tree-sitter"), _installed(module.replace("_", "-"))]
        extraction = msgspec.convert(language.data, Extraction, from_attributes=True)
        told.append(msgspec.json.encode(extraction, order="deterministic").decode())
    return blake2b("\0".join(told).encode(), digest_size=8).hexdigest()
