"""References: how many that are found are true, how many that are true are found, and how soon.

    python benchmarks/references.py accuracy --oracles FOLDER --repos FOLDER [--only NAME,…] [--show 20] [--json FILE]
    python benchmarks/references.py account --repos FOLDER [--only NAME,…] [--symbols 40] [--show 20] [--json FILE]
    python benchmarks/references.py speed ROOT [--symbols 1000] [--json FILE]

`accuracy` asks `cairn serve` for the references to every symbol that an oracle lists and compares the lines. An oracle
is a file LANGUAGE_NAME.json of `[{symbol, path, line, refs: [[path, line], …]}, …]`, as the language's own analyser
sees them; the repository NAME lies checked out in the other folder. An analyser that a project keeps to some of its
folders has nothing to say of the others, so there are two precisions: of all that was found, and of what was found
in files that the oracle names at all. Beside them stands matching by name: every line of such a file with the word.

`account` needs no oracle: see account.py.

`speed` asks for random functions, methods and classes of a project, one after the other on one connection, by their
path and line. A call to `health_check`, which does nothing, is the floor.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from account import Account, account
from measure import Server, Spread, cairn, cpu_so_far_s, markdown
from sources import sources_in

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE, TYPES

_WORD = re.compile(r"[\w$]+")
_PAGE = 1000

Place = tuple[str, int]


@dataclass
class Score:
    """What was found for the symbols of one repository, against what is true."""

    name: str
    language: str
    symbols: int = 0
    true: int = 0
    found: int = 0
    found_in_sight: int = 0
    right: int = 0
    by_name: int = 0
    right_by_name: int = 0
    missed: Counter[str] = field(default_factory=Counter)
    invented: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def row(self) -> list[str]:
        return [
            self.name, self.language, str(self.symbols), str(self.true), _share(self.right, self.found),
            _share(self.right, self.found_in_sight), _share(self.right, self.true),
            _share(self.right_by_name, self.by_name), _share(self.right_by_name, self.true),
        ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    accuracy = verbs.add_parser("accuracy")
    accuracy.add_argument("--oracles", type=Path, required=True)
    accuracy.add_argument("--repos", type=Path, required=True)
    accuracy.add_argument("--only", type=lambda text: set(text.split(",")), default=set())
    accuracy.add_argument("--show", type=int, default=0)
    accuracy.set_defaults(run=_accuracy)
    speed = verbs.add_parser("speed")
    speed.add_argument("root", type=Path)
    speed.add_argument("--symbols", type=int, default=1000)
    speed.set_defaults(run=_speed)
    accounts = verbs.add_parser("account")
    accounts.add_argument("--repos", type=Path, required=True)
    accounts.add_argument("--only", type=lambda text: set(text.split(",")), default=set())
    accounts.add_argument("--symbols", type=int, default=40)
    accounts.add_argument("--show", type=int, default=0)
    accounts.set_defaults(run=_account)
    for each in (accuracy, speed, accounts):
        each.add_argument("--json", type=Path)
    options = parser.parse_args()
    figures = options.run(options)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def _accuracy(options: argparse.Namespace) -> list[dict[str, Any]]:
    scores = []
    for oracle in sorted(options.oracles.glob("*.json")):
        language, _, name = oracle.stem.partition("_")
        root = (options.repos / name).resolve()
        if root.is_dir() and (not options.only or name in options.only):
            scores.append(_scored(Score(name, language), root, json.loads(oracle.read_text())))
            print(f"{name} done", file=sys.stderr, flush=True)
    head = [
        "repository", "oracle", "symbols", "references", "precision", "in files it names", "recall",
        "by name: precision", "recall",
    ]  # fmt: skip
    print(markdown(head, [score.row() for score in scores]))
    _print_causes(scores, options.show)
    return [
        {name: value for name, value in vars(score).items() if name not in ("missed", "invented", "examples")}
        for score in scores
    ]


def _print_causes(scores: list[Score], show: int) -> None:
    rows = [
        [score.name, what, cause, str(count)]
        for score in scores
        for what, causes in (("missed", score.missed), ("invented", score.invented))
        for cause, count in causes.most_common()
    ]
    print("\n" + markdown(["repository", "what", "cause", "lines"], rows))
    for score in scores:
        for cause, lines in sorted(score.examples.items()) if show else ():
            chosen = random.Random(1).sample(lines, min(show, len(lines)))
            print(f"\n{score.name}, {cause}:", *chosen, sep="\n  ")


def _scored(score: Score, root: Path, symbols: list[dict[str, Any]]) -> Score:
    in_sight = {symbol["path"] for symbol in symbols} | {path for symbol in symbols for path, _ in symbol["refs"]}
    words = _words(root, in_sight)
    with _served(root) as server:
        for symbol in symbols:
            here = (symbol["path"], symbol["line"])
            truth = {(path, line) for path, line in symbol["refs"]} - {here}
            bound, unbound = _asked(server, symbol)
            bound.pop(here, None)
            _count(score, truth, bound, in_sight)
            _explain(score, root, symbol, truth, bound, unbound, in_sight)
            named = words(symbol["symbol"].split(".")[-1]) - {here}
            score.by_name += len(named)
            score.right_by_name += len(named & truth)
    return score


def _count(score: Score, truth: set[Place], bound: dict[Place, str], in_sight: set[str]) -> None:
    score.symbols += 1
    score.true += len(truth)
    score.found += len(bound)
    score.found_in_sight += sum(path in in_sight for path, _ in bound)
    score.right += len(truth & bound.keys())


def _explain(
    score: Score, root: Path, symbol: dict[str, Any], truth: set[Place], bound: dict[Place, str], unbound: set[Place],
    in_sight: set[str],
) -> None:  # fmt: skip
    for place in sorted(truth - bound.keys()):
        cause = "could not be bound" if place in unbound else "bound to another, or no use of the name"
        score.missed[cause] += 1
        score.examples[f"missed: {cause}"].append(_line(root, symbol, place))
    for place in sorted(bound.keys() - truth):
        cause = f"by {bound[place]}" if place[0] in in_sight else "in a file that the oracle names nowhere"
        score.invented[cause] += 1
        score.examples[f"invented: {cause}"].append(_line(root, symbol, place))


def _line(root: Path, symbol: dict[str, Any], place: Place) -> str:
    text = (root / place[0]).read_text(encoding="utf-8", errors="replace").splitlines()
    shown = text[place[1] - 1].strip()[:100] if place[1] <= len(text) else ""
    return f"{symbol['symbol']} ({symbol['path']}:{symbol['line']})  {place[0]}:{place[1]}  {shown}"


def _asked(server: Server, symbol: dict[str, Any]) -> tuple[dict[Place, str], set[Place]]:
    """Every line that refers to a symbol, by how it was bound, and those that could not be."""
    name = symbol["symbol"].split(".")[-1]
    asked: dict[str, Any] = {"symbol_name": name, "path": symbol["path"], "line": symbol["line"], "limit": _PAGE}
    bound, unbound = dict[Place, str](), set[Place]()
    while True:
        answer = server.value("find_references", asked | {"include_unresolved": True})
        if "references" not in answer:
            return {}, set()
        bound |= {(row["path"], row["line_start"]): row["resolver"] for row in answer["references"]}
        unbound |= {(row["path"], row["line_start"]) for row in answer["unresolved"]}
        if answer["next_cursor"] is None:
            return bound, unbound
        asked["cursor"] = answer["next_cursor"]


def _account(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Of each repository in a folder, the share of uses that is bound, and that is bound or said (account.py)."""
    found = list[Account]()
    for root in sorted(options.repos.resolve().iterdir()):
        if root.is_dir() and (not options.only or root.name in options.only):
            with _served(root) as server:
                found.append(account(server, root, options.symbols))
            print(f"{root.name} done", file=sys.stderr, flush=True)
    head = [
        "repository",
        "language",
        "symbols",
        "calls",
        "bound",
        "or said",
        "all uses",
        "bound",
        "or said",
        "or something else",
    ]
    print(markdown(head, [_account_row(each) for each in found]))
    for each in found if options.show else ():
        for what, lines in (("silent", each.silent), ("said", each.said)):
            shown = random.Random(1).sample(lines, min(options.show, len(lines)))
            print(f"\n{each.repository}, {what}: {len(lines)}", *sorted(shown), sep="\n  ")
    return [{name: value for name, value in vars(each).items() if name not in ("silent", "said")} for each in found]


