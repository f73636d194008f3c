"""Every symbol of a checkout with a hash of its text, found by parsing every file: what drift is held against.

Nothing here asks an index. A file is parsed once for each content it had.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from codecairn.memory.drift_check import Status
from codecairn.names.qualified import qualified_name
from codecairn.parse.extract import extract
from codecairn.parse.language import language_of
from codecairn.source.file_content import Skip, classify, read_text
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow


class Seen(NamedTuple):
    """A symbol as it stood in some commit."""

    name: str
    qualified: str
    digest: str
    path: str


class Checkout:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._parsed: dict[tuple[str, bytes], list[Seen]] = {}

    def symbols(self) -> dict[str, list[Seen]]:
        """Those of the files as they are now, by name."""
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=self._root, capture_output=True, check=True).stdout
        found: defaultdict[str, list[Seen]] = defaultdict(list)
        for path in filter(None, listed.decode().split("\0")):
            for seen in self._file(path):
                found[seen.name].append(seen)
        return found

    def _file(self, path: str) -> list[Seen]:
        content = read_text(self._root, path, 1_000_000)
        if isinstance(content, Skip) or classify(path, content.text):
            return []
        key = (path, hashlib.sha256(content.raw).digest())
        if key not in self._parsed:
            self._parsed[key] = _symbols(path, content.text)
        return self._parsed[key]


def _symbols(path: str, source: bytes) -> list[Seen]:
    language = language_of(path, source)
    if language is None:
        return []
    facts = extract(language, source)
    file = FileRow(0, path, facts.language, facts.package, facts.lines)
    found = []
    for number, each in enumerate(facts.symbols):
        row = SymbolRow(
            number, each.kind, each.name, each.path, each.signature, each.doc, each.start_line, each.end_line,
            each.name_line, each.parent, each.ordinal, each.returns, "", b"",
        )  # fmt: skip
        digest = hashlib.sha256(source[each.start_byte : each.end_byte]).hexdigest()
        found.append(Seen(each.name, qualified_name(file, row), digest, path))
    return found


def status(bound: Seen, symbols: dict[str, list[Seen]]) -> Status:
    """How a symbol that was seen once stands among those there are now."""
    named = symbols.get(bound.name, [])
    own = [each for each in named if each.qualified == bound.qualified]
    if any(each.digest == bound.digest for each in own or named):
        return "fresh"
    return "drifted" if own else "orphaned"
