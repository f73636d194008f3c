"""The account of a name, without an oracle: every place where a lexer sees it in code is bound or said.

Chosen are functions and methods whose name one definition alone has in the whole repository, so that nearly every use
is theirs. The places come from Pygments, which knows nothing of our grammars. A place on a line that `find_references`
lists is bound; on a line it lists as unresolved, said; of the others as many are known to be something else (a
library's of the same name, a local one) as the answer counts; what is left is forgotten. Bound are those that mean the
chosen function, here, and those that are shown to mean something else, elsewhere.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server
from pygments.lexers import get_lexer_for_filename
from pygments.token import Token, is_token_subtype
from pygments.util import ClassNotFound
from sources import Source, sources_in

from codecairn.parse.extract import extract
from codecairn.parse.kinds import CALLABLE
from codecairn.parse.language import family

Place = tuple[str, int]
_LONGEST = 400_000
_SHORTEST_NAME = 3


@dataclass
class Account:
    """How the uses of the chosen symbols of one repository in one language were accounted for."""

    repository: str
    language: str
    symbols: int = 0
    calls: int = 0
    calls_bound: int = 0
    calls_said: int = 0
    calls_elsewhere: int = 0
    uses: int = 0
    uses_bound: int = 0
    uses_said: int = 0
    uses_elsewhere: int = 0
    silent: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Symbol:
    name: str
    path: str
    line: int


@dataclass
class Lexed:
    """Where each name stands in the code of a repository, and where it is called."""

    uses: dict[str, set[Place]] = field(default_factory=lambda: defaultdict(set))
    calls: dict[str, set[Place]] = field(default_factory=lambda: defaultdict(set))


def pooled(accounts: list[Account]) -> list[Account]:
    """The accounts of each language together."""
    found: dict[str, Account] = {}
    for each in accounts:
        whole = found.setdefault(each.language, Account("all", each.language))
        for name, value in vars(each).items():
            if isinstance(value, int):
                setattr(whole, name, getattr(whole, name) + value)
    return [found[language] for language in sorted(found)]


def main_language(sources: list[Source]) -> str:
    """The language that most functions are in."""
    counts = Counter[str]()
    for source in sources:
        counts[source.language.data.name] += sum(
            each.kind in CALLABLE for each in extract(source.language, source.text).symbols
        )
    return counts.most_common(1)[0][0]


def chosen(sources: list[Source], language: str, count: int, seed: int = 1) -> tuple[list[Symbol], Lexed]:
    """Some functions of a language whose name is theirs alone, and where a lexer sees all names of that language."""
    defined: dict[str, list[tuple[str, Symbol]]] = defaultdict(list)
    lexed = Lexed()
    for source in sources:
        is_kin = family(source.language.data.name) == family(language)
        for symbol in extract(source.language, source.text).symbols:
            kind = symbol.kind if is_kin else ""
            defined[symbol.name].append((kind, Symbol(symbol.name, source.path, symbol.name_line)))
        if is_kin and len(source.text) <= _LONGEST:
            _lex(lexed, source.path, source.text.decode("utf-8", "replace"))
    single = [each[0][1] for each in defined.values() if len(each) == 1 and each[0][0] in CALLABLE]
    used = [each for each in single if len(each.name) >= _SHORTEST_NAME and _elsewhere(lexed.uses, each)]
    used.sort(key=lambda each: (each.path, each.line, each.name))
    return random.Random(seed).sample(used, min(count, len(used))), lexed


def _elsewhere(places: dict[str, set[Place]], symbol: Symbol) -> set[Place]:
    return places.get(symbol.name, set()) - {(symbol.path, symbol.line)}


def _lex(lexed: Lexed, path: str, text: str) -> None:
    try:
        lexer = get_lexer_for_filename(path, stripnl=False)
    except ClassNotFound:
        return
    name, at, line = "", 0, 1
    for kind, value in lexer.get_tokens(text):
        if name and value.strip():
            if value.lstrip().startswith("("):
                lexed.calls[name].add((path, at))
            name = ""
        if (is_token_subtype(kind, Token.Name) or kind is Token.Text) and value.isidentifier():
            name, at = value, line
            lexed.uses[name].add((path, line))
        line += value.count("\n")


def account(server: Server, root: Path, count: int, seed: int = 1) -> Account:
    sources = list(sources_in(root))
    found = Account(root.name, main_language(sources))
    symbols, lexed = chosen(sources, found.language, count, seed)
    for symbol in symbols:
        bound, said, elsewhere = _ask(server, symbol)
        calls, uses = _elsewhere(lexed.calls, symbol), _elsewhere(lexed.uses, symbol)
        found.symbols += 1
        found.calls += len(calls)
        found.calls_bound += len(calls & bound)
        found.calls_said += len(calls & (said - bound))
        found.calls_elsewhere += min(elsewhere, len(calls - bound - said))
        found.uses += len(uses)
        found.uses_bound += len(uses & bound)
        found.uses_said += len(uses & (said - bound))
        found.uses_elsewhere += min(elsewhere, len(uses - bound - said))
        found.silent += _lines(root, symbol, uses - bound - said)
        found.said += _lines(root, symbol, (uses & said) - bound)
    return found


def _ask(server: Server, symbol: Symbol) -> tuple[set[Place], set[Place], int]:
    """Where it is bound, where that is not known, and how often the name means something else."""
    asked: dict[str, Any] = {"symbol_name": symbol.name, "path": symbol.path, "line": symbol.line, "limit": 1000}
    bound, said = set[Place](), set[Place]()
    while True:
        answer = server.value("find_references", asked | {"include_unresolved": True})
        if "references" not in answer:
            return bound, said, 0
        bound |= {(row["path"], row["line_start"]) for row in answer["references"]}
        said |= {(row["path"], row["line_start"]) for row in answer["unresolved"]}
        if answer["next_cursor"] is None:
            return bound, said, answer["elsewhere_count"]
        asked["cursor"] = answer["next_cursor"]


def _lines(root: Path, symbol: Symbol, places: set[Place]) -> Iterator[str]:
    for path, line in sorted(places):
        text = (root / path).read_text(encoding="utf-8", errors="replace").split("\n")
        shown = text[line - 1].strip()[:110] if line <= len(text) else ""
        yield f"{symbol.name} ({symbol.path}:{symbol.line})  {path}:{line}  {shown}"
