"""Every call that a client can make of one project, and what of an answer stays the same from one to the next."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.catalog.catalogue import Catalogue
from tests.support.doors import HttpDoor
from tests.support.repo import Repo

Call = Callable[[HttpDoor], Any]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d)|\d+(?:\.\d+)? (?:ms|s)\b")
_OTHERS = re.compile(r".*(?:counts its own sheep|[Dd]iscover|_Index of ).*\n?")
"""Lines of a page about what other calls remember, and how fresh the index is."""
_PASSING = frozenset(
    {
        "searchTime", "duration_ms", "duration_seconds", "query_time_ms", "search_time_ms", "elapsed_ms", "timestamp",
        "generatedAt", "last_indexed", "last_indexed_at", "freshness_status", "indexing_status", "cached", "score",
        "relevance", "relevance_score", "date", "session", "session_id", "action", "message", "statistics",
        "usageCount", "lastUsedAt", "last_accessed", "lastAccessed", "indexed_at", "warnings", "text",
        "next_cursor", "cursor",
    }
)  # fmt: skip
"""Times, and what another call may rightly change: how fresh the index is, what was remembered or indexed."""
STATEFUL = frozenset(
    {"health_check", "metrics_snapshot", "usage_track", "usage_hotset", "session", "sessions", "get_status"}
)
"""Calls whose answers tell of other calls; of these only the form is compared."""
WRITERS = frozenset({"index_codebase", "diff_context"})
"""Calls that write the index where it has not what they need; of two at once one may be told to wait."""

_BODY = """\
def {name}_{n}(request, depth):
    value = validate_token(request.token)
    return [{name}_{n}(each, depth - 1) for each in value if depth]


class {title}{n}:
    def run(self, request):
        return {name}_{n}(request, {n})


"""


def project(folder: Path) -> Repo:
    """A repository with two branches, rules for agents, and a file that is parsed in pieces."""
    repo = Repo.create(folder)
    repo.commit("start", {"pkg/__init__.py": "", "pkg/auth.py": "def validate_token(token):\n    return bool(token)\n"})
    files = {f"pkg/m{n}.py": _module(f"part{n}", 3 + n) for n in range(12)}
    files["pkg/large.py"] = _module("large", 300)
    catalogue = Catalogue(folder, folder.parent / "unused")
    catalogue.add("a")
    catalogue.add("b", categories=["house"])
    repo.commit("more", {**files, "README.md": "# Gate\n\nWho may enter.\n"})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("change", {"pkg/large.py": _module("large", 301), "pkg/m3.py": _module("other3", 4)})
    return repo


def _module(name: str, count: int) -> str:
    bodies = "".join(_BODY.format(name=name, title=name.title(), n=n) for n in range(count))
    return f"from pkg.auth import validate_token\n\n\n{bodies}"


def calls(root: Path) -> dict[str, Call]:
    rooted = {"path": str(root)}
    discovery = {"type": "rule", "content": "Tokens are validated before the depth is looked at."}
    tools: dict[str, dict[str, Any]] = {
        "git_log": {}, "git_blame": {"filePath": "pkg/auth.py"}, "git_diff": {"ref1": "main", "ref2": "feature"},
        "context_search": {"query": "validate token of a request", "format": "json"},
        "read_file": {"path": "pkg/m2.py"}, "grep_codebase": {"pattern": "validate_token"},
        "index_codebase": rooted, "search_code": {**rooted, "query": "validate token"}, "get_status": rooted,
        "health_check": {}, "instructions_list": {}, "instructions_get": {"id": "a"},
        "instructions_search": {"q": "body"}, "instructions_diff": {}, "prompt_review": {"prompt": "Do it now."},
        "integrity_verify": {}, "usage_track": {"id": "a"}, "usage_hotset": {}, "metrics_snapshot": {},
        "gates_evaluate": {}, "diff_context": {}, "find_references": {"symbol_name": "validate_token"},
        "explain_ranking": {"query": "validate_token", "result_path": "pkg/auth.py", "result_line_start": 1},
        "list_refs": {}, "switch_ref": {"ref": "feature"}, "find_symbol": {"symbol_name": "large_7"},
        "get_file_outline": {"path": "pkg/large.py"}, "get_call_graph": {"symbol_name": "part4_1"},
        "build_context_pack": {"task": "who validates tokens"}, "remember": discovery,
    }  # fmt: skip
    asked: dict[str, Call] = {name: _tool(name, arguments) for name, arguments in tools.items()}
    asked["forget"] = _remember_and_forget
    uris = {"overview": "project/overview", "module": "module/pkg", "session": "session/current",
            "sessions": "sessions/recent"}  # fmt: skip
    asked |= {name: _request("resources/read", {"uri": f"context://{uri}"}) for name, uri in uris.items()}
    asked["resources"] = _request("resources/list", {})
    asked["onboard"] = _request("prompts/get", {"name": "onboard", "arguments": {}})
    asked["review"] = _request("prompts/get", {"name": "review-branch", "arguments": {}})
    return asked


def _tool(name: str, arguments: dict[str, Any]) -> Call:
    return _request("tools/call", {"name": name, "arguments": arguments})


def _request(method: str, params: dict[str, Any]) -> Call:
    return lambda door: door.request(method, params)


def _remember_and_forget(door: HttpDoor) -> Any:
    draft = {"type": "pattern", "content": f"Connection {door.session} counts its own sheep."}
    kept = door.call("remember", draft)
    assert not kept.is_error, kept.text
    return door.request("tools/call", {"name": "forget", "arguments": {"id": kept.value["discovery"]["id"]}})


def lasting_part(name: str, answer: Any) -> Any:
    """An answer less what may differ between two calls that are both right."""
    if "error" in answer:
        return {"error": answer["error"]["code"]}
    result = answer["result"]
    if result.get("isError"):
        return {"error": result["content"]}
    if name in STATEFUL:
        return sorted({*result.get("structuredContent", result)} - {"cut"})  # it has more to tell with every call
    if name == "forget":
        return sorted(result["structuredContent"])
    if name == "context_search":  # what was opened lately, and is remembered, moves the rest
        return [sorted(result["structuredContent"]), result["structuredContent"]["results"][0]["path"]]
    if name in ("onboard", "review", "overview", "module"):
        return _steady(json.loads(json.dumps(result)), keep_text=True)
    return _steady(result.get("structuredContent", result))


def _steady(value: Any, *, keep_text: bool = False) -> Any:
    if isinstance(value, dict):
        passing = _PASSING - {"text"} if keep_text else _PASSING
        return {key: _steady(each, keep_text=keep_text) for key, each in value.items() if key not in passing}
    if isinstance(value, list):
        return [_steady(each, keep_text=keep_text) for each in value]
    return _TIME.sub("TIME", _UUID.sub("ID", _OTHERS.sub("", value))) if isinstance(value, str) else value


def is_told_to_wait(answer: Any) -> bool:
    """Whether a call was refused because another writes."""
    said = json.dumps(answer)
    return "index_in_progress" in said or "-32002" in said
