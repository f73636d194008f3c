"""Lines that no sane client sends, and what a correct server owes for each.

`Lines` makes them from known messages by mutation; `owed` says, knowing nothing of the product, which answer the
JSON-RPC rules and the contract demand.
"""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.support.wire import ENVELOPE

_CLIENT = {"name": "fuzz", "version": "0"}
_PLAIN: list[tuple[str, Any]] = [
    ("health/check", {}),
    ("sample/echo", {"text": "a", "times": 2}),
    ("sample/bug", {}),
    ("metrics/snapshot", {}),
    ("tools/list", {}),
    ("tools/list", {"cursor": "x"}),
    ("tools/call", {"name": "sample_echo", "arguments": {"text": "a", "times": 2}}),
    ("tools/call", {"name": "sample/echo", "arguments": {"text": "a"}, "_meta": {"progressToken": "p"}}),
    ("tools/call", {"name": "sample_progress", "arguments": {"steps": 2}, "_meta": {"progressToken": 3}}),
    ("tools/call", {"name": "git_blame", "arguments": {"filePath": "no.txt", "startLine": 1, "endLine": 2}}),
    ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": _CLIENT}),
    ("server/discover", {}),
    ("ping", {}),
    ("logging/setLevel", {"level": "debug"}),
    ("resources/read", {"uri": "context://project/overview"}),
    ("resources/list", {}),
    ("prompts/get", {"name": "p", "arguments": {"a": "b"}}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "b"}}),
    ("no/such/method", {"a": [1, {"b": None}]}),
    ("", {}),
    ("tools/call ", {}),
]
_NOTIFICATIONS: list[tuple[str, Any]] = [
    ("notifications/initialized", {}),
    ("notifications/cancelled", {"requestId": "nobody", "reason": "fuzz"}),
    ("notifications/progress", {"progressToken": 1, "progress": 0.5, "total": 1}),
    ("notifications/roots/list_changed", {}),
    ("notifications/no/such", {}),
    ("sample/echo", {"text": "a"}),
]
_ODD: list[Any] = [
    None, True, False, 0, -1, 1, 1.5, -0.0, 2**31, 2**53 + 1, 2**64, 10**30, 1e308, "", " ", "0", "a", "\x00", "\ud800",
    "\udfff\ud800", "é☃\U0001f600", "x" * 3000, "../../etc/passwd", "-rf", "\n", "null", [], {}, [[]], [{}], {"": ""},
    {"a": {"b": {"c": [1, 2, 3]}}}, [None] * 50, {"jsonrpc": "2.0"}, {"__proto__": 1}, {"\ud800": 1}, {"name": 1},
]  # fmt: skip
_RAW_NUMBERS = [
    b"9" * 5000,
    b"1e999",
    b"-1e999",
    b"-0",
    b"1E400",
    b"0." + b"1" * 5000,
    b"123456789012345678901234567890",
]
_RAW_NONSENSE = [
    b"", b"{", b"}", b"[", b"]", b'"', b"\\", b",", b"nul", b"NaN", b"Infinity", b"-", b"01", b"+1", b".5", b"'a'",
    b"\x00", b"\xff", b"\xfe\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf",
    b"\xef\xbb\xbf{}", b"{}{}", b'{"a":1,}', b"[1,]", b"/**/{}", b"Content-Length: 2\r\n\r\n{}",
    b"GET / HTTP/1.1", b"\x1b[0m", b"\x85", b"\x0c1",
    b"[" * 100_000, b"[" * 300 + b"]" * 300, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 250 + b"1" + b"}" * 250,
]  # fmt: skip
_MARK = "@number@"


@dataclass(frozen=True)
class Owed:
    """What one line is owed: `kind` is nothing, error, answer, array or maybe; error and answer carry an id."""

    kind: str
    id: Any = None
    code: int | None = None


def is_id(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))


def owed(line: bytes, longest: int) -> Owed:
    if not line.strip():
        return Owed("nothing")
    if len(line) + 1 > longest:
        return Owed("error", None, -32700)
    try:
        message = json.loads(line.decode("utf-8-sig"), parse_constant=_refused, parse_int=_whole)
    except (ValueError, RecursionError):
        return Owed("error", None, -32700)
    if _too_deep(message):
        return Owed("error", None, -32700)
    if isinstance(message, list):
        return Owed("array") if message else Owed("error", None, -32600)
    return _owed_for_one(message)


def _owed_for_one(message: Any) -> Owed:
    if not isinstance(message, dict):
        return Owed("error", None, -32600)
    id_ = message.get("id")
    if "method" not in message and "id" in message and ("result" in message or "error" in message):
        return Owed("maybe")
    formed = message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    formed = formed and isinstance(message.get("params"), dict | list | None)
    if not formed or ("id" in message and not is_id(id_)):
        return Owed("error", id_ if is_id(id_) else None, -32600)
    return Owed("answer", id_) if "id" in message else Owed("nothing")


