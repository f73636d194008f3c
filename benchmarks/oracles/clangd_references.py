"""Every reference to functions of a C or C++ project, as clangd sees them.

    python benchmarks/oracles/clangd_references.py ROOT --flags FOLDER [--symbols 150] [--under FOLDER,…] [--as-one]
        [--clangd clangd-19]

FOLDER holds the project's compile_commands.json, which cmake writes with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON; clangd
indexes what is named there before the first question, and keeps the index there for the next time. Asked about are
functions and methods that are defined in files of that list or in headers, chosen at random. A macro's use has no place
of its own in clangd, so macros are left out, and so is `main`, which is one to clangd in all programs. A call that a
macro makes stands, for clangd, where the macro is used; only lines on which the name is written count.

Code that the build leaves out (`#ifdef` of another platform or option) has no references in clangd. Which lines these
are it tells among its semantic tokens; they are written beside the symbols, and references there are not judged. Nor
are, for one name, lines of templates on which clangd marks that very name as one that hangs on the template's
arguments: they are written with the symbol, whether it reports them or not. Both are asked of each file in which a
reference was reported at all, before anything that `find_references` says is known.

With `--as-one`, functions of one name and one scope are one symbol, as `find_references` takes overloads.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

from lsp import LanguageServer
from sources import Source, sources_in

from codecairn.names.qualified import last_part
from codecairn.parse.extract import extract
from codecairn.parse.facts import Symbol
from codecairn.parse.kinds import CALLABLE
from codecairn.parse.language import family
from codecairn.resolve.values import by_key

_LEFT_OUT = "comment"
"""The kind of token that clangd gives lines which are not compiled; comments have none."""
_UNKNOWN, _DEPENDENT = "unknown", "dependentName"
_BETWEEN_S = 0.2


_Placed = tuple[Source, Symbol]


class _Blind(NamedTuple):
    """The lines of a file that are not compiled, and those on which a name hangs on a template's arguments."""

    left_out: set[int]
    unknown: set[tuple[str, int]]


class Clangd(LanguageServer):
    def __init__(self, command: str, root: Path, flags: Path) -> None:
        self._is_indexed = False
        options = ["--background-index", "-j=2", "--limit-references=0", "--log=error"]
        kinds = {"requests": {"full": True}, "tokenTypes": [_LEFT_OUT], "tokenModifiers": [], "formats": ["relative"]}
        capabilities = {"window": {"workDoneProgress": True}, "textDocument": {"semanticTokens": kinds}}
        super().__init__([command, f"--compile-commands-dir={flags}", *options], root, {"capabilities": capabilities})

    def wait_for_index(self) -> None:
        Thread(target=self._hasten, daemon=True).start()
        while not self._is_indexed:
            self.receive()

    def _hasten(self) -> None:
        """Give the threads that index their share: for each file anew, clangd has them run on an idle machine alone,
        whatever it is told, and on a busy one they had three seconds of CPU in two minutes."""
        while not self._is_indexed:
            for task in Path(f"/proc/{self.process_id}/task").iterdir():
                if os.sched_getscheduler(int(task.name)) == os.SCHED_IDLE:
                    os.sched_setscheduler(int(task.name), os.SCHED_OTHER, os.sched_param(0))
            sleep(_BETWEEN_S)

    def notice(self, message: dict[str, Any]) -> None:
        if message.get("method") == "$/progress":
            value = message["params"]["value"]
            print(value.get("message", value["kind"]), file=sys.stderr, flush=True)
            self._is_indexed = value["kind"] == "end"

    def blind(self, source: Source) -> _Blind:
        """What it cannot know of an open file."""
        legend = self.capabilities["semanticTokensProvider"]["legend"]
        tokens = self.ask("textDocument/semanticTokens/full", {"textDocument": {"uri": self.uri(source.path)}})
        data, line, column, found = (tokens or {}).get("data", []), 0, 0, _Blind(set(), set())
        text = source.text.decode("utf-8", "replace").split("\n")
        for at in range(0, len(data), 5):
            line, column = line + data[at], data[at + 1] + (0 if data[at] else column)
            kind = legend["tokenTypes"][data[at + 3]]
            marks = {mark for bit, mark in enumerate(legend["tokenModifiers"]) if data[at + 4] >> bit & 1}
            if kind == _LEFT_OUT:
                found.left_out.add(line + 1)
            elif kind == _UNKNOWN or _DEPENDENT in marks:
                found.unknown.add((text[line][column : column + data[at + 2]], line + 1))
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--flags", type=Path, required=True)
    parser.add_argument("--symbols", type=int, default=150)
    parser.add_argument("--as-one", action="store_true")
    parser.add_argument("--clangd", default="clangd")
    parser.add_argument("--under", type=lambda text: tuple(text.split(",")), default=("",))
    options = parser.parse_args()
    root = options.root.resolve()
    listed = json.loads((options.flags / "compile_commands.json").read_text())
    compiled = {Path(each["directory"], each["file"]).resolve() for each in listed}
    sources = [each for each in sources_in(root) if family(each.language.data.name) == "c"]
    known = [each for each in sources if root / each.path in compiled or Path(each.path).suffix.startswith(".h")]
    asked = [each for each in known if each.path.startswith(options.under)]
    symbols = [(source, each) for source in asked for each in _functions(source)]
    chosen = random.Random(1).sample(symbols, min(options.symbols, len(symbols)))
    clangd = Clangd(options.clangd, root, options.flags.resolve())
    _open(clangd, next(source for source in known if root / source.path in compiled))
    clangd.wait_for_index()
    same = by_key(symbols, lambda each: each[1].path) if options.as_one else {}
    answers = [*_answers(clangd, chosen, same)]
    json.dump({"symbols": answers, "left_out": _leave_out(clangd, known, answers)}, sys.stdout, indent=0)
    clangd.end()


