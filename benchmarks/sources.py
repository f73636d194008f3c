"""The source files of real repositories, repositories made of them, and edits to them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from codecairn.cancel import Cancel
from codecairn.parse.language import Language, language_of
from codecairn.paths import Guard
from codecairn.source.file_content import Skip, classify, read_text
from codecairn.source.file_listing import list_files
from codecairn.source.git import Git

LARGEST_FILE = 1_000_000
EDITS = {
    "c": "\nint {name}(void) {{ return 1; }}\n",
    "go": "\nfunc {name}() int {{ return 1 }}\n",
    "javascript": "\nfunction {name}() {{ return 1; }}\n",
    "python": "\n\ndef {name}():\n    return 1\n",
    "ruby": "\ndef {name}\n  1\nend\n",
    "rust": "\nfn {name}() -> i32 {{ 1 }}\n",
    "typescript": "\nfunction {name}() {{ return 1; }}\n",
}
"""One new symbol at the end of a file."""


@dataclass(frozen=True)
class Source:
    """A file in a language that is parsed, as it would be indexed."""

    path: str
    text: bytes
    language: Language

    @property
    def lines(self) -> int:
        return self.text.count(b"\n")


def sources_in(root: Path) -> Iterator[Source]:
    """What the index of a project would parse, by path: no vendored, generated, minified or oversized file."""
    for found in list_files(root, Git(root), Guard(root), Cancel()).files:
        content = read_text(root, found.path, LARGEST_FILE)
        if isinstance(content, Skip) or classify(found.path, content.text):
            continue
        language = language_of(found.path, content.text)
        if language is not None:
            yield Source(found.path, content.text, language)


def sample(pool: list[tuple[str, Source]], lines: int) -> dict[str, bytes]:
    """Whole files of so many lines in all, every language with its share of the pool, short and long files alike."""
    total = sum(source.lines for _, source in pool)
    strata: dict[str, list[tuple[str, Source]]] = {}
    for name, source in pool:
        strata.setdefault(source.language.data.name, []).append((name, source))
    chosen: dict[str, bytes] = {}
    for files in strata.values():
        left = lines * sum(source.lines for _, source in files) / total
        for name, source in spread_by_length(files):
            if source.lines / 2 <= left:
                chosen[name] = source.text
                left -= source.lines
    return chosen


def spread_by_length(files: list[tuple[str, Source]]) -> list[tuple[str, Source]]:
    """In an order of which every beginning has about the same lengths: by multiples of the golden section."""
    by_length = sorted(files, key=lambda each: (each[1].lines, each[0]))
    order = sorted(range(len(files)), key=lambda rank: (rank * 0.6180339887498949) % 1)
    return [by_length[rank] for rank in order]


def repository(place: Path, files: dict[str, bytes]) -> Path:
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    who = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@localhost", "-c", "commit.gpgsign=false")
    for command in (("init", "--quiet"), ("add", "--all", "--force"), (*who, "commit", "--quiet", "--message", "all")):
        subprocess.run(["git", *command], cwd=place, check=True)
    return place


class Edits:
    """New functions at the end of ordinary files, spread over the repository; each has a name of its own."""

    def __init__(self, files: list[Source]) -> None:
        ordinary = [each for each in files if each.language.data.name in EDITS and 20 <= each.lines <= 800]
        if not ordinary:
            sys.exit(f"no file of 20 to 800 lines in one of {', '.join(EDITS)} to edit")
        self._files = ordinary[:: max(1, len(ordinary) // 50)]
        self._made = 0

    def make(self, clone: Path, count: int) -> None:
        for _ in range(count):
            self._made += 1
            source = self._files[self._made % len(self._files)]
            with (clone / source.path).open("a", encoding="utf-8") as file:
                file.write(EDITS[source.language.data.name].format(name=f"benchmark_edit_{self._made}"))
