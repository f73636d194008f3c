"""The calls of a soak: arguments drawn from what the repository itself holds at its fixed refs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.soak.reference import ROOT, Asked
from tests.soak.scenery import Fixed
from tests.support.repo import Repo

EXACT = (
    "git_log", "git_blame", "git_diff", "read_file", "grep_codebase", "find_symbol", "find_references",
    "get_call_graph", "get_file_outline", "diff_context", "instructions_list", "instructions_get",
    "instructions_search", "instructions_diff", "prompt_review", "integrity_verify", "gates_evaluate",
)  # fmt: skip
"""Tools whose answer about a fixed ref is the same for everybody."""
RANKED = ("search_code", "explain_ranking")
"""The same, for a client that reads one file only: what lies beside a file that was read stands higher."""
MINGLED = ("context_search", "build_context_pack")
"""Ranked together with what was remembered: places that two answers share must be alike."""
_DEFINED = re.compile(r"\b(?:def|class|func|function|fn|struct|interface|type|enum)\s+([A-Za-z_]\w{2,40})")
_WORDS = re.compile(r"[A-Za-z]{4,12}")
_MOST_BYTES = 100_000


@dataclass(frozen=True)
class Vocabulary:
    """What a ref holds that calls can be about."""

    fixed: Fixed
    paths: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    lines: dict[str, int]


def vocabulary(repo: Repo, fixed: Fixed, choice: random.Random) -> Vocabulary:
    listed = repo.git("ls-tree", "-r", "--name-only", fixed.commit).splitlines()
    paths = [each for each in listed if "/" in each and not each.startswith((".", "generated", '"'))]
    shown = choice.sample(paths, min(40, len(paths)))
    texts = {path: repo.git("show", f"{fixed.commit}:{path}")[:_MOST_BYTES] for path in shown}
    names = {name for text in texts.values() for name in _DEFINED.findall(text)}
    words = {word.lower() for text in texts.values() for word in _WORDS.findall(text)}
    lines = {path: text.count("\n") + 1 for path, text in texts.items()}
    return Vocabulary(fixed, tuple(shown), tuple(sorted(names)), tuple(sorted(words)), lines)


class FixedCalls:
    """Draws calls about a fixed ref, whose answer is known from its reference."""

    def __init__(self, choice: random.Random, vocabularies: list[Vocabulary], lobby: str) -> None:
        self._choice = choice
        self._all = vocabularies
        self._lobby = lobby

    def draw(self, tool: str, of: Vocabulary) -> Asked:
        make: Callable[[Vocabulary], dict[str, Any]] = getattr(self, f"_{tool}")
        return Asked(tool, make(of))

    def _pick(self, **options: Any) -> dict[str, Any]:
        """Some of the optional arguments; None leaves one out."""
        given = {name: value for name, value in options.items() if self._choice.random() < 0.5}
        return {name: value for name, value in given.items() if value is not None}

    def _path(self, of: Vocabulary) -> str:
        return self._choice.choice(of.paths)

    def _name(self, of: Vocabulary) -> str:
        return self._choice.choice(of.names or ("main",))

    def _query(self, of: Vocabulary) -> str:
        if self._choice.random() < 0.4:
            return self._name(of)
        return " ".join(self._choice.choice(of.words) for _ in range(self._choice.randint(1, 4)))

    def _range(self, of: Vocabulary, path: str) -> dict[str, int]:
        last = of.lines.get(path, 1)
        start = self._choice.randint(1, max(1, last))
        return {"startLine": start, "endLine": self._choice.randint(start, max(start, last))}

    def _other(self) -> str:
        return self._choice.choice(self._all).fixed.name

    def _git_log(self, of: Vocabulary) -> dict[str, Any]:
        some = self._pick(filePath=self._path(of), maxCount=self._choice.randint(1, 30), format="json")
        return {"ref": of.fixed.name, **some}

    def _git_blame(self, of: Vocabulary) -> dict[str, Any]:
        path = self._path(of)
        return {"filePath": path, "ref": of.fixed.name, **self._choice.choice([{}, self._range(of, path)])}

    def _git_diff(self, of: Vocabulary) -> dict[str, Any]:
        return {"ref1": self._other(), "ref2": of.fixed.name, **self._pick(filePath=self._path(of), summary=True)}

    def _read_file(self, of: Vocabulary) -> dict[str, Any]:
        path = self._path(of)
        lines = self._choice.choice([{}, self._range(of, path)])
        return {"path": path, "ref": of.fixed.name, **self._pick(includeDeps=True, lineNumbers=True), **lines}

    def lobby_read(self, of: Vocabulary) -> Asked:
        some = self._pick(includeDeps=True, lineNumbers=True, startLine=1)
        return Asked("read_file", {"path": self._lobby, "ref": of.fixed.name, **some})

    def _grep_codebase(self, of: Vocabulary) -> dict[str, Any]:
        pattern = self._choice.choice([self._name(of), rf"\b{self._choice.choice(of.words)}\w*", r"return \w+\("])
        folder = self._path(of).rpartition("/")[0]
        some = self._pick(caseSensitive=True, limit=self._choice.randint(1, 100), filePattern=f"{folder}/**")
        return {"pattern": pattern, "ref": of.fixed.name, **some}

    def _find_symbol(self, of: Vocabulary) -> dict[str, Any]:
        return {"symbol_name": self._name(of), "ref": of.fixed.name, **self._pick(limit=self._choice.randint(1, 20))}

    def _find_references(self, of: Vocabulary) -> dict[str, Any]:
        some = self._pick(limit=self._choice.randint(1, 40), include_unresolved=True, kind="calls")
        return {"symbol_name": self._name(of), "ref": of.fixed.name, **some}

    def _get_call_graph(self, of: Vocabulary) -> dict[str, Any]:
        some = self._pick(depth=self._choice.randint(1, 4), direction=self._choice.choice(["callers", "callees"]))
        return {"symbol_name": self._name(of), "ref": of.fixed.name, **some}

    def _get_file_outline(self, of: Vocabulary) -> dict[str, Any]:
        path = self._path(of)
        where = self._choice.choice([path, path, path.rpartition("/")[0] or ".", "."])
        return {"path": where, "ref": of.fixed.name, **self._pick(limit=self._choice.randint(1, 100))}

    def _diff_context(self, of: Vocabulary) -> dict[str, Any]:
        some = self._pick(limit=self._choice.randint(1, 60), path_filter=self._path(of).split("/")[0])
        return {"base_ref": self._other(), "head_ref": of.fixed.name, **some}

    def _search_code(self, of: Vocabulary) -> dict[str, Any]:
        mode = self._choice.choice(["hybrid", "keyword", "vector"])
        some = self._pick(search_mode=mode, limit=self._choice.randint(1, 30))
        return {"path": ROOT, "query": self._query(of), "ref": of.fixed.name, **some}

    def _explain_ranking(self, of: Vocabulary) -> dict[str, Any]:
        place = {"result_path": self._path(of), "result_line_start": self._choice.randint(1, 30)}
        return {"query": self._query(of), "ref": of.fixed.name, **place}

    def _context_search(self, of: Vocabulary) -> dict[str, Any]:
        return {"query": f"{self._query(of)} {self._name(of)}", "limit": 20, "ref": of.fixed.name}

    def _build_context_pack(self, of: Vocabulary) -> dict[str, Any]:
        return {"task": f"mend {self._query(of)}", "max_tokens": self._choice.randint(500, 8000), "ref": of.fixed.name}

    def _instructions_list(self, of: Vocabulary) -> dict[str, Any]:
        return self._pick(limit=self._choice.randint(1, 9), fields=["id", "title", "requirement"], category="soak")

    def _instructions_get(self, of: Vocabulary) -> dict[str, Any]:
        return {"id": f"rule-{self._choice.randrange(14)}"}

    def _instructions_search(self, of: Vocabulary) -> dict[str, Any]:
        return {"q": self._choice.choice(["care", "checked", "crate", "nothing such"]), **self._pick(limit=4)}

    def _instructions_diff(self, of: Vocabulary) -> dict[str, Any]:
        return self._pick(clientHash="0" * 64, known=[{"id": "rule-1", "sourceHash": "1" * 64}])

    def _prompt_review(self, of: Vocabulary) -> dict[str, Any]:
        return {"prompt": f"Do {self._query(of)} somehow, password = {self._name(of)}"}

    def _integrity_verify(self, of: Vocabulary) -> dict[str, Any]:
        return {}

    def _gates_evaluate(self, of: Vocabulary) -> dict[str, Any]:
        return {}


INVALID: tuple[Asked, ...] = (
    Asked("git_log", {"maxCount": 0}), Asked("git_log", {"ref": "no-such-ref"}), Asked("git_log", {"ref": "-rf"}),
    Asked("git_blame", {}), Asked("git_blame", {"filePath": "../../etc/passwd"}),
    Asked("git_blame", {"filePath": "no/such.py"}), Asked("git_diff", {"ref1": "no-such-ref"}),
    Asked("git_diff", {"cursor": "x"}), Asked("context_search", {"query": "a"}), Asked("context_search", {"limit": 3}),
    Asked("read_file", {"path": ".git/config"}), Asked("read_file", {"path": "/etc/passwd"}),
    Asked("read_file", {"path": "no/such.py"}), Asked("read_file", {"path": 7}),
    Asked("grep_codebase", {"pattern": "("}), Asked("grep_codebase", {"pattern": "a", "limit": 1000}),
    Asked("index_codebase", {"path": "relative"}), Asked("index_codebase", {"path": ROOT, "ref": "no-such-ref"}),
    Asked("get_status", {"path": "/no/such/folder"}), Asked("search_code", {"path": ROOT, "query": "  "}),
    Asked("search_code", {"path": ROOT, "query": "a", "ref": "no-such-ref"}),
    Asked("search_code", {"path": ROOT, "query": "a", "filters": {"nothing": 1}}),
    Asked("instructions_get", {}), Asked("instructions_list", {"limit": 0}), Asked("usage_track", {"id": 3}),
    Asked("prompt_review", {}), Asked("usage_hotset", {"limit": 1000}), Asked("diff_context", {"base_ref": "no-such"}),
    Asked("diff_context", {"limit": 0}), Asked("find_references", {"symbol_name": "no_such_symbol_at_all"}),
    Asked("find_references", {}), Asked("find_symbol", {"symbol_name": "x", "workspace": "/no/such"}),
    Asked("find_symbol", {"symbol_name": "x", "cursor": "nonsense"}), Asked("get_call_graph", {"symbol_name": ""}),
    Asked("get_call_graph", {"symbol_name": "no_such_symbol_at_all"}),
    Asked("remember", {"type": "rule", "content": "x"}), Asked("forget", {"id": "no-such-id"}),
    Asked("get_file_outline", {"path": "no/such.py"}), Asked("get_file_outline", {"path": "../.."}),
    Asked("build_context_pack", {"task": "x", "max_tokens": 1}),
    Asked("list_refs", {"workspace": "/no/such"}), Asked("switch_ref", {"ref": "no-such-ref"}),
    Asked("explain_ranking", {"query": "x"}), Asked("health_check", {"unknown": 1}),
)  # fmt: skip
"""Calls that must be answered with an error of the tool's family."""
