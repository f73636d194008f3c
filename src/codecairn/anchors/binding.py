"""Entries that name code outright, against the code: fresh, drifted or orphaned since a commit.

An entry is bound to the files and symbols that its scope names without a pattern. The state it was written for is that
of the commit that last changed the entry's file; what it names is compared with the same file or symbol now. White
space at line ends and the kind of line ends do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from codecairn.anchors.check import Repository
from codecairn.anchors.code_names import defined_at
from codecairn.catalog.entries import CheckedEntry
from codecairn.parse.deadline import SlowParse
from codecairn.parse.extract import extract
from codecairn.parse.language import language_of
from codecairn.types import CodeBinding

_WILD = re.compile(r"[*?\[{]|/$")
_PARSE_S = 2.0
_WORST = ("orphaned", "drifted", "unknown", "fresh")


class _Then(NamedTuple):
    path: str
    text: str | None
    """Of the file or the symbol; None where it was not there."""


def is_bound(entry: CheckedEntry) -> bool:
    return any(True for _ in _files(entry)) or bool(entry.value.applies_to and entry.value.applies_to.symbols)


def binding_of(repository: Repository, entry: CheckedEntry) -> CodeBinding | None:
    """How the code of an entry stands; the worst of all that it names. None for an entry that names none."""
    if not is_bound(entry):
        return None
    commit = _written_at(repository, entry)
    if not commit:
        return CodeBinding(status="unknown", reason="the entry is not committed yet")
    found = [*_file_states(repository, entry, commit), *_symbol_states(repository, entry, commit)]
    return min(found, key=lambda each: _WORST.index(each.status))


def _files(entry: CheckedEntry) -> Iterator[str]:
    scope = entry.value.applies_to
    for glob in scope.globs if scope else ():
        bare = glob.removeprefix("./").lstrip("/")
        if not _WILD.search(glob) and ("/" in bare or glob.startswith("/")):
            yield bare


def _written_at(repository: Repository, entry: CheckedEntry) -> str:
    return _line(repository, "log", "-1", "--format=%H", "HEAD", "--", entry.file)


def _line(repository: Repository, *arguments: str) -> str:
    run = repository.git.run(*arguments, cancel=repository.cancel)
    return run.output.decode("utf-8", "replace").strip() if run.status == 0 else ""


def _file_states(repository: Repository, entry: CheckedEntry, commit: str) -> Iterator[CodeBinding]:
    for path in _files(entry):
        if (repository.root / path).is_dir():
            yield CodeBinding(status="fresh")
            continue
        then, now = _text_at(repository, commit, path), repository.text(path)
        yield _state(repository, path, path, commit, then, now)


def _symbol_states(repository: Repository, entry: CheckedEntry, commit: str) -> Iterator[CodeBinding]:
    scope = entry.value.applies_to
    for symbol in scope.symbols if scope else ():
        name = re.split(r"\.|::|#", symbol)[-1]
        path = defined_at(repository.git, commit, [name], repository.cancel).get(name)
        if path is None:
            yield CodeBinding(status="unknown", reason=f"{symbol} was not defined when the entry was written")
            continue
        then = _symbol_text(path, _text_at(repository, commit, path) or "", name)
        now = _symbol_text(path, repository.text(path) or "", name)
        if now is None:
            place = defined_at(repository.git, "HEAD", [name], repository.cancel).get(name)
            now = _symbol_text(place, repository.text(place) or "", name) if place is not None else None
        yield _state(repository, symbol, path, commit, then, now)


def _state(
    repository: Repository, what: str, path: str, commit: str, then: str | None, now: str | None
) -> CodeBinding:  # fmt: skip
    if then is None:
        return CodeBinding(status="unknown", reason=f"{what} was not there when the entry was written")
    if now is not None and _bare(now) == _bare(then):
        return CodeBinding(status="fresh")
    status, said = ("orphaned", "is gone") if now is None else ("drifted", "has changed since")
    since = _line(repository, "log", "--reverse", "--format=%H", f"{commit}..HEAD", "--", path).partition("\n")[0]
    return CodeBinding(status=status, reason=f"{what} {said}", since=since or None)  # type: ignore[arg-type]


def _text_at(repository: Repository, commit: str, path: str) -> str | None:
    run = repository.git.run("show", f"{commit}:./{path}", cancel=repository.cancel)
    return run.output.decode("utf-8", "replace") if run.status == 0 else None


def _symbol_text(path: str, text: str, name: str) -> str | None:
    source = text.encode()
    language = language_of(path, source[:200])
    if language is None:
        return None
    try:
        symbols = [each for each in extract(language, source, seconds=_PARSE_S).symbols if each.name == name]
    except SlowParse:
        return None
    lines = text.split("\n")
    texts = ["\n".join(lines[each.start_line - 1 : each.end_line]) for each in symbols]
    return "\n".join(texts) if texts else None


def _bare(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.replace("\r\n", "\n").split("\n")).strip()
