"""A project with an instruction catalogue, and the ways a client can ask about it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from jsonschema import Draft202012Validator

from codecairn import tools
from tests.support.doors import HttpDoor, LineDoor, MemoryDoor, RpcDoor, http_server, line_client, service

REGISTRY = tools.standard()
WAYS = ("tool", "slashed", "bare", "http", "rpc")
"""MCP tool and slashed name over stdio, bare method over stdio, MCP tool over HTTP, bare method at POST /rpc."""

NOBODY = 65534
OLD = 1_700_000_000
"""A time of last change, so long ago that no reader takes the file for half written."""


def entry(identity: str = "a", **changes: Any) -> dict[str, Any]:
    """The fields of a file that loads; a field set to `...` is left out."""
    fields = {
        "id": identity, "title": f"Title of {identity}", "body": f"Body of {identity}.", "priority": 50,
        "audience": "all", "requirement": "recommended", "categories": ["general"], "schemaVersion": "1",
        "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-02-01T00:00:00Z", **changes,
    }  # fmt: skip
    return {name: value for name, value in fields.items() if value is not ...}


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def aggregate(bodies: dict[str, str]) -> str:
    """The catalogue's hash, reckoned apart from the product: id → normalised body."""
    return sha256("|".join(f"{identity}:{sha256(body)}" for identity, body in sorted(bodies.items())))


@dataclass(frozen=True)
class Catalogue:
    root: Path
    home: Path

    @property
    def folder(self) -> Path:
        return self.root / "instructions"

    def add(self, identity: str = "a", *, file: str | None = None, **changes: Any) -> Path:
        return self.write(file or f"{identity}.json", json.dumps(entry(identity, **changes)))

    def write(self, name: str, content: str | bytes, *, settled: bool = True) -> Path:
        """A file of the folder, by default with a time of last change long past."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        if settled:
            os.utime(path, (OLD, OLD))
        return path

    def gates(self, *gates: dict[str, Any]) -> None:
        self.write("gates.json", json.dumps({"gates": gates}))

    def criteria(self, content: Any) -> Path:
        path = self.root / "docs" / "PROMPT-CRITERIA.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        os.utime(path, (OLD, OLD))
        return path

    def rules(self, *rules: dict[str, Any], category: str = "house") -> Path:
        given = [{"severity": "low", "description": "A rule of the house", **rule} for rule in rules]
        return self.criteria({"version": "1", "categories": [{"id": category, "rules": given}]})


@contextmanager
def without_privileges() -> Iterator[None]:
    """As somebody whom file permissions bind: the tests may run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


class Asks(Protocol):
    """Sends a bare method, or the tool call that means the same; returns the value, or the error with `error`."""

    def __call__(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Client:
    name: str
    _ask: Asks

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The value of a call that must succeed."""
        value = self.answer(method, **params)
        assert "error" not in value, value
        return value

    def refused(self, method: str, **params: Any) -> dict[str, Any]:
        """The code, message and data of a call that must fail."""
        error: dict[str, Any] = self.answer(method, **params)["error"]
        return error

    def answer(self, method: str, **params: Any) -> dict[str, Any]:
        """Whatever comes back, checked against the tool's schema."""
        value = self._ask(method, params or None)
        Draft202012Validator(tool_of(method).output_schema).validate(value)
        if method in ("instructions/list", "instructions/search") and "fields" not in params and "items" in value:
            for item in value["items"]:
                whole_entry().validate(item)
        return value


def tool_of(method: str) -> tools.Tool:
    return REGISTRY.methods[method]


def whole_entry() -> Draft202012Validator:
    whole = tool_of("instructions/get").output_schema
    return Draft202012Validator({"$ref": "#/$defs/CatalogEntry", "$defs": whole["$defs"]})


def by_tool(door: Any, named: Callable[[str], str]) -> Asks:
    def ask(method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        answer = door.call(named(method), params)
        assert answer.rpc_error is None, answer
        assert answer.is_error == ("error" in answer.value)
        value: dict[str, Any] = answer.value
        return value

    return ask


def by_method(request: Callable[..., Any]) -> Asks:
    def ask(method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        message = request(method, params)
        value: dict[str, Any] = {"error": message["error"]} if "error" in message else message["result"]
        return value

    return ask


def tool_name(method: str) -> str:
    return method.replace("/", "_")


def slashed(method: str) -> str:
    return method


@contextmanager
def client_of(way: str, catalogue: Catalogue) -> Iterator[Client]:
    served = service(catalogue.root, data=catalogue.home)
    if way == "memory":
        yield Client(way, by_tool(MemoryDoor(served), tool_name))
    elif way in ("http", "rpc"):
        with http_server(served) as port:
            asks = by_tool(HttpDoor(port), tool_name) if way == "http" else by_method(RpcDoor(port).request)
            yield Client(way, asks)
    else:
        with line_client(served) as line:
            if way == "bare":
                yield Client(way, by_method(line.request))
            else:
                yield Client(way, by_tool(LineDoor("stdio", line), tool_name if way == "tool" else slashed))
