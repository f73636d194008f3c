"""Cursors: where the next page of a list begins, bound to the query whose list it is.

A cursor is the base64 (of URLs, unpadded) of six bytes that stand for the query, four for the list it counts along, and
the place itself: a number of rows, or what else the tool counts by. The query is the tool, the project's root, the ref
in force and every argument but those of a page: `cursor`, `limit`, `maxCount`, `format`. So the next page may be longer
or of another format, and a cursor outlives the server that gave it, but with another query it is refused.

Inside, tools know places alone: the registry opens the cursor that a call gives, and seals the one that it answers.
Whatever draws a text finds the seal beside the arguments, under `SEAL`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from codecairn.errors import InvalidInput

Cursor = Annotated[str | None, Meta(description="next_cursor of the page before")]

MOVED = "The list has changed since the page before: rows may repeat or be missing. Leave cursor out to begin anew."
SEAL = "seal"
_QUERY, _SEQUENCE = 6, 4
_NO_SEQUENCE = bytes(_SEQUENCE)
_LONGEST = 200
_LARGEST_DIGITS = 9
_OF_A_PAGE = {"cursor", "limit", "maxCount", "format"}


class Bookmark(Struct, frozen=True):
    place: str
    sequence: bytes
    """Stands for the list that the page before was cut from."""

    def has_moved(self, sequence: str) -> bool:
        """Whether the tool now counts along another list; nobody knows where it names none."""
        return _NO_SEQUENCE not in (self.sequence, _digest_of(sequence)) and self.sequence != _digest_of(sequence)


class Cursors(Struct, frozen=True):
    """The cursors of one query."""

    query: bytes

    @classmethod
    def of(cls, tool: str, root: str, ref: str | None, arguments: Mapping[str, Any]) -> Cursors:
        asked = {name: value for name, value in arguments.items() if name not in _OF_A_PAGE}
        return cls(_digest(msgspec.json.encode([tool, root, ref, asked], order="deterministic"), _QUERY))

    def open(self, cursor: str | None) -> Bookmark | None:
        if cursor is None:
            return None
        query, bookmark = _decode(cursor)
        if query != self.query:
            raise _refusal("it is of another query: other arguments, or another tool, project or ref")
        return bookmark

    def seal(self, place: str, sequence: str = "") -> str:
        raw = self.query + _digest_of(sequence) + place.encode()
        return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def with_remark(value: Any, remark: str) -> Any:
    """The value with a remark where its kind has a place for one."""
    if hasattr(value, "metadata"):
        warnings = [*value.metadata.get("warnings", ()), remark]
        return msgspec.structs.replace(value, metadata={**value.metadata, "warnings": warnings})
    for name in ("warnings", "notes"):
        if hasattr(value, name):
            return msgspec.structs.replace(value, **{name: [*getattr(value, name), remark]})
    said = f"{value.message}. {remark}" if value.message else remark
    return msgspec.structs.replace(value, message=said)


def _digest_of(sequence: str) -> bytes:
    return _digest(sequence.encode(), _SEQUENCE) if sequence else _NO_SEQUENCE


def offset_of(place: str | None) -> int:
    """A place that is a number of rows."""
    if place is None:
        return 0
    if not place.isascii() or not place.isdigit() or len(place) > _LARGEST_DIGITS:
        raise _unknown()
    return int(place)


def _decode(cursor: str) -> tuple[bytes, Bookmark]:
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = raw[_QUERY + _SEQUENCE :].decode("ascii")
    except ValueError:
        raise _unknown() from None
    if not place or len(cursor) > _LONGEST:
        raise _unknown()
    return raw[:_QUERY], Bookmark(place, raw[_QUERY : _QUERY + _SEQUENCE])


def _digest(raw: bytes, size: int) -> bytes:
    return hashlib.blake2b(raw, digest_size=size).digest()


def _unknown() -> InvalidInput:
    return _refusal("it is not one that an answer gave")


def _refusal(reason: str) -> InvalidInput:
    return InvalidInput(
        f"cursor: {reason}", param="cursor", reason=reason,
        remedy="Give next_cursor as it came, with the very arguments of its answer, or leave cursor out to begin anew.",
    )  # fmt: skip
