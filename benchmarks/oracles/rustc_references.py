"""Every use of the functions and methods of some crates in the bodies of their functions, as rustc sees them.

    cargo +nightly rustc -p CRATE --lib -- -Zunpretty=thir-tree > CRATE.thir
    python benchmarks/oracles/rustc_references.py ROOT CRATE.thir… > rust_NAME.json

The dump is the typed tree of each body: an expression whose type is a function's own names that function, and its span
tells where. Asked about are functions outside of all types and methods of types' own: which implementation a call of a
trait's method means hangs on the type that it is called on, and rustc names the trait's method for all of them. What
stands in no body (imports, signatures, code that the build leaves out, the right sides of macros) is not judged.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from sources import sources_in

from codecairn.parse.extract import extract

_BODY = re.compile(r"DefId\(\d+:\d+ ~ ([^\[]+)\[\w+\](::.*)?\):$")
_FUNCTION = re.compile(r"ty: FnDef\(DefId\(\d+:\d+ ~ ([^\[]+)\[\w+\]::(.*?)\), \[")
_SPAN = re.compile(r"span: (\S+):(\d+):\d+: (\d+):\d+ \(#(\d+)\)")
_HOLDER = re.compile(r"\b(?:impl|trait|mod)\b")
_OF_TRAIT = re.compile(r"\btrait\b|\bimpl\b.*\bfor\b", re.DOTALL)
_LONGEST_HEAD = 60
"""Lines between the name of a function and its body."""

Place = tuple[str, int]


@dataclass
class Dump:
    bodies: dict[str, Place] = field(default_factory=dict)
    """Where the body of each function begins, by its path."""
    uses: dict[str, set[tuple[str, int, int]]] = field(default_factory=lambda: defaultdict(set))
    covered: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))

    def read(self, path: Path) -> None:
        body, function, seen = "", "", set[str]()
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                text = line.strip()
                if line.startswith("DefId(") and (head := _BODY.match(text)) is not None:
                    body = head[1] + (head[2] or "")
                elif text.startswith("ty: FnDef(") and (match := _FUNCTION.match(text)) is not None:
                    function = f"{match[1]}::{match[2]}"
                elif text.startswith("span: ") and (body or function or text not in seen):
                    seen.add(text)
                    self._add(body, function, text)
                    body = function = ""

    def _add(self, body: str, function: str, text: str) -> None:
        span = _SPAN.match(text)
        if span is None:
            return
        path, first, last = span[1], int(span[2]), int(span[3])
        if span[4] == "0":
            self.covered[path].update(range(first, last + 1))
        if body:
            self.bodies.setdefault(body, (path, first))
        if function:
            self.uses[function].add((path, first, last))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("dumps", type=Path, nargs="+")
    options = parser.parse_args()
    root, dump = options.root.resolve(), Dump()
    for path in options.dumps:
        dump.read(path)
    symbols = [*_symbols(dump, root)]
    files = {path: lines for path, lines in dump.covered.items() if (root / path).is_file()}
    left_out = {path: sorted({*range(1, len(_lines(root / path)) + 1)} - lines) for path, lines in files.items()}
    json.dump({"symbols": symbols, "left_out": left_out}, sys.stdout, indent=0)


def _symbols(dump: Dump, root: Path) -> list[dict[str, Any]]:
    own, found = _own_functions(root), list[dict[str, Any]]()
    for function, (path, begins) in dump.bodies.items():
        name = function.rpartition("::")[2]
        line = _head(root / path, name, begins) if name.isidentifier() and (root / path).is_file() else 0
        if (path, line, name) not in own:
            continue
        places = {place for use in dump.uses.get(function, ()) if (place := _place(root, name, *use))}
        found.append({"symbol": name, "path": path, "line": line, "refs": sorted(places - {(path, line)})})
    return found


def _own_functions(root: Path) -> set[tuple[str, int, str]]:
    """Functions outside of all types and methods of types' own, as the grammar sees them."""
    found = set[tuple[str, int, str]]()
    for source in sources_in(root):
        if source.language.data.name != "rust":
            continue
        lines = source.text.decode("utf-8", "replace").split("\n")
        for each in extract(source.language, source.text).symbols:
            if each.kind in ("function", "method") and not _is_of_trait(lines, each.name_line):
                found.add((source.path, each.name_line, each.name))
    return found


def _is_of_trait(lines: list[str], line: int) -> bool:
    """Whether the head around a line, which is set in less, is a trait's or an implementation's of one."""
    depth = _indent(lines[line - 1])
    for number in range(line - 2, -1, -1):
        if lines[number].strip() and _indent(lines[number]) < depth and _HOLDER.search(lines[number]):
            head = " ".join(lines[number : line - 1]).partition("{")[0]
            return _OF_TRAIT.search(head) is not None
    return False


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _head(path: Path, name: str, begins: int) -> int:
    """The line of a function's name, at or before the line that its body begins on."""
    for line in range(begins, max(0, begins - _LONGEST_HEAD), -1):
        if re.search(rf"\bfn\s+(?:r#)?{name}\b", _lines(path)[line - 1]):
            return line
    return 0


def _place(root: Path, name: str, path: str, first: int, last: int) -> Place | None:
    """Where a function is named in an expression, which its name ends."""
    if not (root / path).is_file():
        return None
    for line in range(last, first - 1, -1):
        if re.search(rf"\b{name}\b", _lines(root / path)[line - 1]):
            return path, line
    return None


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


if __name__ == "__main__":
    main()
