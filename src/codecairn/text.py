"""Words about text: what a binary file is, and Markdown that cannot be broken out of."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

BINARY_KINDS = {
    "images": {".bmp", ".gif", ".ico", ".jpeg", ".jpg", ".png", ".svgz", ".tif", ".tiff", ".webp"},
    "fonts": {".eot", ".otf", ".ttf", ".woff", ".woff2"},
    "archives": {".7z", ".bz2", ".gz", ".jar", ".tar", ".tgz", ".whl", ".xz", ".zip", ".zst"},
    "documents": {".doc", ".docx", ".pdf", ".ppt", ".pptx", ".xls", ".xlsx"},
    "media": {".avi", ".flac", ".m4a", ".mkv", ".mov", ".mp3", ".mp4", ".ogg", ".wav", ".webm"},
    "libraries": {".a", ".class", ".dll", ".dylib", ".exe", ".o", ".pyc", ".so", ".wasm"},
}

BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks that change the order in which a terminal shows what follows them."""
_UNPRINTABLE = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029{BIDI}]")

CHARACTERS_PER_TOKEN = 3.5
"""Measured on code and Markdown with common tokenisers: 3.2 to 4.1. Low, so that a cap in tokens is kept."""


def binary_kind(path: str) -> str:
    suffix = PurePosixPath(path).suffix.lower()
    return next((kind for kind, suffixes in BINARY_KINDS.items() if suffix in suffixes), "other")


def code_fence(content: str, language: str) -> str:
    """A code block that its own content cannot close: the fence is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    end = "" if content.endswith("\n") else "\n"
    return f"{fence}{language}\n{content}{end}{fence}"


def decode(raw: bytes) -> str:
    """Bytes of a file, a path or a message as text that every encoder downstream accepts."""
    return raw.decode("utf-8", "replace")


def one_line(text: str, most: int | None = None) -> str:
    """A name or a subject that can neither end its line nor start another: what is not printable is spelled out."""
    clean = _UNPRINTABLE.sub(lambda found: found.group().encode("unicode_escape").decode(), text)
    return clean if most is None or len(clean) <= most else f"{clean[: most - 1]}…"


def tokens(text: str) -> int:
    return round(len(text) / CHARACTERS_PER_TOKEN)


def number_of(count: int, noun: str) -> str:
    """A count with its noun in the right number: "1 file", "2 files"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
