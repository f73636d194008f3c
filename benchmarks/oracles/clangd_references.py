"""Every reference to functions of a C or C++ project, as clangd sees them.

    python benchmarks/oracles/clangd_references.py ROOT --flags FOLDER [--symbols 150] > cpp_NAME.json

FOLDER holds the project's compile_commands.json, which cmake writes with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; clangd
indexes what is named there before the first question. Asked about are functions and methods that are defined in files
of that list or in headers, chosen at random. A macro's use has no place of its own in clangd, so macros are left out,
and so is `main`, which is one to clangd in all programs.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

sys.path.insert(0, str(Path(__file__).parent.parent))

from sources import Source, sources_in

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE
from codecairn.parse.language import family


class Clangd:
    """The language server as a child process, spoken to with headers before each message."""

    def __init__(self, root: Path, flags: Path) -> None:
        options = ["--background-index", "-j=2", "--limit-references=0", "--log=error"]
        command = ["clangd", f"--compile-commands-dir={flags}", *options]
        self._process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._number = 0
        self._is_indexed = False
        capabilities = {"window": {"workDoneProgress": True}}
        self.ask("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": capabilities})
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
        if message.get("method") == "window/workDoneProgress/create":
            self._send({"id": message["id"], "result": None})
        if message.get("method") == "$/progress":
            value = message["params"]["value"]
            print(value.get("message", value["kind"]), file=sys.stderr, flush=True)
            self._is_indexed = value["kind"] == "end"
        return message


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--flags", type=Path, required=True)
    parser.add_argument("--symbols", type=int, default=150)
    options = parser.parse_args()
    root = options.root.resolve()
    listed = json.loads((options.flags / "compile_commands.json").read_text())
    compiled = {Path(each["directory"], each["file"]).resolve() for each in listed}
    sources = [each for each in sources_in(root) if family(each.language.data.name) == "c"]
    known = [each for each in sources if root / each.path in compiled or Path(each.path).suffix.startswith(".h")]
    symbols = [(source, each) for source in known for each in _functions(source)]
    chosen = random.Random(1).sample(symbols, min(options.symbols, len(symbols)))
    clangd = Clangd(root, options.flags.resolve())
    _open(clangd, root, next(source for source in known if root / source.path in compiled))
    clangd.wait_for_index()
    json.dump([*_answers(clangd, root, chosen)], sys.stdout, indent=0)


def _functions(source: Source) -> Iterator[tuple[str, int]]:
    """The name and line of each function that is defined in a file."""
    lines = source.text.decode("utf-8", "replace").split("\n")
    for each in extract(source.language, source.text).symbols:
        is_macro = "#" in lines[each.start_line - 1].partition(each.name)[0]
        if each.kind in CALLABLE and each.name.isidentifier() and each.name != "main" and not is_macro:
            yield each.name, each.name_line


def _open(clangd: Clangd, root: Path, source: Source) -> None:
    text = source.text.decode("utf-8", "replace")
    document = {
        "uri": (root / source.path).as_uri(),
        "languageId": source.language.data.name,
        "version": 1,
        "text": text,
    }
    clangd.tell("textDocument/didOpen", {"textDocument": document})


def _answers(clangd: Clangd, root: Path, chosen: list[tuple[Source, tuple[str, int]]]) -> Iterator[dict[str, Any]]:
    for source, (name, line) in chosen:
        column = source.text.decode("utf-8", "replace").split("\n")[line - 1].find(name)
        if column < 0:
            continue
        _open(clangd, root, source)
        uri = (root / source.path).as_uri()
        found = clangd.ask(
            "textDocument/references",
            {
                "textDocument": {"uri": uri}, "position": {"line": line - 1, "character": column},
                "context": {"includeDeclaration": True},
            },
        )  # fmt: skip
        clangd.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        places = (_place(each, root) for each in found or [])
        refs = sorted({place for place in places if place[0]})
        if (source.path, line) in refs:  # else it does not see the definition: another platform's
            print(name, len(refs), file=sys.stderr, flush=True)
            yield {"symbol": name, "path": source.path, "line": line, "refs": refs}


def _place(found: dict[str, Any], root: Path) -> tuple[str, int]:
    path = Path(unquote(urlparse(found["uri"]).path)).resolve()
    line = found["range"]["start"]["line"] + 1
    return (path.relative_to(root).as_posix(), line) if path.is_relative_to(root) else ("", line)


if __name__ == "__main__":
    main()
