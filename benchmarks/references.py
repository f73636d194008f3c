"""References: how many that are found are true, how many that are true are found, and how soon.

    python benchmarks/references.py accuracy --oracles FOLDER --repos FOLDER [--only NAME,…] [--symbols 200] [--as-one]
        [--show 20] [--json FILE]
    python benchmarks/references.py account --repos FOLDER [--only NAME,…] [--symbols 40] [--seed 1] [--show 20]
        [--json FILE]
    python benchmarks/references.py speed ROOT… [--symbols 1000] [--home FOLDER] [--json FILE]

`accuracy` asks `cairn serve` for the references to every symbol that an oracle lists and compares the lines. An oracle
is a file LANGUAGE_NAME.json of `[{symbol, path, line, refs: [[path, line], …]}, …]`, as the language's own analyser
sees them; the repository NAME lies checked out in the other folder. An analyser that a project keeps to some of its
folders has nothing to say of the others, so there are two precisions: of all that was found, and of what was found
in files that the oracle names at all. An oracle that knows which lines it is blind to, as a compiler is to what the
build leaves out, is `{symbols: […], left_out: {path: [line, …]}}`; what is found on those lines is not judged. Nor is
what is found or reported on the lines that a symbol has under `unknown`, of which the analyser says so itself. Beside
them stands matching by name: every line of such a file with the word. With `--as-one` a symbol is asked for by its name
and not its line, so that overloads are one; the oracle has to take them for one too (oracles/overloads.py).

`account` needs no oracle: see account.py.

`speed` asks for random functions, methods and types of each project: see reference_speed.py. With `--home` (of any of
the three) the indexes stay in that folder for the next time.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import reference_speed
from account import Account, account, pooled
from measure import Server, cairn, markdown

from codecairn.names.qualified import last_part

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
    accuracy.add_argument("--as-one", action="store_true")
    accuracy.add_argument("--symbols", type=int, default=0)
    accuracy.add_argument("--home", type=Path)
    accuracy.set_defaults(run=_accuracy)
    speed = verbs.add_parser("speed")
    speed.add_argument("roots", type=Path, nargs="+")
    speed.add_argument("--home", type=Path)
    speed.add_argument("--symbols", type=int, default=1000)
    speed.set_defaults(run=_speed)
    accounts = verbs.add_parser("account")
    accounts.add_argument("--repos", type=Path, required=True)
    accounts.add_argument("--only", type=lambda text: set(text.split(",")), default=set())
    accounts.add_argument("--symbols", type=int, default=40)
    accounts.add_argument("--seed", type=int, default=1)
    accounts.add_argument("--show", type=int, default=0)
    accounts.add_argument("--home", type=Path)
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
            scores.append(_scored(Score(name, language), root, *_truth(oracle), options))
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


def _truth(oracle: Path) -> tuple[list[dict[str, Any]], set[Place]]:
    """The symbols of an oracle, and the lines that it is blind to."""
    told = json.loads(oracle.read_text())
    if isinstance(told, list):
        return told, set()
    return told["symbols"], {(path, line) for path, lines in told["left_out"].items() for line in lines}


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


def _scored(
    score: Score, root: Path, symbols: list[dict[str, Any]], blind: set[Place], options: argparse.Namespace
) -> Score:
    in_sight = {symbol["path"] for symbol in symbols} | {path for symbol in symbols for path, _ in symbol["refs"]}
    words = _words(root, in_sight)
    with _served(root, options.home) as server:
        most = min(options.symbols or len(symbols), len(symbols))
        for symbol in random.Random(1).sample(symbols, most):
            here = (symbol["path"], symbol["line"])
            unjudged = {here, *((path, line) for path, line in symbol.get("unknown", ())), *blind}
            truth = {(path, line) for path, line in symbol["refs"]} - unjudged
            bound, unbound = _asked(server, symbol, options.as_one)
            bound = {place: how for place, how in bound.items() if place not in unjudged}
            _count(score, truth, bound, in_sight)
            _explain(score, root, symbol, truth, bound, unbound, in_sight)
            named = words(last_part(symbol["symbol"])) - unjudged
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


def _asked(server: Server, symbol: dict[str, Any], as_one: bool) -> tuple[dict[Place, str], set[Place]]:
    """Every line that refers to a symbol, by how it was bound, and those that could not be."""
    asked: dict[str, Any] = {"path": symbol["path"], "limit": _PAGE}
    if as_one:
        asked |= {"symbol_name": symbol["symbol"]}
    else:
        asked |= {"symbol_name": last_part(symbol["symbol"]), "line": symbol["line"]}
    bound, unbound = dict[Place, str](), set[Place]()
    while True:
        answer = server.value("find_references", asked | {"include_unresolved": True})
        if "references" not in answer:
            return {}, set()
        if answer.get("candidates"):  # one of several scopes: a name that is whole is also the end of others
            return _asked(server, symbol, as_one=False)
        if as_one:  # the first of the overloads, which its own uses do not list
            bound[answer["symbol"]["path"], answer["symbol"]["line_start"]] = "definition"
        bound |= {(row["path"], row["line_start"]): row["resolver"] for row in answer["references"]}
        unbound |= {(row["path"], row["line_start"]) for row in answer["unresolved"]}
        if answer["next_cursor"] is None:
            return bound, unbound
        asked["cursor"] = answer["next_cursor"]


def _account(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Of each repository in a folder, the shares of uses that are bound here, elsewhere and not (account.py)."""
    found = list[Account]()
    for root in sorted(options.repos.resolve().iterdir()):
        if root.is_dir() and (not options.only or root.name in options.only):
            with _served(root, options.home) as server:
                found.append(account(server, root, options.symbols, options.seed))
            print(f"{root.name} done", file=sys.stderr, flush=True)
    shares = ["bound here", "bound elsewhere", "unresolved", "sum", "bound here or elsewhere"]
    head = ["repository", "language", "symbols", "calls", *shares, "all uses", *shares]
    print(markdown(head, [_account_row(each) for each in [*found, *pooled(found)]]))
    for each in found if options.show else ():
        for what, lines in (("silent", each.silent), ("said", each.said)):
            shown = random.Random(1).sample(lines, min(options.show, len(lines)))
            print(f"\n{each.repository}, {what}: {len(lines)}", *sorted(shown), sep="\n  ")
    return [{name: value for name, value in vars(each).items() if name not in ("silent", "said")} for each in found]


