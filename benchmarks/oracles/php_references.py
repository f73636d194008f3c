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
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from lsp import LanguageServer
from sources import Source, sources_in

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE, TYPES


class Intelephense(LanguageServer):
    def __init__(self, command: Path, root: Path, storage: Path) -> None:
        self._is_indexed = False
        options = {"storagePath": str(storage), "globalStoragePath": str(storage), "clearCache": True}
        initialization = {
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}},
            "initializationOptions": options,
        }
        super().__init__([str(command), "--stdio"], root, initialization)

    def wait_for_index(self) -> None:
        while not self._is_indexed:
            self.receive()

    def notice(self, message: dict[str, Any]) -> None:
        if message.get("method") == "indexingEnded":
            self._is_indexed = True


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
        json.dump([*_answers(server, chosen)], sys.stdout, indent=0)
        server.end()


def _symbols(source: Source) -> Iterator[tuple[str, int]]:
    for each in extract(source.language, source.text).symbols:
        if each.kind in CALLABLE | TYPES and each.name.isidentifier():
            yield each.name, each.name_line


def _answers(server: Intelephense, chosen: list[tuple[Source, tuple[str, int]]]) -> Iterator[dict[str, Any]]:
    for source, (name, line) in chosen:
        text = source.text.decode("utf-8", "replace")
        column = text.split("\n")[line - 1].find(f" {name}") + 1
        if column < 1:
            continue
        server.open(source.path, "php", text)
        refs = server.references(source.path, line, column)
        server.close(source.path)
        if refs:
            yield {"symbol": name, "path": source.path, "line": line, "refs": refs}


if __name__ == "__main__":
    main()
