"""Ten repositories: a node answers generated calls as `cairn serve` does on a clone, byte for byte but for times.

CAIRN_REPOSITORIES names others in their place: git repositories, separated as in PATH. A soak asks 200 of each."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import Door
from tests.support.repo import Repo
from tests.support.soak import PATIENCE, SOAK
from tests.support.team import Team, open_team
from tests.team.conftest import fresh_database
from tests.team.test_equality import VOLATILE, LocalDoor

CALLS = 200 if SOAK else 20
TEMPLATES: dict[str, dict[str, str | bytes]] = {
    "python": {
        "pkg/__init__.py": "from pkg.core import Engine{n}\n",
        "pkg/core.py": '"""The engine."""\n\n\nclass Engine{n}:\n    """Runs."""\n\n'
        "    def run(self, times: int) -> int:\n"
        "        return helper_{n}(times)\n\n\ndef helper_{n}(times):\n    # TODO: faster\n    return times * {n}\n",
        "tests/test_core.py": "from pkg import Engine{n}\n\n\ndef test_run():\n    assert Engine{n}().run(2)\n",
        "README.md": "# Engine {n}\n\nAn engine that runs.\n\n## Use\n\nCall `run`.\n",
    },
    "go": {
        "go.mod": "module example.org/engine{n}\n\ngo 1.22\n",
        "engine.go": "package engine\n\n// Engine{n} runs.\ntype Engine{n} struct{{ times int }}\n\n"
        "func (e *Engine{n}) Run() int {{\n\treturn helper{n}(e.times)\n}}\n\n"
        "func helper{n}(times int) int {{\n\treturn times * {n}\n}}\n",
    },
    "typescript": {
        "package.json": '{{"name": "engine{n}", "version": "1.0.0"}}\n',
        "src/engine.ts": "import {{ helper{n} }} from './helper';\n\nexport class Engine{n} {{\n"
        "  run(times: number): number {{\n"
        "    return helper{n}(times);\n  }}\n}}\n",
        "src/helper.ts": "export function helper{n}(times: number): number {{\n  return times * {n};\n}}\n",
    },
}  # fmt: skip
_NAME = re.compile(r"(?:class|def|func|function|fn|struct|interface|type)\s+(?:\([^)]*\)\s*)?([A-Za-z_]\w{2,})")
_WORD = re.compile(r"[A-Za-z]{4,}")


@dataclass(frozen=True)
class Pair:
    """One repository at both doors, and what calls may be about."""

    name: str
    root: Path
    node: Door
    """With a token of its own: the clone, too, has a connection of its own, and limits are counted by them."""
    local: Door
    names: list[str]
    paths: list[str]
    words: list[str]


@pytest.fixture(scope="module")
def pairs(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Pair]]:
    folder = tmp_path_factory.mktemp("many")
    with fresh_database(postgres) as url, open_team(url, folder) as team:
        names = _add_repositories(team)
        team.work("worker")
        team.start_node("node")
        team.await_ready()
        yield [_pair(team, name, folder / "laptop") for name in names]


def _add_repositories(team: Team) -> list[str]:
    given = [Path(each) for each in os.environ.get("CAIRN_REPOSITORIES", "").split(os.pathsep) if each]
    for path in given:
        name = f"org/{path.name.removesuffix('.git')}"
        team.repos[name] = Repo(path)
        team.add(name)
    kinds = list(TEMPLATES)
    for number in range(0 if given else 10):
        files = TEMPLATES[kinds[number % len(kinds)]]
        team.repository(f"org/engine{number}", {path: str(text).format(n=number) for path, text in files.items()})
    return list(team.repos)


def _pair(team: Team, name: str, laptop: Path) -> Pair:
    root = laptop / name.rpartition("/")[2]
    subprocess.run(["git", "clone", "--quiet", str(team.repos[name].path), str(root)], check=True, capture_output=True)
    local = LocalDoor(root, laptop / f"{root.name}-home")
    assert not local.call("index_codebase", {"path": str(root)}).is_error
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )
    paths = [each for each in listed if each and (root / each).is_file() and (root / each).stat().st_size < 200_000]
    text = "\n".join((root / each).read_text(encoding="utf-8", errors="replace") for each in paths[:400])
    node = team.door(team.token(name))
    return Pair(name, root, node, local, sorted(set(_NAME.findall(text))), paths, sorted(set(_WORD.findall(text))))


def some_call(pair: Pair, chance: random.Random) -> tuple[str, dict[str, Any]]:
    name, path, limit = (
        chance.choice([*pair.names, "nothing_here"]),
        chance.choice([*pair.paths, "no/such.py"]),
        chance.randint(1, 12),
    )
    mode = chance.choice(["hybrid", "keyword", "vector"])
    words = " ".join(chance.choices(pair.words, k=chance.randint(1, 5)))
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_code", {"query": words, "limit": limit, "search_mode": mode}),
        ("search_code", {"query": name, "limit": limit}),
        ("find_symbol", {"symbol_name": name, "limit": limit}),
        ("find_references", {"symbol_name": name, "limit": limit, "include_unresolved": chance.random() < 0.5}),
        ("get_call_graph", {"symbol_name": name}), ("get_file_outline", {"path": path}),
        ("grep_codebase", {"pattern": words.split()[0], "limit": limit}), ("read_file", {"path": path}),
        ("context_search", {"query": f"{words} of it", "limit": limit}),
        ("explain_ranking", {"query": words, "result_path": path, "result_line_start": limit}),
        ("build_context_pack", {"task": words}), ("git_log", {"filePath": path, "maxCount": limit}),
        ("git_blame", {"filePath": path}), ("get_status", {}), ("list_refs", {}), ("instructions_list", {}),
        ("instructions_search", {"q": words}), ("prompt_review", {"prompt": words}), ("integrity_verify", {}),
    ]  # fmt: skip
    return chance.choice(calls)


def steady(value: Any, pair: Pair) -> Any:
    """A value without times, and with one word for the folder, which is the repository's name on a node."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in VOLATILE}
        return {name: steady(each, pair) for name, each in kept.items() if name != "id" or not isinstance(each, int)}
    if isinstance(value, list):
        return [steady(each, pair) for each in value]
    if isinstance(value, str):
        return re.sub(r"\d+ ?ms", "SAME", value.replace(str(pair.root), "SAME").replace(pair.name, "SAME"))
    return value