def _account_row(each: Account) -> list[str]:
    return [
        each.repository, each.language, str(each.symbols),
        *_shares(each.calls, each.calls_bound, each.calls_elsewhere, each.calls_said),
        *_shares(each.uses, each.uses_bound, each.uses_elsewhere, each.uses_said),
    ]  # fmt: skip


def _shares(whole: int, bound: int, elsewhere: int, said: int) -> list[str]:
    """How many there are, the share of each of the three, of all of them and of what is bound at all."""
    parts = (bound, elsewhere, said, bound + elsewhere + said, bound + elsewhere)
    return [str(whole), *(_share(part, whole) for part in parts)]


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
def _served(root: Path, kept: Path | None = None) -> Iterator[Server]:
    """A server of a project that is indexed, with a data directory of its own or one that is kept."""
    with tempfile.TemporaryDirectory(prefix="cairn-references-") as home, cairn(root, kept or Path(home)) as server:
        server.initialize()
        server.value("index_codebase", {"path": str(root)})
        yield server


def _speed(options: argparse.Namespace) -> list[dict[str, Any]]:
    figures = []
    for root in map(Path.resolve, options.roots):
        with _served(root, options.home) as server:
            figures.append(reference_speed.measure(server, root, options.symbols))
        print(markdown(reference_speed.HEAD, [[str(value) for value in figures[-1].values()]]), file=sys.stderr)
    print(markdown(reference_speed.HEAD, [[str(value) for value in each.values()] for each in figures]))
    return figures


if __name__ == "__main__":
    main()
