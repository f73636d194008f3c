"""The truth about a ref that never moves: the answers of an index built from that commit alone, in a clone of its own.

There the commit is the one branch, so its index is no overlay over another. `MASKED` lists every field in which a
served answer may differ, with the reason; `shared_results` is held of tools whose order depends on what a client did.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.soak.scenery import Scenery
from tests.support.doors import Answer, MemoryDoor, service

ROOT = "{root}"
"""Stands for the project's root in arguments and compared answers."""
MASKED = {
    "search_duration_ms": "a time",
    "searchTime": "a time",
    "cache_hit": "whether another call asked the same before",
    "chunk_id": "numbers files in the order in which this store met them",
    "source_layer": "says which files the default branch has alike; in the clone the commit is the default branch",
    "base_ref": "a commit is answered under the name it was indexed by, `main` in the clone",
    "head_ref": "the same",
    "freshness_status": "may be `syncing` beside a writer; checked apart",
    "generatedAt": "a time",
    "lastModified": "of a ref, the date of its commit where the history takes over half a second to walk",
    "usageCount": "counts the calls of usage_track",
    "lastUsedAt": "the same",
    "shownCount": "counts the answers that named the rule",
    "lastShownAt": "the same",
}
MASKED_AT = {
    ("search_code", "message"): "says how long it took",
    ("metadata", "ref"): "a commit is answered under the name it was indexed by, `main` in the clone",
}
_NOT_YET = ("Not indexed", "being indexed")
_UNREADY = ("overlay_not_ready", "index_in_progress", "index_not_ready", "-32002", "-32003")
_SLOWEST_S = 120.0
"""For a commit that a question of the truth itself has indexed."""
_TRIES = 12
_WEIGHED = 40
"""Fewer chunks than are weighed of any part of a project: tests and documents have a share of their own."""
NO_SUCH_WORD = "zqvxnosuchword"
CURSORS = ("next_cursor", "nextCursor")
"""May name an index; that there is one is compared."""


@dataclass(frozen=True)
class Asked:
    """A tool call; `{root}` stands for the project's root in its arguments."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def on(self, root: Path) -> dict[str, Any]:
        return {name: str(root) if value == ROOT else value for name, value in self.arguments.items()}


class Reference:
    """The answers of a clone to a client that has read one file, asked for one at a time."""

    def __init__(self, root: Path, lobby: str, home: Path) -> None:
        self.root = root
        self._lobby = lobby
        self._service = service(root, data=home)
        indexed = MemoryDoor(self._service).call("index_codebase", {"path": str(root)})
        assert not indexed.is_error, indexed.text

    def ask(self, asked: Asked) -> Answer:
        """Each call is the first of a connection of its own: nothing but the file read before it bears on it."""
        door = MemoryDoor(self._service, fitted=True)
        assert not door.call("read_file", {"path": self._lobby}).is_error, self._lobby
        until = time.monotonic() + _SLOWEST_S
        while is_unready(answer := door.call(asked.tool, asked.on(self.root))) and time.monotonic() < until:
            time.sleep(0.05)
        return answer

    def pages(self, asked: Asked, most: int) -> list[Answer]:
        pages = [self.ask(asked)]
        while len(pages) < most and (cursor := cursor_of(pages[-1].value)):
            pages.append(self.ask(Asked(asked.tool, {**asked.arguments, "cursor": cursor})))
        return pages

    def close(self) -> None:
        self._service.projects.open(self.root).index.close()


@contextmanager
def reference(
    scenery: Scenery, commit: str, place: Path, lobby: str, source: Path | None = None
) -> Iterator[Reference]:
    truth = Reference(scenery.copy_at(commit, place, source), lobby, place / "home")
    try:
        yield truth
    finally:
        truth.close()


def narrow(truth: Reference, draw: Callable[[], Asked]) -> Asked:
    """A drawn search in which all that matches by words is weighed. Where more matches than is weighed, the lexical
    index picks, and its statistics are those of every ref that it holds."""
    for _ in range(_TRIES):
        asked = draw()
        search = {name: value for name, value in asked.arguments.items() if name in ("query", "ref")}
        value = truth.ask(Asked("search_code", {"path": ROOT, "search_mode": "keyword", **search})).value
        suppressed = value["metadata"].get("suppressed_duplicate_count", 0)
        if value["statistics"]["total_results"] + suppressed < _WEIGHED:
            return _about_a_result(asked, value["results"])
    return Asked(asked.tool, {**asked.arguments, "query": NO_SUCH_WORD})


def _about_a_result(asked: Asked, results: list[dict[str, Any]]) -> Asked:
    """An explanation is asked of the last result; of the drawn place where there is none."""
    if asked.tool != "explain_ranking" or not results:
        return asked
    place = {"result_path": results[-1]["file"]["path"], "result_line_start": results[-1]["file"]["start_line"]}
    return Asked(asked.tool, {**asked.arguments, **place})


def cursor_of(value: dict[str, Any]) -> str | None:
    found = next((value[name] for name in CURSORS if value.get(name)), None)
    return found if isinstance(found, str) else None


def comparable(asked: Asked, answer: Answer, root: Path) -> Any:
    """An answer without what may differ; of an error its code alone."""
    if answer.is_error:
        return {"error": error_code(answer)}
    return _masked(asked.tool, answer.value, str(root))


def is_unready(answer: Answer) -> bool:
    """Whether an answer says that the ref is not indexed at this moment."""
    if not answer.is_error:
        warnings = (answer.value.get("metadata") or {}).get("warnings", [])
        return any(words in each for each in warnings for words in _NOT_YET)
    return error_code(answer) in _UNREADY or any(words in answer.text for words in _NOT_YET)


def error_code(answer: Answer) -> str:
    """The code of an error, whatever its family's form."""
    if answer.rpc_error is not None:
        return str(answer.rpc_error["code"])
    error = answer.value.get("error")
    if isinstance(error, dict):
        return str(error.get("code"))
    return str(answer.value.get("code", "none"))