def _difference(one: str, other: str) -> tuple[str, str]:
    """Both from a little before the first place in which they differ."""
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    return one[max(0, at - 80) : at + 80], other[max(0, at - 80) : at + 80]


@pytest.mark.timeout(3600)
def test_ten_repositories_are_answered_as_on_their_clones(pairs: list[Pair], seeded: random.Random) -> None:
    differing: list[tuple[Any, ...]] = []
    errors = 0
    for pair in pairs:
        for _ in range(CALLS):
            name, arguments = some_call(pair, seeded)
            found = _compare(pair, name, arguments)
            for _ in range(int(20 * PATIENCE)):
                if '"freshness_status": "stale"' not in "".join(found):
                    break
                time.sleep(1.0)  # the record was silent, or the files were not looked at: the machine has much to do
                found = _compare(pair, name, arguments)
            errors += '"error"' in found[0]
            if found[0] != found[1]:
                differing.append((pair.name, {name: arguments}, *_difference(*found)))
                print(*differing[-1], sep="\n", flush=True)
    print(f"{len(pairs)} repositories, {CALLS} calls of each, {errors} of them errors, {len(differing)} differ")
    assert not differing, differing[:5]


def _compare(pair: Pair, name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """What both say, as far as it has to be the same."""
    ours, theirs = pair.node.call(name, {**arguments, "project": pair.name}), pair.local.call(name, arguments)
    return json.dumps([ours.is_error, steady(ours.value, pair)]), json.dumps(
        [theirs.is_error, steady(theirs.value, pair)]
    )
