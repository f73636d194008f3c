"""The Markdown of resources and prompts. Names come from repositories: none of them can end its line or its quotes."""

from __future__ import annotations

from collections.abc import Iterable

from codecairn.context.central_symbols import CentralSymbol
from codecairn.index.status import IndexStatus
from codecairn.store.view import FileRow
from codecairn.text import one_line
from codecairn.types import CatalogEntry

_LONGEST_NAME = 200


def code(text: str) -> str:
    """As code on one line, with more backticks around it than in it."""
    clean = one_line(text, _LONGEST_NAME)
    fence = "`"
    while fence in clean:
        fence += "`"
    pad = " " if clean[:1] == "`" or clean[-1:] == "`" else ""
    return f"{fence}{pad}{clean}{pad}{fence}"


def count_of(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def section(title: str, rows: Iterable[str], omitted: int = 0, what: str = "") -> str:
    """A heading and its list, with what was left out; nothing where the list is empty."""
    listed = list(rows)
    if not listed:
        return ""
    more = [f"- … and {omitted:,} more {what}"] if omitted > 0 else []
    return "\n".join([f"## {title}", *listed, *more])


def page(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def ground(stands: IndexStatus) -> str:
    """A line about the index that an answer rests on."""
    said = [f"Index of {code(stands.ref)}: {stands.freshness}"]
    if stands.layer is None:
        said = ["Not indexed yet" if stands.indexing != "indexing" else "Indexing is under way: nothing to show yet"]
    elif stands.is_partial:
        said.append("not all files are indexed yet")
    warnings = (one_line(each.rstrip("."), _LONGEST_NAME) for each in stands.warnings)
    return f"_{'; '.join([*said, *warnings])}._"


def quote(said: str) -> str:
    return f"> {said}" if said else ""


def remark(said: str) -> str:
    return f" — {said}" if said else ""


def folder_name(path: str) -> str:
    return code(f"{path or '.'}/")


def file_name(file: FileRow) -> str:
    return code(file.path.rpartition("/")[2])


def symbol_row(each: CentralSymbol) -> str:
    symbol, place = each.symbol, f"{each.file.path}:{each.symbol.name_line}"
    doc = one_line(symbol.doc.strip().split("\n")[0], 120)
    return f"- {code(symbol.path)} {symbol.kind}, {code(place)}, used in {count_of(each.used_in, 'file')}" + remark(doc)


def churn_row(path: str, commits: int) -> str:
    return f"- {code(path)} {count_of(commits, 'commit')}"


def rule_row(each: CatalogEntry) -> str:
    return f"- {one_line(each.title, 160)} ({each.requirement}, {code(each.id)})"
