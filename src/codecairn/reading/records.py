"""Any value for reading, where it has no printer of its own: a line a field, a line a row, nothing that is empty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codecairn.reading import Fields, PrintContext, fit, lines, one_of
from codecairn.text import one_line

_LONGEST = 400
_SHORT_ROW = 160
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def print_record(answer: Fields, reading: PrintContext) -> str:
    rows = list(_rows(answer, ""))
    shown = fit(rows, reading.room - 100)
    return lines([*rows[:shown], f"{one_of(len(rows) - shown, 'more line')} left out" if shown < len(rows) else None])


def _rows(value: Any, margin: str) -> Iterator[str]:
    for name, each in value.items():
        if each in _EMPTY:
            continue
        if isinstance(each, list):
            yield f"{margin}{name}:"
            yield from (row for item in each for row in _item(item, margin))
        elif isinstance(each, dict):
            yield f"{margin}{name}: {brief}" if (brief := _brief(each)) is not None else f"{margin}{name}:"
            if brief is None:
                yield from _rows(each, f"{margin}  ")
        elif isinstance(each, str) and "\n" in each:
            yield f"{margin}{name}:"
            yield from (f"{margin}  {one_line(line)}" for line in each.split("\n"))
        else:
            yield f"{margin}{name}: {_scalar(each)}"


def _item(item: Any, margin: str) -> Iterator[str]:
    if not isinstance(item, dict):
        yield f"{margin}- {_scalar(item)}"
        return
    brief = _brief(item)
    if brief is not None:
        yield f"{margin}- {brief}"
        return
    first, *rest = _rows(item, f"{margin}  ")
    yield f"{margin}- {first.strip()}"
    yield from rest


def _brief(item: Fields) -> str | None:
    """A record of short values on one line."""
    if any(isinstance(each, list | dict) and each for each in item.values()):
        return None
    told = {name: each for name, each in item.items() if each not in _EMPTY}
    if any(isinstance(each, str) and ("\n" in each or len(each) > _SHORT_ROW) for each in told.values()):
        return None
    row = ", ".join(f"{name} {_scalar(each)}" for name, each in told.items())
    return row if len(row) <= _SHORT_ROW else None


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return one_line(str(value), _LONGEST)
