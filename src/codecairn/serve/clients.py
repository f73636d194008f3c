"""In which form a client gets answers, by what it was seen to show its model (clients.toml)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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
    since = _known().get(client.name)
    return since is not None and _numbers(client.version) >= _numbers(since)


@cache
def _known() -> dict[str, str]:
    raw = files("codecairn.serve").joinpath("clients.toml").read_text(encoding="utf-8")
    return {each["name"]: each["since"] for each in tomllib.loads(raw)["client"]}


def _numbers(version: str) -> list[int]:
    """A version as numbers; one that is not known counts as the newest."""
    return [int(part) for part in re.findall(r"\d{1,9}", version)] or [1 << 30]
