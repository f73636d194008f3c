"""Every reference to each function, type, trait and macro of a Cargo workspace, as rust-analyzer sees them.

    rust-analyzer lsif --exclude-vendored-libraries ROOT > NAME.lsif
    python benchmarks/oracles/rust_references.py NAME.lsif ROOT > rust_NAME.json

The dump is a graph of JSON lines: a range is bound to a result set, and the result set to the ranges of its definition
and of its uses. What is defined is told by the word before the name: functions, types, traits and macros, but not the
types that belong to a trait. `Self` is no use of a name.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

_DEFINES = re.compile(r"(?:\b(fn|struct|enum|union|trait|macro_rules!)|^(?:pub(?:\([^)]*\))?\s+)?(type))\s+(?:r#)?$")
_WORD = re.compile(r"\w+")


@dataclass
class Dump:
    documents: dict[int, str] = field(default_factory=dict)
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    definitions: dict[int, int] = field(default_factory=dict)
    """Of a result set, and so are its references: the number of the result."""
    references: dict[int, int] = field(default_factory=dict)
    items: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    """Of a result: the documents and ranges in it."""

    def add(self, record: dict[str, Any]) -> None:
        match record["label"]:
            case "document":
                self.documents[record["id"]] = record["uri"]
            case "range":
                self.starts[record["id"]] = (record["start"]["line"] + 1, record["start"]["character"])
            case "textDocument/definition":
                self.definitions[record["outV"]] = record["inV"]
            case "textDocument/references":
                self.references[record["outV"]] = record["inV"]
            case "item":
                self.items[record["outV"]] += [(record["document"], each) for each in record["inVs"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("root", type=Path)
    options = parser.parse_args()
    dump = Dump()
    with options.dump.open(encoding="utf-8") as lines:
        for line in lines:
            dump.add(json.loads(line))
    json.dump(_merged(_symbols(dump, options.root.resolve())), sys.stdout, indent=0)


def _merged(symbols: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """One for each place: a file that several crates share through a link has its symbols once for each of them."""
    found: dict[tuple[str, int, str], dict[str, Any]] = {}
    for each in symbols:
        same = found.setdefault((each["path"], each["line"], each["symbol"]), each)
        same["refs"] = sorted({*same["refs"], *each["refs"]})
    return list(found.values())


def _symbols(dump: Dump, root: Path) -> Iterator[dict[str, Any]]:
    paths = {number: _relative(uri, root) for number, uri in dump.documents.items()}
    for result_set, definition in dump.definitions.items():
        for document, place in dump.items[definition]:
            path, (line, column) = paths[document], dump.starts[place]
            kind, name = _defined(root / path, line, column) if path else ("", "")
            if kind:
                uses = dump.items[dump.references[result_set]] if result_set in dump.references else []
                refs = sorted(
                    {
                        (paths[each], dump.starts[use][0])
                        for each, use in uses
                        if paths[each] and _word(root / paths[each], *dump.starts[use]) != "Self"
                    }
                )
                yield {"kind": kind, "line": line, "path": path, "refs": refs, "symbol": name}


def _relative(uri: str, root: Path) -> str:
    path = Path(unquote(urlparse(uri).path)).resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""


def _defined(path: Path, line: int, column: int) -> tuple[str, str]:
    keyword, name = _DEFINES.search(_lines(path)[line - 1][:column]), _word(path, line, column)
    return ((keyword[1] or keyword[2]).rstrip("!"), name) if keyword and name else ("", "")


def _word(path: Path, line: int, column: int) -> str:
    found = _WORD.match(_lines(path)[line - 1], column)
    return found[0] if found else ""


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")


if __name__ == "__main__":
    main()