def _masked(within: str, value: Any, root: str) -> Any:
    if isinstance(value, dict):
        shown = {name: each for name, each in value.items() if name not in MASKED and (within, name) not in MASKED_AT}
        return {name: _field(name, each, root) for name, each in shown.items()}
    if isinstance(value, list):
        return [_masked("", each, root) for each in value]
    return value.replace(root, ROOT) if isinstance(value, str) else value


def _field(name: str, value: Any, root: str) -> Any:
    return value is not None if name in CURSORS else _masked(name, value, root)


def shared_results(tool: str, value: dict[str, Any]) -> dict[str, Any]:
    """What must agree of each place that two answers show, where their order depends on what a client did before."""
    if tool == "search_code":
        return {_place(each["file"]): [each["symbol"], each["content"]] for each in value["results"]}
    if tool == "explain_ranking":
        moved = ("path_affinity", "floor", "total")  # by what the connection has read
        return {name: number for name, number in value["scoring"].items() if name not in moved}
    if tool == "context_search":
        code = [each for each in value["results"] if each["source"] == "code"]
        return {f"{each['path']}:{each['startLine']}": [each["name"], each["content"]] for each in code}
    whole = [each for each in value["items"] if each["kind"] != "discovery" and not _is_part(each)]
    return {f"{each['kind']} {each['path']}:{each['line_start']}": [each["name"], each["content"]] for each in whole}


def _is_part(item: dict[str, Any]) -> bool:
    """Whether a part of a text is shown for want of room, at its start or around a line."""
    return bool(item["content_cut"]) or "…" in item["content"] or item["content_start_line"] != item["line_start"]


def _place(file: dict[str, Any]) -> str:
    return f"{file['path']}:{file['start_line']}-{file['end_line']}"


def differences(got: Any, wanted: Any, where: str = "") -> list[str]:
    """Where two values differ, the first few places. Where one is cut for want of room is no difference: that hangs on
    the length of names and times that are masked."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        if not where and (_CUT & {*got, *wanted}):
            got, wanted = _as_far_as(_without_cuts(got), wanted), _as_far_as(_without_cuts(wanted), got)
        names = sorted({*got, *wanted})
        parts = [differences(got.get(name, "∅"), wanted.get(name, "∅"), f"{where}.{name}") for name in names]
    elif isinstance(got, list) and isinstance(wanted, list) and _are_alike(got, wanted, where):
        pairs = enumerate(zip(got, wanted, strict=False))
        parts = [differences(one, other, f"{where}[{number}]") for number, (one, other) in pairs]
    else:
        parts = [[] if _is_same(got, wanted) else [f"{where}: got {_short(got)}, wanted {_short(wanted)}"]]
    return [each for part in parts for each in part][:5]


_CUT = {"cut", "nextStartLine", "filesLeft", "linesLeft", "omitted_files"}
_LENGTHS = _CUT | {"endLine", "count", "next_cursor", "nextCursor", "commits", "result_completeness", "folders"}
_SHORTENED = re.compile(r"…(?: \([\d,]+ characters more\))?$")


def _without_cuts(value: dict[str, Any]) -> dict[str, Any]:
    """A value less what tells where it was cut; its lists are then compared as far as both go."""
    kept = {name: each for name, each in value.items() if name not in _LENGTHS}
    metadata = kept.get("metadata")
    if isinstance(metadata, dict):
        kept["metadata"] = {name: each for name, each in metadata.items() if name not in _LENGTHS}
    return kept


def _as_far_as(value: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A value whose file, if it has one, is no longer than the other's."""
    if "file" not in value or "file" not in other:
        return value
    return {**value, "file": {**value["file"], "content": value["file"]["content"][: len(other["file"]["content"])]}}


def _are_alike(got: list[Any], wanted: list[Any], where: str) -> bool:
    """Lists of one length; a list at the top of an answer may end earlier, for it is what is cut."""
    return len(got) == len(wanted) or (where.count(".") == 1 and "[" not in where and bool(got) and bool(wanted))


def _is_same(got: Any, wanted: Any) -> bool:
    if got == wanted or not (isinstance(got, str) and isinstance(wanted, str)):
        return bool(got == wanted)
    one, other = _SHORTENED.sub("", got), _SHORTENED.sub("", wanted)
    return (one, other) != (got, wanted) and (one.startswith(other) or other.startswith(one))


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) < 300 else f"{said[:300]}…"
