"""Every reference to functions and types of a PHP project, as intelephense sees them.

    npm install intelephense
    python benchmarks/oracles/php_references.py ROOT --server node_modules/.bin/intelephense > php_NAME.json

The server indexes the whole folder before the first question. Asked about are functions, methods and types, chosen at
random; the place of the definition itself is among its references.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

sys.path.insert(0, str(Path(__file__).parent.parent))

from sources import Source, sources_in

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE, TYPES


class Intelephense:
    """The language server as a child process, spoken to with headers before each message."""

    def __init__(self, command: Path, root: Path, storage: Path) -> None:
        self._process = subprocess.Popen(
            [str(command), "--stdio"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._number, self._is_indexed = 0, False
        folders = [{"uri": root.as_uri(), "name": root.name}]
        options = {"storagePath": str(storage), "globalStoragePath": str(storage), "clearCache": True}
        self.ask("initialize", {
            "processId": None, "rootUri": root.as_uri(), "workspaceFolders": folders,
            "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}},
            "initializationOptions": options,
        })  # fmt: skip
        self.tell("initialized", {})

    def tell(self, method: str, params: dict[str, Any]) -> None:
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == self._number and "method" not in message:
                return message.get("result")

    def wait_for_index(self) -> None:
        while not self._is_indexed:
            self._receive()

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while (line := self._process.stdout.readline().strip()) or not length:
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        if message.get("method") == "indexingEnded":
            self._is_indexed = True
        elif "method" in message and "id" in message:
            asked = message["params"].get("items", []) if isinstance(message.get("params"), dict) else []
            self._send({"id": message["id"], "result": [None] * len(asked) if asked else None})
        return message


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--server", type=Path, required=True)
    parser.add_argument("--symbols", type=int, default=300)
    options = parser.parse_args()
    root = options.root.resolve()
    sources = [each for each in sources_in(root) if each.language.data.name == "php"]
    symbols = [(source, each) for source in sources for each in _symbols(source)]
    chosen = random.Random(1).sample(symbols, min(options.symbols, len(symbols)))
    with tempfile.TemporaryDirectory() as storage:
        server = Intelephense(options.server.resolve(), root, Path(storage))
        server.wait_for_index()
        json.dump([*_answers(server, root, chosen)], sys.stdout, indent=0)


def _symbols(source: Source) -> Iterator[tuple[str, int]]:
    for each in extract(source.language, source.text).symbols:
        if each.kind in CALLABLE | TYPES and each.name.isidentifier():
            yield each.name, each.name_line


def _answers(
    server: Intelephense, root: Path, chosen: list[tuple[Source, tuple[str, int]]]
) -> Iterator[dict[str, Any]]:
    for source, (name, line) in chosen:
        text = source.text.decode("utf-8", "replace")
        column = text.split("\n")[line - 1].find(f" {name}") + 1
        if column < 1:
            continue
        uri = (root / source.path).as_uri()
        document = {"uri": uri, "languageId": "php", "version": 1, "text": text}
        server.tell("textDocument/didOpen", {"textDocument": document})
        found = server.ask(
            "textDocument/references",
            {
                "textDocument": {"uri": uri}, "position": {"line": line - 1, "character": column},
                "context": {"includeDeclaration": True},
            },
        )  # fmt: skip
        server.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        refs = sorted({place for place in (_place(each, root) for each in found or []) if place[0]})
        if refs:
            yield {"symbol": name, "path": source.path, "line": line, "refs": refs}


def _place(found: dict[str, Any], root: Path) -> tuple[str, int]:
    path = Path(unquote(urlparse(found["uri"]).path)).resolve()
    line = found["range"]["start"]["line"] + 1
    return (path.relative_to(root).as_posix(), line) if path.is_relative_to(root) else ("", line)


if __name__ == "__main__":
    main()
