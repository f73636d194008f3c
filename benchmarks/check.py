"""Whether it stays fast: the small version of each benchmark as counts that do not vary with the machine.

    python benchmarks/check.py [--write] [--case NAME]

    modules      imported by a command, alone and until it has answered, by a worker, by the server up to its greeting
                 and with its door
    bytes        of `tools/list`
    calls        of Python functions: taking files apart, indexing a small project, one saved file, a search, references
    statements   of SQL, and files opened, for the same

The project is made here, always the same. Each case runs in a process of its own with fixed hashes. A count that lies
more than a tenth above benchmarks/figures.json fails, by its name; --write keeps the counts of now as the figures. They
are kept for each version of Python: with one that has none, nothing is compared.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from codecairn import tools
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.index.digest import digest
from codecairn.project import Projects
from codecairn.serve import jsonrpc

FIGURES = Path(__file__).with_name("figures.json")
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
MOST = 1.1
SLACK = 3
"""So many more are no rise: one module of the standard library imports another, or none."""
Counts = dict[str, int]


class Counting:
    """Counts what Python and SQLite do, in all threads, between two moments."""

    def __init__(self) -> None:
        self._calls = Counter[str]()
        self.is_on = False
        sys.addaudithook(self._audit)
        connect = sqlite3.connect

        def traced(*arguments: Any, **options: Any) -> sqlite3.Connection:
            database: sqlite3.Connection = connect(*arguments, **options)
            database.set_trace_callback(self._statement)
            return database

        sqlite3.connect = traced  # type: ignore[assignment]

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        del arguments
        if self.is_on and event == "open":
            self._calls["files opened"] += 1

    def _statement(self, text: str) -> None:
        del text
        if self.is_on:
            self._calls["statements"] += 1

    def _profile(self, frame: Any, event: str, argument: Any) -> None:
        del argument
        if event == "call" and "codecairn" in frame.f_code.co_filename:
            self._calls["calls"] += 1

    @contextmanager
    def of(self, name: str, into: Counts) -> Iterator[None]:
        """Other threads' calls vary with their turns, so those of this one count alone."""
        self._calls.clear()
        self.is_on = True
        sys.setprofile(self._profile)
        try:
            yield
        finally:
            sys.setprofile(None)
            self.is_on = False
        into.update({f"{name}: {what}": count for what, count in sorted(self._calls.items())})


def project(folder: Path) -> Path:
    """Sixty files that define, import and call each other, in three languages."""
    for number in range(20):
        before = (number - 1) % 20
        _write(
            folder / f"shop/part{number}/orders.py",
            f'"""Orders of part {number}."""\n\nfrom shop.part{before}.orders import settle{before}\n\n\n'
            f'class Order{number}:\n    """An order that can be paid."""\n\n    total: int = 0\n\n'
            f"    def pay(self, amount: int) -> int:\n        return settle{before}(self.total - amount)\n\n\n"
            + "".join(
                f"def {'settle' if each == 0 else f'step{each}_'}{number}(sum: int) -> int:\n"
                f'    """Settle what step {each} left open."""\n    return sum + {each}\n\n\n'
                for each in range(12)
            ),
        )
        _write(
            folder / f"web/part{number}/cart.ts",
            f'import {{ Cart{before} }} from "../part{before}/cart";\n\n/** A cart in the browser. */\n'
            f"export class Cart{number} {{\n  constructor(private inner: Cart{before}) {{}}\n"
            + "".join(f"  addItem{each}(count: number): number {{ return count + {each}; }}\n" for each in range(10))
            + "}\n",
        )
        _write(
            folder / f"store/part{number}/stock.go",
            f"package part{number}\n\n// Stock counts what is left.\ntype Stock struct {{ left int }}\n\n"
            + "".join(f"func (s *Stock) Take{each}(n int) int {{ return s.left - n }}\n" for each in range(10)),
        )
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, check=True)
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def imported(*command: str) -> int:
    """Modules that a Python command imports."""
    command = (sys.executable, "-X", "importtime", *command)
    ran = subprocess.run(command, input=b"", capture_output=True, check=False, cwd=os.environ["HOME"])
    return sum(line.count(b"|") == 2 for line in ran.stderr.splitlines()) - 1


def modules(scratch: Path) -> Counts:
    del scratch
    greeting = "import codecairn.cli.serve, codecairn.greeting.greeter"
    return {
        "modules of cairn --version": imported("-m", "codecairn", "--version"),
        "modules of cairn call health_check": imported("-m", "codecairn", "call", "health_check"),
        "modules of the greeting": imported("-c", greeting),
        "modules of cairn search": imported("-c", "import codecairn.cli.search"),
        "modules of a worker": imported("-m", "codecairn.index.worker"),
        "modules of cairn serve": imported("-m", "codecairn", "serve", "--no-index"),
    }


