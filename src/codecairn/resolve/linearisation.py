"""The order in which Python looks members up in the types above one: C3, by which every type comes before those that it
extends itself, and those that a type extends keep their order.

Python refuses a type for which there is no such order. Here one is read all the same, as half of it may be of another
version or not in the project: of the several ways that lead to a type the last one counts then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_MOST_WAYS = 200
_Type = TypeVar("_Type")


def merge(orders: Sequence[Sequence[_Type]]) -> list[_Type] | None:
    """One order that agrees with all of some; None where there is none."""
    waiting, merged = [list(each) for each in orders if each], list[_Type]()
    while waiting:
        chosen = next((each[0] for each in waiting if not any(each[0] in other[1:] for other in waiting)), None)
        if chosen is None:
            return None
        merged.append(chosen)
        waiting = [rest for each in waiting if (rest := each[1:] if each[0] == chosen else each)]
    return merged


def last_ways(start: _Type, supers: Callable[[_Type], Sequence[_Type | None]]) -> list[_Type] | None:
    """The types above one in the order of the last way to each; None where there are too many ways."""
    met, waiting = list[_Type](), list(supers(start))[::-1]
    while waiting and len(met) < _MOST_WAYS:
        each = waiting.pop()
        if each is not None and each != start:
            met.append(each)
            waiting += list(supers(each))[::-1]
    return list(dict.fromkeys(reversed(met)))[::-1] if not waiting else None
