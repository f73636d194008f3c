"""What an expression stands for, as far as resolution can tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Resolver = Literal["same_file", "import", "qualified", "receiver_type", "unique_name"]


@dataclass(frozen=True)
class Definition:
    """A symbol itself: a type, a function, a variable."""

    file: int
    number: int


@dataclass(frozen=True)
class Module:
    """A file, or several that are one module; `folder` is where its submodules are."""

    files: tuple[int, ...]
    folder: str | None = None


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


@dataclass(frozen=True)
class Function:
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
class Outside:
    """Known to be none of the project's: a library's, or a value of the language's own."""


@dataclass(frozen=True)
class Local:
    """A variable whose type is not known."""


Value = Definition | Module | Instance | Parent | Elements | Function | Shape | Outside | Local
VARIABLES = frozenset({"var", "const", "field"})
OUTSIDE = Outside()
LOCAL = Local()