def commands(scratch: Path) -> Counts:
    """Whole commands, each in a process of its own on an index that is fresh; numpy is for who searches alone."""
    root = project(scratch / "shop")
    subprocess.run([sys.executable, "-m", "codecairn", "index", str(root)], check=True, capture_output=True)
    asked = {"search": "settle an order", "refs": "settle7", "grep": "settle7", "outline": "shop/part3/orders.py"}
    return {
        f"modules of cairn {name} that answers": imported(
            "-m", "codecairn", name, str(root / given) if name == "outline" else given, "--root", str(root)
        )
        for name, given in asked.items()
    }


def listing(scratch: Path) -> Counts:
    del scratch
    shown = jsonrpc.dumps(jsonrpc.list_tools(tools.standard()))
    return {"bytes of tools/list": len(shown)}


def reading(scratch: Path) -> Counts:
    root, counts = project(scratch / "shop"), Counts()
    paths = sorted(str(each.relative_to(root)) for each in root.rglob("*.*") if ".git" not in each.parts)
    digest(root, "", paths[0])
    with Counting().of("60 files taken apart", counts):
        for path in paths:
            digest(root, "", path)
    return counts


def indexing(scratch: Path) -> Counts:
    """From nothing, again with one file saved, then questions."""
    counting, counts, root = Counting(), Counts(), project(scratch / "shop")
    projects, registry = Projects(Settings(roots=(root,), data=scratch / "data")), tools.standard()

    def ask(tool: str, **given: Any) -> None:
        call = tools.Call(projects, Connection("check"), registry, "cli")
        reply = registry.call(registry.tools[tool], call, given)
        assert reply.error is None, reply.error

    with counting.of("60 files indexed", counts):
        ask("index_codebase")
    saved = root / "shop/part3/orders.py"
    saved.write_text(saved.read_text(encoding="utf-8") + "\n\ndef refund(sum: int) -> int:\n    return -sum\n")
    with counting.of("one file saved", counts):
        ask("index_codebase")
    ask("search_code", query="who settles an order")
    with counting.of("a search", counts):
        ask("search_code", query="where is stock taken from the store")
    with counting.of("references", counts):
        ask("find_references", symbol_name="settle7")
    with counting.of("a status", counts):
        ask("get_status")
    return counts


CASES: dict[str, Callable[[Path], Counts]] = {
    "modules": modules, "commands": commands, "listing": listing, "reading": reading, "indexing": indexing,
}  # fmt: skip


def counts_now() -> Counts:
    """Each case in a process of its own, side by side."""
    found: dict[str, Counts] = {}

    def run(case: str) -> None:
        with tempfile.TemporaryDirectory() as home:
            environment = {**os.environ, "PYTHONHASHSEED": "0", "HOME": home, "CAIRN_HOME": str(Path(home, "data"))}
            command = [sys.executable, __file__, "--case", case]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            if ran.returncode:
                sys.exit(f"{case} failed:\n{ran.stderr[-3000:]}")
            found[case] = json.loads(ran.stdout)

    threads = [threading.Thread(target=run, args=(case,)) for case in CASES]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    missing = CASES.keys() - found.keys()
    if missing:
        sys.exit(f"no counts of {', '.join(sorted(missing))}")
    return {name: count for case in CASES for name, count in found[case].items()}


def risen(figures: Counts, now: Counts) -> list[str]:
    return [
        f"{name}: {figures[name]:,} -> {count:,} (+{count / max(figures[name], 1) - 1:.0%})"
        for name, count in now.items()
        if name in figures and count > figures[name] * MOST and count > figures[name] + SLACK
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--case", choices=CASES)
    given = parser.parse_args()
    if given.case:
        with tempfile.TemporaryDirectory() as scratch:
            print(json.dumps(CASES[given.case](Path(scratch))), flush=True)
        os._exit(0)  # no thread or worker of the product is waited for
    kept: dict[str, Counts] = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    now = counts_now()
    if given.write:
        FIGURES.write_text(json.dumps({**kept, VERSION: now}, indent=1) + "\n")
        return
    if VERSION not in kept:
        print(f"There are no figures for Python {VERSION}; python benchmarks/check.py --write keeps them.")
        return
    missing = kept[VERSION].keys() ^ now.keys()
    for name in sorted(missing):
        print(f"{name}: not among {'the figures' if name in now else 'the counts'} (--write)")
    rises = risen(kept[VERSION], now)
    for each in rises:
        print(f"ROSE  {each}")
    print(f"{len(now)} counts, {len(rises)} risen by more than a tenth")
    sys.exit(1 if rises or missing else 0)


if __name__ == "__main__":
    main()
