"""Overview, modules and packs of one repository: what they cost, and whether a pack holds what a task needs.

    python benchmarks/context.py --repo DIR [--tasks 100] [--tokens 4000] [--json FILE]

The repository is indexed and asked through stdio. The tasks are the subjects of its own latest commits that changed at
most five files of code, and what each needs are the files of code it changed. A pack is held against what `search_code`
gives for the same budget: its results in order, as much of their JSON as fits. The index is of the newest commit, so
both know the code that came of the task; the one is compared with the other, no more.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from measure import Server, Spread, cairn, markdown

from codecairn.file_roles import is_product
from codecairn.text import CHARACTERS_PER_TOKEN

_MOST_FILES = 5
_CODE = frozenset({".py", ".go", ".rs", ".ts", ".js", ".java", ".c", ".cpp", ".rb", ".cs", ".php", ".kt", ".swift"})


class Task(NamedTuple):
    text: str
    files: frozenset[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--tokens", type=int, default=4_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    root = options.repo.resolve()
    tasks = tasks_of(root, options.tasks)
    with tempfile.TemporaryDirectory() as home, cairn(root, Path(home), "--no-watch") as server:
        server.initialize()
        server.value("index_codebase", {"path": str(root)})
        figures = {**_reading(server), **_packing(server, root, tasks, options.tokens)}
    print(markdown(["what", "figure"], [[name, str(value)] for name, value in figures.items()]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def tasks_of(root: Path, most: int) -> list[Task]:
    """The latest commits with a few files of the product each."""
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%x00%s", "--name-only", "-n", str(most * 6)],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    found = []
    for entry in log.split("\0")[1:]:
        subject, *names = entry.strip().split("\n")
        files = frozenset(name for name in names if _is_product(root, name))
        if 0 < len(files) <= _MOST_FILES:
            found.append(Task(subject, files))
    return found[:most]


def _is_product(root: Path, name: str) -> bool:
    path = Path(name)
    return path.suffix in _CODE and is_product(name, "code") and (root / path).is_file()


def _reading(server: Server) -> dict[str, Any]:
    """A resource read for the first time, and again."""
    figures: dict[str, Any] = {}
    for uri in ("context://project/overview", _module(server)):
        took = Spread()
        for _ in range(6):
            began = time.perf_counter()
            answer = json.loads(server.request("resources/read", {"uri": uri}))
            took.values.append((time.perf_counter() - began) * 1000)
        text = answer["result"]["contents"][0]["text"]
        figures[f"{uri}: first, then median ms"] = f"{took.values[0]:.0f}, {Spread(took.values[1:]).median:.0f}"
        figures[f"{uri}: tokens"] = round(len(text) / CHARACTERS_PER_TOKEN)
    return figures


def _module(server: Server) -> str:
    listed = json.loads(server.request("resources/list", {}))["result"]["resources"]
    return str(next(each["uri"] for each in listed if each["uri"].startswith("context://module/")))


def _packing(server: Server, root: Path, tasks: list[Task], tokens: int) -> dict[str, Any]:
    took, most = Spread(), 0
    shares: dict[str, list[float]] = {"pack": [], "search": []}
    for task in tasks:
        began = time.perf_counter()
        pack = server.value("build_context_pack", {"task": task.text, "max_tokens": tokens})
        took.values.append((time.perf_counter() - began) * 1000)
        most = max(most, pack["tokens"])
        shares["pack"].append(_share(task, {each["path"] for each in pack["items"]}))
        asked = {"path": str(root), "query": task.text, "limit": 50}
        shares["search"].append(_share(task, _within(server.value("search_code", asked)["results"], tokens)))
    return {
        "tasks": len(tasks), "build_context_pack p50, p95 ms": f"{took.median:.0f}, {took.p95:.0f}",
        "most tokens of a pack": most,
        **{f"{name}: changed files it holds": f"{sum(each) / len(each):.1%}" for name, each in shares.items()},
        **{f"{name}: tasks of which it holds all": sum(share == 1 for share in each) for name, each in shares.items()},
    }  # fmt: skip


def _within(results: list[dict[str, Any]], tokens: int) -> set[str]:
    """The files of the leading results that go into a budget."""
    room, paths = tokens * CHARACTERS_PER_TOKEN, set[str]()
    for each in results:
        room -= len(json.dumps(each, ensure_ascii=False))
        if room < 0 and paths:
            break
        paths.add(each["file"]["path"])
    return paths


def _share(task: Task, held: set[str]) -> float:
    return len(task.files & held) / len(task.files)


if __name__ == "__main__":
    main()
