"""A language server as a child process: headers before each message, one question at a time."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

Place = tuple[str, int]


class LanguageServer:
    def __init__(self, command: Sequence[str], root: Path, initialization: dict[str, Any]) -> None:
        self.root = root
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._number = 0
        self.capabilities: dict[str, Any] = {}
        answer = self.ask("initialize", {"processId": None, "rootUri": root.as_uri(), **initialization})
        self.capabilities = answer["capabilities"]
        self.tell("initialized", {})

    @property
    def process_id(self) -> int:
        return self._process.pid

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self.receive()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")

    def references(self, path: str, line: int, column: int) -> list[Place]:
        """The lines on which the name of a place is used, the place of its definition among them."""
        asked = {
            "textDocument": {"uri": self.uri(path)}, "position": {"line": line - 1, "character": column},
            "context": {"includeDeclaration": True},
        }  # fmt: skip
        places = (self._place(each) for each in self.ask("textDocument/references", asked) or [])
        return sorted({place for place in places if place[0]})

    def open(self, path: str, language: str, text: str) -> None:
        document = {"uri": self.uri(path), "languageId": language, "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})

    def close(self, path: str) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": self.uri(path)}})

    def uri(self, path: str) -> str:
        return (self.root / path).as_uri()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def receive(self) -> dict[str, Any]:
        """The next message; a question of the server is answered with nothing."""
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline()).strip() or not length:
            if not line:
                raise RuntimeError("the language server ended")
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        if "method" in message and "id" in message:
            asked = message["params"].get("items", []) if isinstance(message.get("params"), dict) else []
            self._send({"id": message["id"], "result": [None] * len(asked) if asked else None})
        self.notice(message)
        return message

    def notice(self, message: dict[str, Any]) -> None:
        """See each message that comes in."""

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _place(self, found: dict[str, Any]) -> Place:
        path = Path(unquote(urlparse(found["uri"]).path)).resolve()
        line = found["range"]["start"]["line"] + 1
        return (path.relative_to(self.root).as_posix(), line) if path.is_relative_to(self.root) else ("", line)
