"""Reads the lines of a client until the door is there."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import Any

from codecairn.greeting.answer_form import Client
from codecairn.greeting.line_stream import Deliver, LineStream
from codecairn.greeting.rendered import Greeting

_LONGEST = 64 << 10
_LARGEST_ID = 1 << 53
_PARAMS = {"protocolVersion", "capabilities", "clientInfo"}


@dataclass(frozen=True)
class Answered:
    """A handshake that has its answer. The door goes on from there."""

    line: bytes
    protocol: str
    """The version agreed."""


class Greeter:
    def __init__(self, wire: LineStream, greeting: Greeting) -> None:
        self._wire = wire
        self._greeting = greeting
        self._lock = threading.Lock()
        self._kept: list[Any] = []
        self._door: Deliver | None = None
        self._client: tuple[str, Client] | None = None
        self._has_heard = threading.Event()

    def start(self) -> None:
        self._wire.start(self._take)

    def wait_for_line(self, seconds: float) -> None:
        """Wait until the first line is dealt with: imports in another thread would slow its answer."""
        self._has_heard.wait(seconds)

    def hand_over(self, door: Deliver) -> None:
        """Deliver the lines that were kept, and from now on every line."""
        with self._lock:
            for line in self._kept:
                door(line)
            self._kept.clear()
            self._door = door

    @property
    def has_answered(self) -> bool:
        return self._client is not None

    def _take(self, line: Any) -> None:
        with self._lock:
            if self._door is not None:
                self._door(line)
            else:
                self._greet(line)
        self._has_heard.set()

    def _greet(self, line: Any) -> None:
        request = _ordinary(line) if isinstance(line, bytes) else None
        if request is None:
            self._kept.append(line)
        elif request["method"] == "initialize" and not self._kept and is_handshake(request.get("params")):
            params = request["params"]
            result = self._greeting.rendered.handshake(params["protocolVersion"])
            self._answer(request, result)
            info = params["clientInfo"]
            self._client = (result["protocolVersion"], Client(info["name"], info["version"]))
            self._kept.append(Answered(line, result["protocolVersion"]))
        elif request["method"] == "tools/list" and self._client is not None and _asks_for_all(request):
            self._answer(request, self._greeting.tools_for(*self._client))
            self._wire.release_line()
        else:
            self._kept.append(line)

    def _answer(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        self._wire.send(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


def _ordinary(line: bytes) -> dict[str, Any] | None:
    """The request on a line, where nothing about it needs a second look."""
    if len(line) > _LONGEST:
        return None
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.keys() - {"jsonrpc", "id", "method", "params"}:
        return None
    is_named = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return message if is_named and is_plain_id(message.get("id")) else None


def _refuse(name: str) -> None:
    raise ValueError(name)


def is_plain_id(value: Any) -> bool:
    """Whether a value is an id, or a token, that every reader of JSON gives back as it is."""
    if isinstance(value, str):
        return value.isascii()
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST_ID


def _asks_for_all(request: dict[str, Any]) -> bool:
    """Whether a list is asked for whole, by a client that may want to hear of progress."""
    params = request.get("params", {})
    meta = params.get("_meta", {}) if isinstance(params, dict) and params.keys() <= {"_meta"} else None
    return isinstance(meta, dict) and meta.keys() <= {"progressToken"} and all(map(is_plain_id, meta.values()))


def is_handshake(params: Any) -> bool:
    """Whether the SDK accepts these params of `initialize`, told from the shapes that need no schema."""
    if not isinstance(params, dict) or params.keys() != _PARAMS:
        return False
    client = params["clientInfo"]
    return (
        isinstance(params["protocolVersion"], str)
        and isinstance(client, dict)
        and {"name", "version"} <= client.keys() <= {"name", "version", "title", "description", "websiteUrl"}
        and all(isinstance(value, str) for value in client.values())
        and _are_plain(params["capabilities"])
    )


def _are_plain(capabilities: Any) -> bool:
    """Objects in objects; of other values only `listChanged`, which is a boolean."""
    return isinstance(capabilities, dict) and all(
        isinstance(value, bool) if name == "listChanged" else _are_plain(value) for name, value in capabilities.items()
    )