def _account_row(each: Account) -> list[str]:
    return [
        each.repository, each.language, str(each.symbols),
        str(each.calls), _share(each.calls_bound, each.calls), _share(each.calls_bound + each.calls_said, each.calls),
        str(each.uses), _share(each.uses_bound, each.uses), _share(each.uses_bound + each.uses_said, each.uses),
        _share(each.uses_bound + each.uses_said + each.uses_elsewhere, each.uses),
    ]  # fmt: skip


def _words(root: Path, files: set[str]) -> Callable[[str], set[Place]]:
    """The lines on which a word stands, of some files."""
    places: dict[str, set[Place]] = defaultdict(set)
    for path in files:
        for number, line in enumerate((root / path).read_text(encoding="utf-8", errors="replace").split("\n"), 1):
            for word in _WORD.findall(line):
                places[word].add((path, number))
    return lambda word: places.get(word, set())


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


@contextmanager
def _served(root: Path) -> Iterator[Server]:
    """A server of a project that is indexed, with a data directory of its own."""
    with tempfile.TemporaryDirectory(prefix="cairn-references-") as home, cairn(root, Path(home)) as server:
        server.initialize()
        server.value("index_codebase", {"path": str(root)})
        yield server


def _speed(options: argparse.Namespace) -> dict[str, Any]:
    root = options.root.resolve()
    symbols = list(_symbols(root))
    chosen = random.Random(1).sample(symbols, min(options.symbols, len(symbols)))
    spread, cpu, found = Spread(), Spread(), 0
    with _served(root) as server:
        while server.value("get_status", {"path": str(root)})["metadata"]["freshness_status"] != "fresh":
            time.sleep(0.1)
        floor = Spread([_timed(lambda: server.value("health_check", {})) for _ in range(50)])
        for path, line, name in chosen:
            asked = {"symbol_name": name, "path": path, "line": line}
            before, began = _cpu_s(server), time.perf_counter()
            answer = server.value("find_references", asked)
            spread.values.append((time.perf_counter() - began) * 1000)
            cpu.values.append((_cpu_s(server) - before) * 1000)
            found += answer.get("total_references", 0)
        memory = server.resident_mb()
    figures = {
        "symbols": len(chosen), "of": len(symbols), "references": found, "p50_ms": round(spread.median, 1),
        "p95_ms": round(spread.p95, 1), "most_ms": round(max(spread.values)), "cpu_p95_ms": round(cpu.p95, 1),
        "floor_ms": round(floor.median, 1), "mb": round(memory),
    }  # fmt: skip
    print(markdown(list(figures), [[str(value) for value in figures.values()]]))
    return figures


def _symbols(root: Path) -> Iterator[tuple[str, int, str]]:
    """Where every function, method and type of a project is defined."""
    for source in sources_in(root):
        for symbol in extract(source.language, source.text).symbols:
            if symbol.kind in CALLABLE | TYPES:
                yield source.path, symbol.name_line, symbol.name


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000


def _cpu_s(server: Server) -> float:
    """In steps of a tick, a hundredth of a second."""
    return cpu_so_far_s(server.process.pid) or 0.0


if __name__ == "__main__":
    main()
