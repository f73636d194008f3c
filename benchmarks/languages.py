"""How well each language is read: symbols, error nodes and processor time over real repositories.

    python benchmarks/languages.py --repos DIR [--repos DIR …] [--pins FILE] [--write docs/languages.md]

Every folder in a DIR is one repository, a clone or an export. An export's commit is looked up in FILE, a JSON list of
{"name", "url", "revision"} by the folder's name. The files are those an index would parse.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from measure import markdown
from sources import Source, sources_in

from codecairn.parse.extract import extract
from codecairn.parse.language import languages

HEAD = ("language", "repositories", "files", "lines", "symbols", "without errors", "CPU ms per 1k lines")
FEW_FILES = 5
"""A repository with fewer files of a language is not counted as one of that language, though its files are."""

INTRODUCTION = """# Languages

Each language is one file of data in `src/codecairn/parse/languages`: the endings it goes by, its tree-sitter grammar,
and queries for what is taken from a file:

- **symbols**: functions, methods, classes, structs, interfaces, traits, enums, types, constants, variables, fields and
  modules, with qualified name, whole signature, doc comment, extent and, where it is written, what they return;
- **references**: every name used, as a call, an import, an implemented or extended type, or a plain reference;
- **imports** with their aliases and re-exports, and **bindings**: variables and fields whose type the file tells.

Where a grammar stumbles it leaves an error node and reads on, so a file with errors still gives the symbols around
them. The table counts the files without a single one, over real repositories, as they are indexed: vendored, generated,
minified and oversized files are left out. Processor time is for one core, parsing and extraction together; it is a
measure of one machine, to compare the languages by.

"""

NOTES = """
## Where a grammar is weak

- **C and C++**: a parser that does not run the preprocessor cannot know what a macro stands for. A macro used as a
  qualifier, a type or a statement, `__has_include(<…>)`, and branches of `#if` that each hold half of a construct
  (`extern "C" {` under `#ifdef __cplusplus`) leave error nodes. Attribute macros are known by their spelling and
  skipped. A `.h` is C or C++ by its text.
- **Swift**: `()` as a value, as in `promise.succeed(())`, is most of what is missed.
- **Kotlin**: lambdas marked `suspend`, references through a nullable type (`String?::plus`).
- **Haskell**: arrow notation (`proc x -> do`), operator sections with a dot, literate files.
- **Bash**: substrings with a variable offset (`${name:$i:1}`), `for arg do`, some patterns in `[[ … ]]`.
- **Zig**: literals as sentinels or clobbers, newer keywords as names.
- **TypeScript**: variance (`interface Box<out T>`), `typeof import("…")` as a type argument, decorators that are whole
  expressions.
- **C#**: `#if` in the middle of an expression.

Markdown and reStructuredText are read by heading and any other text by paragraph; they have no error nodes and are not
in the table.

"""

REPRODUCE = """## Reproducing it

    python benchmarks/languages.py --repos DIR --write docs/languages.md

DIR holds clones of the repositories below, at these commits.

"""


@dataclass
class Tally:
    """What was found in one language."""

    repositories: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    symbols: int = 0
    clean: int = 0
    seconds: float = 0.0

    @property
    def files(self) -> int:
        return self.repositories.total()

    def add(self, repository: str, source: Source) -> None:
        if not self.files:
            extract(source.language, b"")  # loads the grammar and compiles the queries, once for a process
        began = time.thread_time()
        facts = extract(source.language, source.text)
        self.seconds += time.thread_time() - began
        self.repositories[repository] += 1
        self.lines += source.lines
        self.symbols += len(facts.symbols)
        self.clean += not facts.error_nodes

    def row(self, name: str) -> list[str]:
        if not self.files:
            return [name, "0", "0", "0", "0", "–", "–"]
        counts = (sum(files >= FEW_FILES for files in self.repositories.values()), self.files, self.lines, self.symbols)
        clean = self.clean * 1000 // self.files / 10  # rounded down: 100 is every file
        figures = (f"{clean:.1f}%", f"{self.seconds * 1e6 / max(1, self.lines):.1f}")
        return [name, *(f"{each:,}" for each in counts), *figures]


@dataclass(frozen=True)
class Repository:
    folder: Path
    name: str
    commit: str

    def line(self) -> str:
        return f"- {self.name} `{self.commit[:12]}`"


def repositories(parents: list[Path], pins: dict[str, dict[str, str]]) -> list[Repository]:
    folders = (folder for parent in parents for folder in parent.iterdir() if folder.is_dir())
    found = (_repository(folder, pins) for folder in folders if not folder.name.startswith("."))
    return sorted(found, key=lambda each: each.name.lower())


def _repository(folder: Path, pins: dict[str, dict[str, str]]) -> Repository:
    if (folder / ".git").exists():
        origin, commit = _git(folder, "config", "--get", "remote.origin.url"), _git(folder, "rev-parse", "HEAD")
        return Repository(folder, _full_name(origin) or folder.name, commit)
    pin = pins.get(folder.name)
    if pin is None:
        return Repository(folder, folder.name, "unknown")
    return Repository(folder, _full_name(pin["url"]) or folder.name, pin["revision"])


def _full_name(url: str) -> str | None:
    """owner/name of an address; a folder of this machine is none."""
    found = re.search(r"^\w[\w+.-]*(?:://|@).+?[/:]([^/:]+/[^/]+?)(?:\.git)?/?$", url)
    return found[1] if found else None


def _git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False).stdout.strip()


def tallied(found: list[Repository]) -> dict[str, Tally]:
    tallies = {name: Tally() for name in sorted(languages())}
    for repository in found:
        for source in sources_in(repository.folder):
            tallies[source.language.data.name].add(repository.name, source)
    return tallies


def page(found: list[Repository], tallies: dict[str, Tally]) -> Iterator[str]:
    yield INTRODUCTION
    yield markdown(HEAD, [tally.row(name) for name, tally in tallies.items()]) + "\n"
    yield f"\nA repository counts for a language from {FEW_FILES} files on.\n"
    yield NOTES
    yield REPRODUCE
    yield from (each.line() + "\n" for each in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repos", type=Path, action="append", required=True)
    parser.add_argument("--pins", type=Path, metavar="FILE")
    parser.add_argument("--write", type=Path, metavar="FILE")
    given = parser.parse_args()
    pins = {each["name"]: each for each in json.loads(given.pins.read_text())} if given.pins else {}
    found = repositories([each.resolve() for each in given.repos], pins)
    tallies = tallied(found)
    print(markdown(HEAD, [tally.row(name) for name, tally in tallies.items()]))
    if given.write:
        given.write.write_text("".join(page(found, tallies)), encoding="utf-8")


if __name__ == "__main__":
    main()
