"""Small cases that other projects wrote for their own resolution, asked of ours.

    python benchmarks/microcases.py [--pycg SNIPPETS] [--jedi COMPLETION] [--stack-graphs LANGUAGES]
                                    [--only TEXT] [--show 20] [--json FILE]

SNIPPETS is micro-benchmark/snippets of PyCG: each folder is a project with the calls it makes in callgraph.json.
COMPLETION is test/completion of jedi: `#!` above a line says what the name at a column is, `#<` where all its uses are.
LANGUAGES is the folder of that name of stack-graphs: `^ defined: 5` below a name says on which lines it is defined.
None of them is part of this repository.

Every case is indexed as a project of its own and put to the engine behind `find_references` and `get_call_graph`.
A question is right where the definition found is one that the case expects, invented where it is another one or
where nothing is expected, unbound where the engine says that it cannot tell, missed where it takes the name for
something else. What the index keeps no symbol for (a local variable, a parameter, a module, a lambda, a built-in) can
only be got wrong: such a question is outside unless something was invented for it. A case passes when nothing in it
is invented, unbound or missed.

A name that is assigned again is one symbol. A lambda is part of the function it stands in, and making an object calls
the `__init__` that its class has, if any.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from ast import literal_eval
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from cases import Outcome, Place, Use, defined, judged, meaning, place_of, resolving, same, word
from measure import markdown

from codecairn.errors import ProjectNotFound
from codecairn.parse.facts import Import
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.calls import Calls, Node, Unbound
from codecairn.resolve.engine import Engine
from codecairn.resolve.references import references_to
from codecairn.resolve.values import Definition, Instance
from codecairn.store.file_version import link_table
from codecairn.store.view import FileRow

_MODULE = -1


class Answer(NamedTuple):
    outcome: Outcome
    question: str


@dataclass(frozen=True)
class Case:
    category: str
    name: str
    answers: Callable[[], list[Answer]]


@dataclass
class Tally:
    cases: int = 0
    passed: int = 0
    counts: dict[Outcome, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, answers: list[Answer]) -> None:
        self.cases += 1
        self.passed += all(each.outcome in ("right", "outside") for each in answers)
        for each in answers:
            self.counts[each.outcome] += 1

    def row(self, category: str) -> list[str]:
        right, invented, unbound, missed, outside = (
            self.counts[each] for each in ("right", "invented", "unbound", "missed", "outside")
        )
        expected = right + unbound + missed
        shares = (_share(right, right + invented), _share(right, expected), _share(self.passed, self.cases))
        return [category, *map(str, (self.cases, expected, right, invented, unbound, missed, outside)), *shares]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pycg", type=Path)
    parser.add_argument("--jedi", type=Path)
    parser.add_argument("--stack-graphs", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tallies, examples = defaultdict[str, Tally](Tally), defaultdict[str, list[str]](list)
    for case in _cases(options):
        if options.only in f"{case.category} {case.name}":
            answers = case.answers()
            for category in (case.category, f"{case.category.split(':')[0]}: all"):
                tallies[category].add(answers)
            for each in answers:
                examples[each.outcome].append(f"{case.category} {case.name}: {each.question}")
    head = [
        "category", "cases", "expected", "right", "invented", "unbound", "missed", "outside", "precision", "recall",
        "passed",
    ]  # fmt: skip
    print(markdown(head, [tallies[each].row(each) for each in sorted(tallies)]))
    _print_examples(examples, options.show)
    if options.json:
        figures = {name: {"cases": each.cases, "passed": each.passed, **each.counts} for name, each in tallies.items()}
        options.json.write_text(json.dumps(figures, indent=1))


def _print_examples(examples: dict[str, list[str]], show: int) -> None:
    for outcome in ("invented", "unbound", "missed") if show else ():
        chosen = random.Random(1).sample(examples[outcome], min(show, len(examples[outcome])))
        print(f"\n{outcome}:", *sorted(chosen), sep="\n  ")


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    if options.pycg:
        yield from _pycg(options.pycg)
    if options.jedi:
        yield from _jedi(options.jedi)
    if options.stack_graphs:
        yield from _stack_graphs(options.stack_graphs)


def _case(category: str, name: str, files: dict[str, str], asked: Callable[[Engine], Iterator[Answer]]) -> Case:
    """A project of its own and what to ask of it."""

    def answers() -> list[Answer]:
        try:
            with resolving(files) as engine:
                return list(asked(engine))
        except ProjectNotFound:
            return [Answer("missed", "none of its files is source")]

    return Case(category, name, answers)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


# PyCG: a folder with callgraph.json is a project.


def _pycg(folder: Path) -> Iterator[Case]:
    for graph in sorted(folder.rglob("callgraph.json")):
        root = graph.parent
        files = {each.relative_to(root).as_posix(): _text(each) for each in sorted(root.rglob("*.py"))}
        expected = {
            (_without_lambda(caller), callee)
            for caller, callees in json.loads(graph.read_text()).items()
            for callee in callees
        }
        name = root.relative_to(folder)
        yield _case(f"PyCG: {name.parts[0]}", name.name, files, partial(_calls, expected=expected))


def _calls(engine: Engine, expected: set[tuple[str, str]]) -> Iterator[Answer]:
    names = {_named(engine, row, number) for row in engine.known.rows.values() for number in _numbers(engine, row)}
    found = set(_edges(engine))
    for caller, callee in sorted(expected | found):
        if (caller, callee) not in expected:
            outcome: Outcome = "invented"
        elif (caller, callee) in found:
            outcome = "right"
        else:
            outcome = "missed" if callee in names else "outside"
        yield Answer(outcome, f"{caller} calls {callee}")


def _edges(engine: Engine) -> Iterator[tuple[str, str]]:
    calls = Calls(engine)
    for row in engine.known.rows.values():
        for number in (_MODULE, *(each.number for each in engine.scope(row.id).symbols if each.kind not in TYPES)):
            for edge in calls.callees(Node(row.id, number), Unbound()):
                callee = _run(engine, Definition(edge.callee.file, edge.callee.number))
                if callee is not None:
                    target = _named(engine, engine.known.rows[callee.file], callee.number)
                    yield _named(engine, row, _function(engine, row, number)), target


def _function(engine: Engine, row: FileRow, number: int) -> int:
    """The function that a symbol is, or stands in."""
    around = engine.scope(row.id).around(number)
    return next((each.number for each in around if each.kind in CALLABLE), _MODULE)


def _numbers(engine: Engine, row: FileRow) -> list[int]:
    """The module itself and every function in it."""
    return [_MODULE, *(each.number for each in engine.scope(row.id).symbols if each.kind in CALLABLE)]


def _run(engine: Engine, callee: Definition) -> Definition | None:
    """What a call of something runs: of a class its `__init__`; a lambda that has a name is still one."""
    kind = engine.symbol(callee).kind
    if kind not in TYPES:
        return callee if kind in CALLABLE and "lambda" not in _described(engine, callee) else None
    found = engine.members.of(Instance(callee), "__init__")
    return found if isinstance(found, Definition) else None


def _named(engine: Engine, row: FileRow, number: int) -> str:
    module = row.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{module}.{engine.scope(row.id).symbols[number].path}" if number >= 0 else module


def _without_lambda(name: str) -> str:
    return re.sub(r"\.<lambda\d+>", "", name)


# jedi: one project, the questions in comments.

_QUESTION = re.compile(r"(?:^|(?<=\s))#([!<])\s*(?:(\d+)\s*)?(.*)")


def _jedi(folder: Path) -> Iterator[Case]:
    files = {each.relative_to(folder).as_posix(): _text(each) for each in sorted(folder.rglob("*.py*"))}
    with resolving(files) as engine:
        for path in sorted(path for path in files if "/" not in path):
            for line, kind, column, expected in _questions(files[path]):
                use = Use(path, line, column)
                asked, category = (_gone, "jedi: goto") if kind == "!" else (_used, "jedi: references")
                yield Case(category, f"{path}:{line}", partial(_listed, asked, engine, use, expected))


def _listed(
    asked: Callable[[Engine, Use, str], Iterator[Answer]], engine: Engine, use: Use, expected: str
) -> list[Answer]:
    return list(asked(engine, use, expected))


def _questions(text: str) -> Iterator[tuple[int, str, int, str]]:
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1], 1):
        if question := _QUESTION.search(line):
            kind, column, expected = question.groups()
            yield number + 1, kind, int(column) if column else len(lines[number]), expected


def _gone(engine: Engine, use: Use, expected: str) -> Iterator[Answer]:
    """Each definition is described by its first line, as far as it goes."""
    wanted = tuple(literal_eval(expected))
    found, otherwise, name = meaning(engine, use)
    is_right = any(_described(engine, each).startswith(wanted) for each in same(engine, found))
    is_indexed = any(
        _described(engine, Definition(row.id, each.number)).startswith(wanted)
        for row, each in engine.definitions_named(name)
    )
    outcome = judged(found, otherwise, is_right=is_right, is_indexed=bool(wanted) and is_indexed)
    yield Answer(outcome, f"{name} is {wanted}, not {_shown(engine, found)}")


def _described(engine: Engine, definition: Definition) -> str:
    _, line = place_of(engine, definition)
    return engine.scope(definition.file).source.line(line).strip().removeprefix("async ")


def _used(engine: Engine, use: Use, expected: str) -> Iterator[Answer]:
    """By line: every use of the definition that stands on one of the lines expected."""
    places = set(_positions(engine, use, expected))
    name = word(engine.scope(_row(engine, use.path).id).source.line(use.line), use.column)
    target = next(iter(_definitions(engine, places, name)), None)
    if target is None:
        yield Answer("outside", name)
        return
    found = references_to(engine, target)
    bound = {(engine.known.rows[each.file].path, each.line) for each in found.references} | {place_of(engine, target)}
    unbound = {(engine.known.rows[each.file].path, each.line) for each in found.unresolved}
    for place in sorted(places | bound):
        missed: Outcome = "unbound" if place in unbound else "missed"
        outcome = "invented" if place not in places else "right" if place in bound else missed
        yield Answer(outcome, f"{name} on {place}")


def _positions(engine: Engine, use: Use, expected: str) -> Iterator[Place]:
    paths = {row.path.removesuffix(".py").removesuffix("/__init__"): row.path for row in engine.known.rows.values()}
    for each in literal_eval(f"[{expected}]"):
        if not isinstance(each[0], str):
            yield use.path, use.line + each[0]
        elif (path := paths.get(each[0].replace(".", "/"))) is not None and isinstance(each[1], int):
            yield path, each[1]


def _definitions(engine: Engine, places: Iterable[Place], name: str) -> Iterator[Definition]:
    for path, line in sorted(places):
        row = _row(engine, path)
        if (symbol := defined(engine, row, line, {name})) is not None:
            yield Definition(row.id, symbol.number)


def _row(engine: Engine, path: str) -> FileRow:
    return next(each for each in engine.known.rows.values() if each.path == path)


# stack-graphs: a file is a project, of several files where it says so.

_FILE = re.compile(r"---\s*path:\s*(\S+)\s*---")
_SETTING = re.compile(r"---\s*global:\s*\S+=\S+\s*---")
_DEFINED = re.compile(r"(\^)\s*(\w+):((?:\s*,?\s*\d+)*)")


def _stack_graphs(folder: Path) -> Iterator[Case]:
    for language in sorted(folder.glob("tree-sitter-stack-graphs-*/test")):
        short = language.parent.name.rpartition("-")[2]
        for path in sorted(
            each for each in language.rglob("*") if each.suffix in (".py", ".java", ".js", ".ts", ".tsx")
        ):
            name = path.relative_to(language)
            category = f"stack-graphs: {short}"
            files = _fragments(name.name, _text(path))
            yield _case(category, name.as_posix(), files, partial(_located, files=files))


def _fragments(name: str, text: str) -> dict[str, str]:
    """The files in one text; blank lines stand for what is before each of them, so that all keep their lines."""
    lines, files, path = text.split("\n"), dict[str, list[str]](), name
    for number, line in enumerate(lines):
        if heading := _FILE.search(line):
            path = PurePosixPath(heading[1].lstrip("/")).as_posix()
            files.pop(name, None)
            files[path] = [""] * (number + 1)
        else:
            files.setdefault(path, [""] * number).append("" if _SETTING.search(line) else line)
    return {path: "\n".join(lines) for path, lines in files.items()}


def _located(engine: Engine, files: dict[str, str]) -> Iterator[Answer]:
    for path, text in files.items():
        source = 0
        for number, line in enumerate(text.split("\n"), 1):
            mark = _DEFINED.search(line)
            if mark is None:
                source = number
            elif mark[2] == "defined":
                yield _locate(
                    engine, Use(path, source, mark.start()), {int(each) for each in re.findall(r"\d+", mark[3])}
                )


def _locate(engine: Engine, use: Use, lines: set[int]) -> Answer:
    found, otherwise, name = meaning(engine, use)
    is_right = any(place_of(engine, each)[1] in lines for each in same(engine, found))
    rows = engine.known.rows.values()
    renamed = {each.name for row in rows for each in _imports(engine, row) if each.alias == name}
    is_indexed = any(defined(engine, row, line, {name, *renamed}) for row in rows for line in lines)
    outcome = judged(found, otherwise, is_right=is_right, is_indexed=is_indexed)
    return Answer(outcome, f"{name} at {use.path}:{use.line} is on {sorted(lines)}, not {_shown(engine, found)}")


def _imports(engine: Engine, row: FileRow) -> list[Import]:
    return link_table(engine.view.links(row.id)).imports


def _shown(engine: Engine, found: Definition | None) -> str:
    return (
        "nothing" if found is None else f"{engine.symbol(found).path} at {':'.join(map(str, place_of(engine, found)))}"
    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")


if __name__ == "__main__":
    main()
