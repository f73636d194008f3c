"""Renames and moves, against a published oracle of refactorings that people validated.

    python benchmarks/refactorings.py ORACLE [--language python,kotlin,javascript,java] [--show 20]

ORACLE is a clone of RefactoringMiner's repository (MIT), whose tests hold both versions of every file of some 800
commits in Java, Python, Kotlin and JavaScript, and the refactorings in each. Compared are those that are one symbol
under another name or in another place: methods and functions renamed, moved, pulled up or pushed down, and types
renamed or moved. What follows its container (the methods of a moved class) counts on neither side. The oracle was
made from what several tools proposed, so what none of them proposed counts as invented here although it may be true.

The Java part is read from an older commit of that repository, as the newest is too large for some mirrors of it.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from measure import markdown

from codecairn.cancel import Cancel
from codecairn.diff.symbol_changes import symbol_changes
from codecairn.diff.values import SymbolChange, SymbolPlace, Version, VersionChange
from codecairn.index.digest import version_of
from codecairn.parse.deadline import SlowParse
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.parse.language import language_of
from codecairn.source.git import Git
from codecairn.source.git_objects import blobs, tree

_FOLDER = "src/test/resources/oracle/"
_LISTS = {
    "python": f"HEAD:{_FOLDER}python-dataset/data.json",
    "kotlin": f"HEAD:{_FOLDER}kotlin-dataset/data.json",
    "javascript": f"HEAD:{_FOLDER}javascript-dataset/data.json",
    "java": "10a8cd435:src-test/Data/data.json",
}
_TRUE = frozenset({"TP", "CTP"})

_METHOD = re.compile(
    r"(?:(?P<renamed>Rename)|Move|Move And Rename|Pull Up|Push Down) Method\s+"
    r"(?P<old>.+?) (?:renamed to|from class (?P<from>\S+) to) (?P<new>.+) (?:in|from) class (?P<to>\S+)"
)
_CLASS = re.compile(r"(?:Rename|Move|Move And Rename) Class\s+(?P<old>\S+) .*to (?P<new>\S+)")
_FIELD = re.compile(
    r"(?:Rename|Move|Move And Rename|Pull Up|Push Down) Attribute\s+(?P<old>.+?) (?:from class \S+ )?(?:renamed )?to "
    r"(?P<new>[^:]+?)(?: : .*)? (?:in|from|to) class (?P<to>\S+)"
)
_CALLED = re.compile(r"([^\s(]+)\(")


class Found(NamedTuple):
    """A symbol under two names: for a callable with the type it is in now, where it is in one."""

    what: str
    old: str
    new: str
    within: str = ""


class Commit(NamedTuple):
    id: str
    true: set[Found]
    files: list[VersionChange]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("oracle", type=Path)
    parser.add_argument("--language", type=lambda text: text.split(","), default=list(_LISTS))
    parser.add_argument("--show", type=int, default=0)
    wanted = parser.parse_args()
    rows: list[list[str]] = []
    for language in wanted.language:
        tally = Tally(wanted.show)
        for commit in commits(Git(wanted.oracle), language):
            tally.add(commit)
        rows += tally.rows(language)
    print(markdown(["language", "what", "true", "found", "precision", "recall", "CPU s"], rows))


class Tally:
    def __init__(self, show: int) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._show = show
        self._cpu_s = 0.0

    def add(self, commit: Commit) -> None:
        began = time.process_time()
        changes = symbol_changes(commit.files, Cancel())
        self._cpu_s += time.process_time() - began
        found = set(renames_and_moves(changes, commit.files))
        for outcome, group in (
            ("true", commit.true), ("found", found), ("right", {each for each in found if is_in(each, commit.true)}),
            ("recalled", {each for each in commit.true if is_in(each, found)}),
        ):  # fmt: skip
            self._counts.update((outcome, each.what) for each in group)
        for said, rest in (
            ("missed", {each for each in commit.true if not is_in(each, found)}),
            ("invented", {each for each in found if not is_in(each, commit.true)}),
        ):
            for each in sorted(rest)[: self._show]:
                print(commit.id[:8], said, each.what, each.old, "->", each.new, "in", each.within)

    def rows(self, language: str) -> Iterator[list[str]]:
        for what in ("type", "callable", "value"):
            of = {outcome: self._counts[outcome, what] for outcome in ("true", "found", "right", "recalled")}
            yield [
                language, what, str(of["true"]), str(of["found"]), f"{of['right'] / max(1, of['found']):.3f}",
                f"{of['recalled'] / max(1, of['true']):.3f}", f"{self._cpu_s:.1f}",
            ]  # fmt: skip


def is_in(one: Found, others: set[Found]) -> bool:
    """A function outside any type has whatever container the oracle's model of the language gave it, which in
    JavaScript is the file."""
    return one in others or any(
        (one.what, one.old, one.new) == (each.what, each.old, each.new)
        and (not (one.within and each.within) or _is_file(one.within) or _is_file(each.within))
        for each in others
    )


def _is_file(container: str) -> bool:
    """A type's name begins with a capital letter in all four languages."""
    return not container[:1].isupper()


def told(refactorings: Iterable[dict[str, Any]]) -> set[Found]:
    valid = (each["description"] for each in refactorings if each["validation"] in _TRUE)
    return {read for each in valid if (read := _read(each)) is not None}