def _refused(name: str) -> None:
    raise ValueError(name)


def _whole(digits: str) -> float:
    return int(digits) if len(digits) < 4000 else math.inf


def _too_deep(message: Any) -> bool:
    level = [message]
    for _ in range(200):
        level = [child for each in level for child in _children(each)]
    return bool(level)


def _children(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


class Lines:
    """An endless supply. Ids are fresh unless a mutation struck them; no line withdraws a request under way."""

    def __init__(self, rng: random.Random, *, modern: bool = False, longest: int = 1 << 20) -> None:
        self._rng = rng
        self._modern = modern
        self._longest = longest
        self._number = 0

    def take(self, count: int) -> Iterator[bytes]:
        made = 0
        while made < count:
            line = self._line()
            if b"\n" not in line and not _withdraws(line):
                made += 1
                yield line

    def _line(self) -> bytes:
        roll = self._rng.random()
        if roll < 0.08:
            return self._rng.choice(_RAW_NONSENSE)
        if roll < 0.085:
            return b'{"jsonrpc":"2.0","id":1,"method":"health/check","params":{"a":"' + b"x" * self._longest + b'"}}'
        if roll < 0.15:
            return self._dumped(
                [self._mutated(self._message()) for _ in range(self._rng.randint(0, 4))] + [self._request()]
            )
        if roll < 0.25:
            return self._dumped(self._message())
        line = self._dumped(self._mutated(self._message()))
        return self._bruised(line) if roll > 0.75 else line

    def _message(self) -> Any:
        roll = self._rng.random()
        if roll < 0.12:
            return {
                "jsonrpc": "2.0",
                "id": self._fresh_id(),
                **self._rng.choice([{"result": {}}, {"error": {"code": 1, "message": "m"}}]),
            }
        if roll < 0.25:
            method, params = self._rng.choice(_NOTIFICATIONS)
            return {"jsonrpc": "2.0", "method": method, "params": copy.deepcopy(params)}
        return self._request()

    def _request(self) -> dict[str, Any]:
        method, params = copy.deepcopy(self._rng.choice(_PLAIN))
        if self._modern and self._rng.random() < 0.8:
            params["_meta"] = {**params.get("_meta", {}), **copy.deepcopy(ENVELOPE)}
        return {"jsonrpc": "2.0", "id": self._fresh_id(), "method": method, "params": params}

    def _fresh_id(self) -> Any:
        self._number += 1
        return self._number + 10_000 if self._rng.random() < 0.5 else f"f{self._number}"

    def _mutated(self, message: Any) -> Any:
        for _ in range(self._rng.choice([1, 1, 1, 2, 3])):
            self._strike(message)
        return message

    def _strike(self, message: Any) -> None:
        """Replace, remove or add something at a random place."""
        places = [place for place in _places(message) if place[0]]
        container, key = self._rng.choice(places) if places else (message, "x")
        what = self._rng.random()
        if what < 0.65:
            container[key] = self._odd()
        elif what < 0.85:
            del container[key]
        elif isinstance(container, dict):
            container[self._rng.choice(["extra", "", "_meta", "id", "\ud800"])] = self._odd()

    def _odd(self) -> Any:
        return _MARK if self._rng.random() < 0.1 else copy.deepcopy(self._rng.choice(_ODD))

    def _dumped(self, message: Any) -> bytes:
        plain = self._rng.random() < 0.5
        try:
            line = json.dumps(message, ensure_ascii=plain).encode()
        except UnicodeEncodeError:
            line = json.dumps(message).encode()
        while (mark := json.dumps(_MARK).encode()) in line:
            line = line.replace(mark, self._rng.choice(_RAW_NUMBERS), 1)
        return line

    def _bruised(self, line: bytes) -> bytes:
        at = self._rng.randrange(len(line) + 1)
        how = self._rng.random()
        if how < 0.4:
            return line[:at]
        if how < 0.6:
            return line[:at] + self._rng.choice([b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud800", b'"', b"}"]) + line[at:]
        if how < 0.8:
            return line[:at] + bytes([self._rng.randrange(256)]) + line[at + 1 :]
        return self._rng.choice([b"\xef\xbb\xbf", b" ", b"\t", b"\r", b"\x00"]) + line


def _places(value: Any) -> list[tuple[Any, Any]]:
    here = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    return [(value, key) for key, _ in here] + [place for _, child in here for place in _places(child)]


def _withdraws(line: bytes) -> bool:
    return b"notifications/cancelled" in line and b'"nobody"' not in line
