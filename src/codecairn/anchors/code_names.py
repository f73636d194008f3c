"""Names of code that rules speak of: whether they are still there, and whether they were defined when the rule was
written.

A name is there while any file of the project but prose spells it, or is called so. One that is not may be another
library's, so it is gone only where the commit that wrote its line defined it: the files that spelled it then are
parsed, and their symbols looked at.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from codecairn.cancel import Cancel
from codecairn.parse.deadline import SlowParse
from codecairn.parse.extract import extract
from codecairn.parse.language import language_of
from codecairn.source.git import Git
from codecairn.suggestions import nearest

_WORD = re.compile(rb"[A-Za-z_$][A-Za-z0-9_$]{3,}")
_PROSE = frozenset({"md", "mdx", "mdc", "markdown", "rst", "txt", "adoc", "org", "log", "lock", "svg", "map", "snap"})
_SHORTEST = 4
_MOST_FILES = 6
_MOST_NAMES = 200
_PARSE_S = 2.0
_LARGEST_OUTPUT = 4 << 20
_DEFINES = (
    r"\b(?:def|class|fn|func|fun|function|struct|enum|trait|interface|type|const|let|var|val|static|module|protocol|"
    r"record|object|namespace|union|define|macro_rules!)[ \t*]+{0}\b|^\s*(?:\w+[ \t]+){{0,4}}{0}[ \t]*[(:=<]"
)


def is_prose(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() in _PROSE or ("." not in name and name.isupper())


def parts_of(symbol: str) -> list[str]:
    """The names in a qualified one that are long enough to tell anything."""
    return [each for each in re.split(r"\.|::|#", symbol) if len(each) >= _SHORTEST]


def names_in_use(
    paths: Iterable[str], read: Callable[[str], bytes], wanted: Collection[str], cancel: Cancel
) -> set[str]:
    """Of the wanted names, those that a file spells or is called by; reading stops when all are found."""
    left, listed = {each.encode() for each in wanted}, list(paths)
    for path in listed:
        left.difference_update(each.encode() for each in re.split(r"[/.]", path))
    for path in listed:
        if not left:
            break
        if not is_prose(path):
            cancel.check()
            left.difference_update(_WORD.findall(read(path)))
    return {each for each in wanted if each.encode() not in left}


class PastDefinition(NamedTuple):
    path: str
    commit: str
    """That took it away; empty where it is not known."""


def defined_at(git: Git, commit: str, names: Collection[str], cancel: Cancel) -> dict[str, str]:
    """The names that a commit's tree defines, each with the file that does."""
    wanted = sorted(names)[:_MOST_NAMES]
    if not wanted:
        return {}
    run = git.run(
        "grep", "-n", "-I", "-w", "-F", "-z", *(part for each in wanted for part in ("-e", each)), commit,
        cancel=cancel, enough=lambda output: len(output) > _LARGEST_OUTPUT,
    )  # fmt: skip
    likely = _likely_files(run.output.decode("utf-8", "replace"), commit, wanted)
    found: dict[str, str] = {}
    symbols: dict[str, set[str]] = {}
    for name in wanted:
        for path in likely[name][:_MOST_FILES]:
            if path not in symbols:
                symbols[path] = _symbols_at(git, commit, path, cancel)
            if name in symbols[path]:
                found[name] = path
                break
    return found


def _likely_files(output: str, commit: str, names: list[str]) -> dict[str, list[str]]:
    """For each name the files whose lines spell it, those that seem to define it first."""
    definers = {each: re.compile(_DEFINES.format(re.escape(each))) for each in names}
    files: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for row in output.split("\n"):
        place, _, text = row.partition("\0")
        path = place.removeprefix(f"{commit}:")
        text = text.partition("\0")[2][:500]
        if not path or is_prose(path):
            continue
        for name in names:
            if name in text:
                files[name][path] = files[name].get(path, False) or definers[name].search(text) is not None
    return {name: [path for path, is_definer in files[name].items() if is_definer] for name in names}


def _symbols_at(git: Git, commit: str, path: str, cancel: Cancel) -> set[str]:
    run = git.run("show", f"{commit}:./{path}", cancel=cancel)
    language = language_of(path, run.output[:200]) if run.status == 0 else None
    if language is None:
        return set()
    try:
        return {each.name for each in extract(language, run.output, seconds=_PARSE_S).symbols}
    except SlowParse:
        return set()


def removal_of(git: Git, name: str, path: str, cancel: Cancel) -> str:
    """The commit that last changed how often a file spells a name; empty where git does not tell in time."""
    run = git.run("log", "-1", "--format=%H", f"-S{name}", "HEAD", "--", path, cancel=cancel, seconds=5.0)
    return run.output.decode().strip() if run.status == 0 else ""


def near_symbol(path: str, content: bytes, name: str) -> str:
    """The name most like one that is gone, among those a file defines now."""
    language = language_of(path, content[:200])
    if language is None:
        return ""
    try:
        names = {each.name for each in extract(language, content, seconds=_PARSE_S).symbols}
    except SlowParse:
        return ""
    return next(iter(nearest(name, names, 1)), "")
