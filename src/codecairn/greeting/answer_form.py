"""In which form a client gets answers, by what it was seen to show its model (clients.toml)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from codecairn.clients import known_clients

if TYPE_CHECKING:
    from codecairn.tools import Answers

_READING_SINCE = "2025-06-18"
"""The first protocol version whose clients know structured values; before it, the text is the JSON of the value."""


class Client(NamedTuple):
    name: str
    version: str


def answers_for(protocol: str, client: Client | None, wanted: str) -> Answers:
    """The form of answers on a connection; `wanted` is `auto`, `text` or `both`."""
    if protocol < _READING_SINCE:
        return "json"
    if wanted == "text" or (wanted == "auto" and client is not None and shows_value_alone(client)):
        return "text"
    return "both"


def shows_value_alone(client: Client) -> bool:
    since = next((each.since for each in known_clients().values() if each.info == client.name), "")
    return bool(since) and _numbers(client.version) >= _numbers(since)


def _numbers(version: str) -> list[int]:
    """A version as numbers; one that is not known counts as the newest."""
    return [int(part) for part in re.findall(r"\d{1,9}", version)] or [1 << 30]
