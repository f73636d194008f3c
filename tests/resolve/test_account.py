"""The account of a name: each place where a lexer sees it in code is bound, unresolved, or known to be something else.

The lexer is Pygments', which knows nothing of our grammars. The files are the samples of every language as they are,
and again with names of theirs given to other things, so that one name is a function here, a variable, a label and a
member there; and files of this project. A part of the names is asked about, all where trials run whole.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_for_filename
from pygments.token import Token, is_token_subtype
from pygments.util import ClassNotFound

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.parse.language import language_of
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo
from tests.support.search import Asking, asking, index
from tests.support.soak import SOAK

GOLDEN = Path(__file__).parent.parent / "parse" / "golden"
SAMPLES = sorted(path for path in GOLDEN.glob("*/*") if path.suffix != ".facts")
_SOURCE = Path(__file__).parent.parent.parent / "src"
_OWN = sorted((_SOURCE / "codecairn" / "resolve").glob("*.py"))
_MOST_NAMES = 30
_SHARED = 6
Uses = defaultdict[str, set[tuple[str, int, int]]]
Places = defaultdict[str, list[tuple[str, int]]]


def lexed(path: str, text: str) -> Iterator[tuple[str, int, int]]:
    """Each name that a lexer sees in code, its line and its column; not `$name` in a string, which the grammar sees
    where there is no fault in the file."""
    line, column, rows = 1, 0, text.split("\n")
    for kind, value in get_lexer_for_filename(path, stripnl=False).get_tokens(text):
        if (
            (is_token_subtype(kind, Token.Name) or kind is Token.Text)
            and value.isidentifier()
            and (rows[line - 1][column - 1 : column] != "$")
        ):
            yield value, line, column
        line += value.count("\n")
        column = len(value) - value.rfind("\n") - 1 if "\n" in value else column + len(value)


def mixed(path: str, text: str, seed: int) -> str:
    """The text with some of its names put in the places of others."""
    chance, rows = random.Random(seed), text.split("\n")
    found = list(lexed(path, text))
    shared = chance.sample(sorted({name for name, _, _ in found if len(name) > 2}), _SHARED)
    for name, line, column in reversed(found):
        row = rows[line - 1]
        if row.startswith(name, column) and chance.random() < 0.3:
            rows[line - 1] = row[:column] + chance.choice(shared) + row[column + len(name) :]
    return "\n".join(rows)


def has_lexer(path: Path) -> bool:
    if path.suffix in (".vue", ".svelte"):  # whose lexers take the words of the markup for names
        return False
    try:
        get_lexer_for_filename(path.name)
    except ClassNotFound:
        return False
    return True


LEXED = [each for each in SAMPLES if has_lexer(each)]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Asking]:
    """One repository of all samples, each in a folder of its language as it is and twice mixed."""
    folder = tmp_path_factory.mktemp("samples")
    repo = Repo.create(folder / "repo")
    for sample in LEXED:
        text = sample.read_text(encoding="utf-8")
        for seed in range(3):
            repo.write(f"{sample.parent.name}/v{seed}/{sample.name}", mixed(sample.name, text, seed) if seed else text)
    repo.commit("samples")
    opened = asking(index(repo.path, folder / "home", lasting))
    yield opened
    opened.close()


@pytest.mark.requirement("004/find_references/account")
@pytest.mark.parametrize("sample", LEXED, ids=lambda sample: sample.parent.name)
def test_every_use_is_accounted_for(sample: Path, samples: Asking) -> None:
    uses, places = read_files(samples.root, sorted((samples.root / sample.parent.name).rglob(sample.name)))
    _check_account(samples, uses, places, _MOST_NAMES)


@pytest.fixture(scope="module")
def own_source(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Iterator[Asking]:
    folder = tmp_path_factory.mktemp("own")
    repo = Repo.create(folder / "repo")
    for file in _OWN:
        repo.write(file.relative_to(_SOURCE).as_posix(), file.read_text(encoding="utf-8"))
    repo.commit("source")
    opened = asking(index(repo.path, folder / "home", lasting))
    yield opened
    opened.close()


@pytest.mark.requirement("004/find_references/account")
def test_every_use_in_real_files_is_accounted_for(own_source: Asking) -> None:
    uses, places = read_files(own_source.root, sorted(own_source.root.rglob("*.py")))
    _check_account(own_source, uses, places, len(places) // 10)


def read_files(root: Path, files: list[Path]) -> tuple[Uses, Places]:
    """Where a lexer sees each name, and where it is defined, functions and types first."""
    uses, places = Uses(set), Places(list)
    for file in files:
        path, content = file.relative_to(root).as_posix(), file.read_text(encoding="utf-8")
        for name, line, column in lexed(path, content):
            uses[name].add((path, line, column))
        language = language_of(path, content.encode())
        assert language is not None
        for symbol in extract(language, content.encode()).symbols:
            at = 0 if symbol.kind in CALLABLE | TYPES else len(places[symbol.name])
            places[symbol.name].insert(at, (path, symbol.name_line))
    return uses, places


def _check_account(asked: Asking, uses: Uses, places: Places, most: int) -> None:
    names = sorted(places.keys() & uses.keys())
    assert names
    for name in random.Random(3).sample(names, len(names) if SOAK else min(most, len(names))):
        path, line = places[name][0]
        found = asked.answer(
            "find_references", symbol_name=name, path=path, line=line, limit=1000, include_unresolved=True
        )  # fmt: skip
        assert not found.is_error, found.text
        value = found.value
        if value["next_cursor"] is not None:  # more than a page: the counts alone are held
            counted = value["total_references"] + value["unresolved_count"] + value["elsewhere_count"]
            assert len({each[:2] for each in uses[name] if each[:2] not in places[name]}) <= counted, name
            continue
        told = {(row["path"], row["line_start"]) for row in [*value["references"], *value["unresolved"]]}
        silent = {each for each in uses[name] if each[:2] not in told.union(places[name])}
        assert len(silent) <= value["elsewhere_count"], (name, sorted(silent))
