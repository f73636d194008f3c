"""Which extractor a file's facts come from: facts of another are out of date."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import msgspec

from codecairn.parse.language import languages

ENGINE = 1
"""Raised whenever the engine tells anything else of the same text, in any language."""


@cache
def extractor_version(language_name: str) -> str:
    """A digest of all that decides on a language's facts; for a document's format, of the engine alone."""
    told = [str(ENGINE), language_name]
    language = languages().get(language_name)
    if language is not None:
        from importlib.metadata import version  # noqa: PLC0415 - it costs more than the rest, and only indexing asks

        module = language.data.grammar.partition(":")[0]
        told += [version("tree-sitter"), version(module.replace("_", "-"))]
        told.append(msgspec.json.encode(language.data, order="deterministic").decode())
    return blake2b("\0".join(told).encode(), digest_size=8).hexdigest()
