"""Subjects for questions about a repository, found in the repository by the tools themselves.

A file that changed lately is likelier to mean something to the person who asks than the most used file of all. So the
function is the most used one of the files that the last commits changed; where there are no such files, of the first
files that have functions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from codecairn.file_roles import is_product, role_of

Ask = Callable[..., Awaitable[dict[str, Any] | None]]
"""Calls a tool by its name and arguments, and returns its value; None where it answers with an error."""

COMMITS = 30
_MOST_FILES = 4
_MOST_OF_A_FILE = 12
_MOST_DOCUMENTED = 5
"""Functions whose documentation is looked for, the most used first."""
_SHORTEST_BODY = 3
_LONGEST_QUESTION = 14
"""Words."""
_COMPARED = 5
"""Commits that are compared where none of the last is a merge."""
_RECENT_MERGE = 10
_FUNCTIONS = ("fn", "method")
_ENTRY_POINTS = frozenset({"main", "setup", "init", "run"})
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)`'\"])[.:;](?:\s|$)|\n\s*\n")
_MARKUP = re.compile(r":\w+:`~?([^`]*)`|[`*]|^[/#!<>\s-]+|@\w+", re.MULTILINE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class DemoFunction:
    name: str
    path: str
    line: int
    end: int
    qualified: str
    uses: int = 0
    sentence: str = ""
    """The first of its documentation; empty where it has none."""

    @property
    def question(self) -> str:
        words = self.sentence.split() or ["where", "to", *_WORD.findall(self.name.replace("_", " "))]
        return " ".join(words[:_LONGEST_QUESTION])


@dataclass(frozen=True)
class Subjects:
    commits: list[dict[str, Any]] = field(default_factory=list)
    """The newest first."""
    paths: list[str] = field(default_factory=list)
    """Files that are there, the most changed first."""
    function: DemoFunction | None = None

    @property
    def task(self) -> str | None:
        """The subject of the last commit that says in words what was done, to code where there is one."""
        said = [each for each in self.commits if len(each["message"].split()) > 2 and len(each["parents"]) < 2]
        return next((each["message"] for each in (*filter(_is_about_code, said), *said)), None)

    @property
    def refs_to_compare(self) -> tuple[str, str] | None:
        """A base and a head: the last merge that changed code and what was there before it, or the last commits."""
        for commit in self.commits[:_RECENT_MERGE]:
            if len(commit["parents"]) > 1 and _is_about_code(commit):
                return commit["parents"][0][:10], commit["hash"][:10]
        if len(self.commits) < 2:
            return None
        last = next((place for place, commit in enumerate(self.commits) if _is_about_code(commit)), 0)
        return self.commits[: max(_COMPARED, last + 1) + 1][-1]["hash"][:10], "HEAD"


async def find_subjects(ask: Ask, *, is_indexed: bool) -> Subjects:
    log = await ask("git_log", maxCount=COMMITS)
    commits = log["commits"] if log else []
    changed = _paths_in(commits)
    if not is_indexed:
        return Subjects(commits, changed)
    outline = await ask("get_file_outline", path=".", limit=400)
    listed = outline["files"] if outline else []
    paths = list(dict.fromkeys([*changed, *(file["path"] for file in listed)]))
    candidates = await _functions_of(ask, changed) or _functions(listed)
    return Subjects(commits, paths, await _most_used(ask, candidates))


def misspelling(name: str) -> str:
    """The name without a letter of its middle; a short one with its last letter twice."""
    middle = len(name) // 2
    return name[:middle] + name[middle + 1 :] if len(name) > 5 else name + name[-1:]


def first_sentence(documentation: str) -> str:
    plain = _MARKUP.sub(lambda found: found[1] or "", documentation.strip())
    return " ".join(_SENTENCE_END.split(plain.strip(), maxsplit=1)[0].split())


def _paths_in(commits: Sequence[Mapping[str, Any]]) -> list[str]:
    changes = [change for commit in commits for change in commit["files"]]
    gone = {change["oldPath"] or change["path"] for change in changes if change["status"] in ("deleted", "renamed")}
    counted = Counter(change["path"] for change in changes if change["path"] not in gone)
    return [path for path, _ in counted.most_common()]


def _is_about_code(commit: Mapping[str, Any]) -> bool:
    return any(_is_code(change["path"]) for change in commit["files"])


def _is_code(path: str) -> bool:
    """Whether its name looks like the product's own source, as far as a name tells."""
    return role_of(path) in ("source", "entry")


async def _functions_of(ask: Ask, paths: Iterable[str]) -> list[DemoFunction]:
    found: list[DemoFunction] = []
    files = 0
    for path in filter(_is_code, paths):
        outline = await ask("get_file_outline", path=path)
        here = _functions(outline["files"] if outline else [])
        found += here
        files += bool(here)
        if files == _MOST_FILES:
            break
    return found


def _functions(files: Iterable[Mapping[str, Any]]) -> list[DemoFunction]:
    """The longest functions of each file of the product, of which names tell something."""
    found: list[DemoFunction] = []
    for file in files:
        if is_product(file["path"], file["language"]):
            rows = sorted(_callables(file["symbols"]), key=lambda each: each["line_start"] - each["line_end"])
            found += [
                DemoFunction(each["name"], file["path"], each["line_start"], each["line_end"], each["name"])
                for each in rows[:_MOST_OF_A_FILE]
            ]
    return found[: _MOST_FILES * _MOST_OF_A_FILE]


def _callables(symbols: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for each in symbols:
        yield from _callables(each.get("children", ()))
        name, lines = each["name"], each["line_end"] - each["line_start"]
        is_telling = len(name) > 3 and not name.startswith("_") and name.lower() not in _ENTRY_POINTS
        if each["kind"] in _FUNCTIONS and is_telling and lines >= _SHORTEST_BODY - 1:
            yield each


async def _most_used(ask: Ask, candidates: Iterable[DemoFunction]) -> DemoFunction | None:
    """The most used one with documentation; without, where none of the most used has any."""
    counted = [await _count_uses(ask, each) for each in candidates]
    ranked = sorted(counted, key=lambda each: (-each.uses, each.path, each.line))
    for each in ranked[:_MOST_DOCUMENTED]:
        if sentence := await _documentation(ask, each):
            return replace(each, sentence=sentence)
    return ranked[0] if ranked else None


async def _count_uses(ask: Ask, each: DemoFunction) -> DemoFunction:
    found = await ask("find_references", symbol_name=each.name, path=each.path, line=each.line, limit=1)
    if found is None:
        return each
    return replace(each, qualified=found["symbol"]["qualified_name"], uses=found["total_references"])


async def _documentation(ask: Ask, function: DemoFunction) -> str:
    found = await ask("search_code", query=function.name, path_filter=function.path, limit=3)
    for result in found["results"] if found else []:
        symbol = result["symbol"]
        if symbol and symbol["name"] == function.name and result["file"]["path"] == function.path:
            sentence = first_sentence(symbol.get("doc_comment") or "")
            return sentence if len(sentence.split()) > 2 else ""
    return ""