def _read(description: str) -> Found | None:
    if method := _METHOD.fullmatch(description):
        old, new = _CALLED.search(method["old"]), _CALLED.search(method["new"])
        return Found("callable", _simple(old[1]), _simple(new[1]), _simple(method["to"])) if old and new else None
    if type_ := _CLASS.fullmatch(description):
        old_name, new_name = _simple(type_["old"]), _simple(type_["new"])
        return Found("type", old_name, new_name) if old_name and new_name else None  # else a module of Python's
    if field := _FIELD.fullmatch(description):
        return Found("value", _field_name(field["old"]), _field_name(field["new"]), _simple(field["to"]))
    return None


def _field_name(text: str) -> str:
    """`private retries : int`, less what is not its name."""
    return text.partition(" :")[0].rpartition(" ")[2]


def _simple(name: str) -> str:
    last = re.split(r"[.$]", name.rstrip("."))[-1]
    return "" if last == "__module__" else last


def renames_and_moves(changes: list[SymbolChange], files: list[VersionChange]) -> Iterator[Found]:
    """What was renamed or moved by itself, not along with what it is in."""
    pairs = {(_key(each.before), _key(each.after)) for each in changes if each.before and each.after}
    renamed_files = {(each.old_path, each.path) for each in files if each.status == "renamed"}
    for each in changes:
        if each.before is None or each.after is None or not (each.moved_from or each.renamed_from):
            continue
        was, is_ = each.before.symbol, each.after.symbol
        if is_.kind in TYPES:
            moved = is_.parent < 0 and _module(each.before) != _module(each.after)
            if was.name != is_.name or moved or not (is_.parent < 0 or _goes_along(each, pairs, renamed_files)):
                yield Found("type", was.name, is_.name)
        elif was.name != is_.name or not _goes_along(each, pairs, renamed_files):
            around = is_.parent
            if around >= 0 and is_.name == each.after.version.symbols[around].name:
                continue  # a constructor, which has no name of its own
            what = "callable" if is_.kind in CALLABLE else "value"
            yield Found(what, was.name, is_.name, each.after.version.symbols[around].name if around >= 0 else "")


def _key(place: SymbolPlace) -> tuple[str, int]:
    return place.version.path, place.number


def _module(place: SymbolPlace) -> str:
    return place.version.package or place.version.path


def _goes_along(
    change: SymbolChange, pairs: set[tuple[tuple[str, int], tuple[str, int]]], files: set[tuple[str, str]]
) -> bool:
    assert change.before
    assert change.after
    was, is_ = change.before.symbol.parent, change.after.symbol.parent
    paths = change.before.version.path, change.after.version.path
    if was < 0 and is_ < 0:
        return paths in files
    return ((paths[0], was), (paths[1], is_)) in pairs


def commits(git: Git, language: str) -> Iterator[Commit]:
    listed = json.loads(git.read("show", _LISTS[language], cancel=Cancel()))
    folder = f"{_FOLDER}commits/"
    ids = {each.path.removeprefix(folder): each.id for each in tree(git, "HEAD", folder, Cancel())}
    described = {path[:-5].rpartition("-")[2]: path for path in ids if path.endswith(".json") and "/" not in path}
    for entry in listed:
        if entry["sha1"] in described:
            yield _commit(git, entry, described[entry["sha1"]], ids)


def _commit(git: Git, entry: dict[str, Any], described: str, ids: dict[str, str]) -> Commit:
    ((_, raw),) = blobs(git, [ids[described]], Cancel())
    assert isinstance(raw, bytes)
    facts = json.loads(raw)
    name = described[: -len(entry["sha1"]) - len("-.json")]
    old = _versions(git, facts["filesBefore"], f"{name}-{facts['parentCommitId']}", ids)
    new = _versions(git, facts["filesCurrent"], f"{name}-{facts['currentCommitId']}", ids)
    files = changes_of(old, new, facts.get("renamedFilesHint", {}))
    return Commit(entry["sha1"], told(entry["refactorings"]), files)


def changes_of(old: dict[str, Version], new: dict[str, Version], renamed: dict[str, str]) -> list[VersionChange]:
    changes = []
    renamed = {was: is_ for was, is_ in renamed.items() if was in old and is_ in new and was not in new}
    for path, version in new.items():
        if path in old:
            changes.append(VersionChange("modified", path, path, old[path], version))
        elif path not in renamed.values():
            changes.append(VersionChange("added", path, path, None, version))
    for path, version in old.items():
        if path in renamed:
            changes.append(VersionChange("renamed", renamed[path], path, version, new[renamed[path]]))
        elif path not in new:
            changes.append(VersionChange("deleted", path, path, version, None))
    return changes


def _versions(git: Git, paths: list[str], folder: str, ids: dict[str, str]) -> dict[str, Version]:
    known = [(path, ids[f"{folder}/{path}"]) for path in paths if f"{folder}/{path}" in ids]
    contents = blobs(git, [id_ for _, id_ in known], Cancel(), most_bytes=1_000_000)
    found = {}
    for (path, _), (_, raw) in zip(known, contents, strict=True):
        language = language_of(path, raw) if isinstance(raw, bytes) else None
        if language is not None and isinstance(raw, bytes):
            try:
                found[path] = Version.of(version_of(0, path, b"", raw, language))
            except SlowParse:
                continue
    return found


if __name__ == "__main__":
    main()
