"""Whether it works: starts a server as a client would, and asks a client itself."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

from codecairn import __version__, config
from codecairn.cancel import Cancel
from codecairn.clients import KnownClient
from codecairn.errors import CairnError
from codecairn.source import process

_PROTOCOL = "2025-06-18"
_LONGEST_S = 60.0
_ENDINGS = ("", ".cmd") if sys.platform == "win32" else ("",)
"""npm writes its programs as .cmd files on Windows."""
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Handshake:
    """The server's answer to `initialize`: how long it took, how many tools it has, or why there was none."""

    seconds: float = 0.0
    tools: int = 0
    version: str = ""
    problem: str = ""


def _message(number: int | None, method: str, params: dict[str, object]) -> str:
    identity = {} if number is None else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **identity, "method": method, "params": params})


_HELLO = _message(
    1, "initialize",
    {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": {"name": "cairn-setup", "version": __version__}},
)  # fmt: skip


def shake_hands(line: Sequence[str], folder: Path) -> Handshake:
    """Start a server by its command line, and ask for its tools. The ping waits for the server behind the greeting,
    which a project that cannot be served ends."""
    asked = [
        _HELLO, _message(None, "notifications/initialized", {}), _message(2, "tools/list", {}), _message(3, "ping", {}),
    ]  # fmt: skip
    began, answered = time.monotonic(), [0.0]

    def has_answered(output: bytearray) -> bool:
        if b"\n" in output and not answered[0]:
            answered[0] = time.monotonic() - began
        return output.count(b"\n") >= len(asked) - 1

    try:
        ran = process.run(
            [*line, "--no-index"], folder=folder, environment=config.child_environment(), timeout=_LONGEST_S,
            cancel=Cancel(), enough=has_answered, stdin="\n".join([*asked, ""]).encode(),
        )  # fmt: skip
        replies = {each.get("id"): each.get("result") or {} for each in map(json.loads, ran.output.splitlines())}
        hello, tools, _ = replies[1], replies[2], replies[3]
    except (OSError, CairnError) as error:
        return Handshake(problem=getattr(error, "message", None) or f"{line[0]}: {getattr(error, 'strerror', error)}")
    except (ValueError, KeyError, AttributeError):
        said = [each for each in ran.complaint.splitlines() if each.strip()]
        return Handshake(problem=said[-1] if said else f"it ended with status {ran.status} and answered nothing")
    return Handshake(answered[0], len(tools.get("tools", [])), hello.get("serverInfo", {}).get("version", ""))


def call(url: str, token: str) -> Handshake:
    """Say hello to a server over HTTP."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    began = time.monotonic()
    try:
        request = HttpRequest(url, _HELLO.encode(), headers)  # noqa: S310 - the scheme is checked by who asks
        with urlopen(request, timeout=_LONGEST_S) as answer:  # noqa: S310
            said = answer.read().decode()
        found = json.loads(re.sub(r"^data: ", "", next(row for row in said.splitlines() if '"result"' in row)))
    except (URLError, OSError, ValueError, StopIteration) as error:
        return Handshake(problem=f"{url}: {error}")
    return Handshake(time.monotonic() - began, version=found["result"].get("serverInfo", {}).get("version", ""))


@dataclass(frozen=True)
class Word:
    """What a client says of our entry; `is_connected` is None where a step is left to the user."""

    is_connected: bool | None
    text: str


def find_program(name: str, outside: Path) -> str | None:
    found = (process.find(f"{name}{ending}", outside=outside) for ending in _ENDINGS)
    return next(filter(None, found), None)


def ask_client(client: KnownClient, folder: Path) -> Word:
    program = find_program(client.check[0], folder) if client.check else None
    if program is None:
        return Word(None, "restart it; its list of MCP servers then names cairn")
    try:
        ran = process.run(
            [program, *client.check[1:]], folder=folder, environment=config.child_environment(), timeout=_LONGEST_S,
            cancel=Cancel(),
        )  # fmt: skip
    except (OSError, CairnError) as error:
        return Word(False, str(error))
    said = _ESCAPE.sub("", f"{ran.output.decode('utf-8', 'replace')}\n{ran.complaint}")
    if re.search(client.connected, said, re.MULTILINE):
        return Word(True, f"`{' '.join(client.check)}` says that it is there")
    if client.pending and re.search(client.pending, said):
        return Word(None, client.hint)
    rows = [" ".join(row.split()) for row in said.splitlines() if "cairn" in row]
    return Word(False, f"says: {rows[0]}" if rows else "does not name cairn")
