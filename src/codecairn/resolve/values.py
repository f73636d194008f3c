"""What an expression stands for, as far as resolution can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

_Item = TypeVar("_Item")
_Key = TypeVar("_Key")
Resolver = Literal["same_file", "import", "qualified", "receiver_type", "unique_name"]


@dataclass(frozen=True)
class Definition:
    """A symbol itself: a type, a function, a variable."""

    file: int
    number: int


class IndependentQuestion(NamedTuple):
    """A question whose answer does not hang on who asks."""

    what: str
    of: Definition


@dataclass(frozen=True)
class ModuleFiles:
    """A file, or several that are one module; `folder` is where its submodules are."""

    files: tuple[int, ...]
    folder: str | None = None


@dataclass(frozen=True)
class Namespace:
    """A path that other names stand in, which no file holds alone, as a file sees it."""

    path: tuple[str, ...]
    file: int


@dataclass(frozen=True)
class Instance:
    """A value of a type that is defined here."""

    of: Definition


@dataclass(frozen=True)
class Parent:
    """The instance seen as what its type extends: `super`."""

    of: Definition


@dataclass(frozen=True)
class Elements:
    """A container of values whose type is written in a file."""

    type: str
    file: int
    position: int
    me: Definition | None = None
    is_told: bool = True
    """False for what a member of such a container gives, of which nothing else is known."""
    key: str = ""
    """The type of its keys, where it has some."""


@dataclass(frozen=True)
class FunctionValue:
    """Something to call, whose result has a type written in a file."""

    returns: str
    file: int
    position: int
    me: Definition | None = None


@dataclass(frozen=True)
class Shape:
    """A value whose members are written out in its type: `{ name: Type; … }`."""

    text: str
    file: int
    position: int
    me: Definition | None = None


@dataclass(frozen=True)
class TupleValue:
    """Several values in one, whose types are written in a file."""

    types: tuple[str, ...]
    file: int
    position: int
    me: Definition | None = None


@dataclass(frozen=True)
class Outside:
    """Known to be none of the project's: a library's, or a value of the language's own; or what such a one gives, of
    which nothing tells what it is."""

    is_told: bool = True
    is_path: bool = False
    """Whether it is a module or a type, and no value."""
    name: str = ""
    """Of the type that it is or is a value of, where that is known."""


@dataclass(frozen=True)
class Local:
    """A variable whose type is not known."""


@dataclass(frozen=True)
class Either:
    """One of several, and nothing tells which."""

    values: tuple[Value, ...]


Value = (
    Definition
    | ModuleFiles
    | Namespace
    | Instance
    | Parent
    | Elements
    | FunctionValue
    | Shape
    | TupleValue
    | Outside
    | Local
    | Either
)
VARIABLES = frozenset({"var", "const", "field"})
OUTSIDE = Outside()
OUTSIDE_PATH = Outside(is_path=True)
UNTOLD = Outside(is_told=False)
LOCAL = Local()


def by_key(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Items in lists, by what the key gives for each."""
    found: dict[_Key, list[_Item]] = {}
    for each in items:
        found.setdefault(key(each), []).append(each)
    return found


def either(values: Iterable[Value | None]) -> Value | None:
    """What is left of alternatives: none of them, the one that says something, or either of several."""
    told = list(dict.fromkeys(each for each in _flat(values) if each is not None))
    ours = [each for each in told if not isinstance(each, Outside | Local)] or told[:1]
    return Either(tuple(ours)) if len(ours) > 1 else ours[0] if ours else None


def _flat(values: Iterable[Value | None]) -> Iterator[Value | None]:
    for each in values:
        if isinstance(each, Either):
            yield from each.values
        else:
            yield each