def _functions(source: Source) -> Iterator[Symbol]:
    """The functions that are defined in a file."""
    lines = source.text.decode("utf-8", "replace").split("\n")
    for each in extract(source.language, source.text).symbols:
        is_macro = "#" in lines[each.start_line - 1].partition(each.name)[0]
        if each.kind in CALLABLE and each.name.isidentifier() and each.name != "main" and not is_macro:
            yield each


def _open(clangd: Clangd, source: Source) -> None:
    clangd.open(source.path, source.language.data.name, source.text.decode("utf-8", "replace"))


def _answers(clangd: Clangd, chosen: list[_Placed], same: dict[str, list[_Placed]]) -> Iterator[dict[str, Any]]:
    """File by file, as opening one takes clangd seconds."""
    wanted = {id(each[1]): each for symbol in chosen for each in [symbol, *same.get(symbol[1].path, ())]}
    uses = dict[int, set[tuple[str, int]]]()
    for _, group in groupby(sorted(wanted.values(), key=lambda each: each[0].path), key=lambda each: each[0].path):
        symbols = [*group]
        source = symbols[0][0]
        _open(clangd, source)
        uses |= {id(symbol): _uses(clangd, source, symbol) for _, symbol in symbols}
        clangd.close(source.path)
    for source, symbol in chosen:
        if uses[id(symbol)]:  # else it does not see the definition: another platform's
            others = same.get(symbol.path, ())
            refs = {place for each in [(source, symbol), *others] for place in uses[id(each[1])]}
            print(symbol.name, len(refs), file=sys.stderr, flush=True)
            yield {
                "symbol": symbol.path, "path": source.path, "line": symbol.name_line, "refs": sorted(refs),
                "unknown": [],
            }  # fmt: skip


def _uses(clangd: Clangd, source: Source, symbol: Symbol) -> set[tuple[str, int]]:
    name, line = symbol.name, symbol.name_line
    text = source.text.decode("utf-8", "replace").split("\n")[line - 1]
    head = re.search(rf"\b{name}\b(?=\s*[(<])", text)  # not the type of `Type::Type(`
    column = head.start() if head is not None else text.find(name)
    found = clangd.references(source.path, line, column) if column >= 0 else []
    word = re.compile(rf"\b{name}\b")
    refs = {(path, number) for path, number in found if word.search(_line(clangd.root, path, number))}
    return refs if (source.path, line) in refs else set()


def _line(root: Path, path: str, number: int) -> str:
    return _lines(root / path)[number - 1]


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").split("\n")


def _leave_out(clangd: Clangd, known: list[Source], answers: list[dict[str, Any]]) -> dict[str, list[int]]:
    """The lines that the build leaves out, of the files that are reported; what is unknown is put to each symbol."""
    reported = {path for each in answers for path, _ in each["refs"]}
    found = dict[str, list[int]]()
    for source in known:
        if source.path in reported:
            _open(clangd, source)
            blind = clangd.blind(source)
            clangd.close(source.path)
            found[source.path] = sorted(blind.left_out)
            print(source.path, len(blind.left_out), len(blind.unknown), file=sys.stderr, flush=True)
            for each in answers:
                name = last_part(each["symbol"])
                each["unknown"] += [[source.path, line] for word, line in sorted(blind.unknown) if word == name]
    return found


if __name__ == "__main__":
    main()
