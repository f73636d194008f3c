"""Layers: what is visible of a working tree or a ref, and how one is laid over another (schema.py)."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct


class Scope(NamedTuple):
    """Which of a repository's files a project is about."""

    prefix: str
    """The project's folder in the repository, with a slash at its end; empty where it is the whole."""
    tests: bool = True
    vendor: bool = False

    @property
    def key(self) -> str:
        return f"{'t' if self.tests else '-'}{'v' if self.vendor else '-'}:{self.prefix}"


class Layer(Struct, frozen=True):
    id: int
    root: str
    """The folder whose working tree it is; empty for a ref."""
    name: str
    """The ref; empty for a working tree."""
    scope: str
    base: int | None
    """The layer that this one is a difference to; None where it is whole."""
    prefix: str
    generation: int
    complete: bool
    tests: bool
    vendor: bool
    ref: str
    head: str
    module: str | None
    go_version: str | None
    finished_at: float | None
    seconds: float | None
    extractors: str
    excluded: dict[str, int]
    rules: dict[str, str]
    """The files of a base's tree that say what is left out, each with its blob."""
    counted: int
    """The generation whose imports were counted last."""

    @property
    def is_counted(self) -> bool:
        """Whether its imports are those of what it holds: a ref that is being laid has them last."""
        return self.counted == self.generation

    @property
    def within(self) -> Scope:
        return Scope(self.prefix, self.tests, self.vendor)


WORKING_TREE = "root = ? AND name = ''"
BASE = "root = '' AND scope = ? AND base IS NULL"
"""Conditions for the layer of a folder, and of the base of a scope."""


def layers_in(database: sqlite3.Connection, condition: str, *values: object) -> list[Layer]:
    rows = database.execute(f"SELECT * FROM layer WHERE {condition}", values)  # noqa: S608 - our own conditions
    return [_layer(row) for row in rows]


def layer_in(database: sqlite3.Connection, condition: str, *values: object) -> Layer | None:
    return next(iter(layers_in(database, condition, *values)), None)


def _layer(row: tuple[Any, ...]) -> Layer:
    named: dict[str, Any] = dict(zip(Layer.__struct_fields__, row, strict=True))
    for name, type_ in (("excluded", dict[str, int]), ("rules", dict[str, str])):
        named[name] = msgspec.json.decode(named[name], type=type_)
    return Layer(**named | {name: bool(named[name]) for name in ("complete", "tests", "vendor")})


def shows_through(table: str, layer: Layer) -> str:
    """The condition under which a row of `manifest`, or of `popularity`, is one that the layer shows."""
    if layer.base is None:
        return f"{table}.layer = {layer.id}"
    return (
        f"{table}.layer IN ({layer.id}, {layer.base}) AND ({table}.layer = {layer.id} OR NOT EXISTS "  # noqa: S608 - our own numbers
        f"(SELECT 1 FROM {table} AS over WHERE over.layer = {layer.id} AND over.path = {table}.path))"
    )
