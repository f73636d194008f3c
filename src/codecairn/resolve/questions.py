"""Questions that are answered once, and the files they are about.

A question that waits for itself, as types and imports that lead back to themselves make it, has no answer on that way
round; an answer that hangs on such a way is not remembered, as from elsewhere the same question may have another.

The parts that answer (names.py, types.py, members.py, expressions.py) ask each other: what they ask is declared here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, Protocol, TypeVar

from codecairn.cancel import Cancel
from codecairn.parse.facts import Import, Site
from codecairn.resolve.generation import ASKED_FIRST, Generation, generation_of
from codecairn.resolve.modules import Modules
from codecairn.resolve.scope import FileScope
from codecairn.resolve.source import ExpressionStep
from codecairn.resolve.step_budget import Budget
from codecairn.resolve.values import Definition, IndependentQuestion, ModuleFiles, Namespace, Outside, Resolver, Value
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow, View
from codecairn.words import identifiers

_DEEPEST = 24
"""How many questions may wait for each other."""
_MOST_ANSWERS = 100_000
"""Kept of one engine, some 30 MB."""
_BYTES_A_STEP = 1_000
"""Of a file that is opened: it is unpacked and taken apart about as fast."""
_MOST_APART = 4
"""How many questions that are asked apart may wait for each other, as types in types that extend such do."""
_Answer = TypeVar("_Answer")
_NOWHERE = 1 << 30
"""Behind every question that can wait."""


class BoundSite(NamedTuple):
    """What a site means: a definition and how it was found, or nothing."""

    definition: Definition | None
    resolver: Resolver = "same_file"
    is_known: bool = False
    """Whether something tells that it is no definition of the project: a local name, a label, a library."""
    is_reached: bool = True
    """False where the budget ended before it was found out."""
    reason: str = ""
    """Why it is neither bound nor known to be something else."""


class Lineage(NamedTuple):
    """The types above one, nearest first and each once; open where one of them is not in the project."""

    above: tuple[Definition, ...]
    is_open: bool


class NameLookup(Protocol):
    def lookup(
        self, scope: FileScope, name: str, position: int, wants: str = "any", *, reads: bool = True
    ) -> tuple[Value | None, Resolver]: ...
    def assigned_value(self, scope: FileScope, name: str, position: int) -> Value | None: ...
    def me(self, scope: FileScope, position: int) -> Definition | None: ...
    def type_at(self, scope: FileScope, path: str) -> Definition | None: ...
    def first_seen(self, scope: FileScope, tops: list[tuple[FileRow, SymbolRow]]) -> Definition: ...


class NamespaceLookup(Protocol):
    def member(self, namespace: Namespace, name: str) -> Value | None: ...
    def around(self, scope: FileScope, position: int) -> Namespace | None: ...
    def visible(self, scope: FileScope, name: str, position: int) -> Value | None: ...


class FixtureLookup(Protocol):
    def meant(self, scope: FileScope, name: str, position: int) -> Definition | None: ...
    def value(self, fixture: Definition) -> Value | None: ...


class ExtensionLookup(Protocol):
    def called(self, scope: FileScope, steps: list[ExpressionStep], number: int, value: Value) -> Definition | None: ...
    def meant(self, scope: FileScope, name: str, value: Value | None) -> tuple[Definition, Resolver] | None: ...


class PackagePathLookup(Protocol):
    def value(self, scope: FileScope, name: str, wants: str = "any") -> Value | None: ...
    def unpackaged(self, scope: FileScope, name: str, *, is_global: bool = False) -> Definition | None: ...


class TypeLookup(Protocol):
    def type_of(self, definition: Definition, me: Definition | None = None) -> Value | None: ...
    def value(self, scope: FileScope, text: str, position: int, me: Definition | None = None) -> Value | None: ...
    def alias_target(self, definition: Definition) -> Value | None: ...
    def is_own(self, scope: FileScope, name: str, position: int) -> bool: ...


class MemberLookup(Protocol):
    def of(self, value: Value, name: str, wants: str = "any") -> Value | None: ...
    def of_type(self, definition: Definition, name: str, wants: str = "any") -> Definition | Outside | None: ...
    def namesake(self, definition: Definition, *, is_called: bool) -> Definition: ...
    def lineage(self, definition: Definition) -> Lineage: ...
    def own_member(self, definition: Definition, name: str, wants: str = "any") -> Definition | None: ...
    def constructed_type(self, definition: Definition) -> Definition | None: ...
    def top(self, scope: FileScope, name: str, wants: str = "any") -> Definition | None: ...
    def export(self, module: ModuleFiles, name: str, wants: str = "any") -> Value | None: ...
    def item_of_type(self, scope: FileScope, each: Import, name: str) -> Value | None: ...
    def import_value(self, scope: FileScope, each: Import, wants: str = "any") -> Value | None: ...


class ExpressionLookup(Protocol):
    def evaluate(self, scope: FileScope, steps: list[ExpressionStep], position: int) -> Value | None: ...
    def keeps(self, scope: FileScope, value: Value | None, steps: list[ExpressionStep], number: int) -> bool: ...
    def read(self, value: Value | None) -> Value | None: ...
    def attribute(self, value: Value, name: str, *, is_called: bool) -> Value | None: ...
    def maker(self, value: Value, name: str) -> Value | None: ...
    def inside(self, definition: Definition) -> int: ...
    def call_result(self, value: Value | None) -> Value | None: ...
    def return_value(self, definition: Definition, me: Definition | None) -> Value | None: ...
    def element(self, value: Value | None) -> Value | None: ...
    def holds_names(self, value: Value | None) -> bool: ...
    def pointed(self, scope: FileScope, value: Value | None, position: int) -> Value | None: ...


class Questions:
    names: NameLookup
    namespaces: NamespaceLookup
    package_paths: PackagePathLookup
    fixtures: FixtureLookup
    extension_methods: ExtensionLookup
    types: TypeLookup
    members: MemberLookup
    expressions: ExpressionLookup

    def __init__(self, view: View, cancel: Cancel, steps: int) -> None:
        self.view = view
        self.cancel = cancel
        self.known: Generation = generation_of(view)
        self.modules = Modules(view, self.known)
        self.budget = Budget(cancel, steps)
        self._waiting: dict[object, int] = {}
        self._first = 0
        self._leads_back_to = _NOWHERE
        self._answers: dict[object, Any] = {}
        self._scopes: dict[int, FileScope] = {}
        view.closing.callback(self.close)

    def close(self) -> None:
        """The view ends. The parts refer to each other through this, so that only a full collection would find them: a
        server held the engines of thousands of calls until then."""
        self.__dict__.clear()

    def meaning(self, scope: FileScope, site: Site) -> BoundSite:
        """What a site means, where that is asked on the way to another answer."""
        raise NotImplementedError

    @property
    def is_waiting(self) -> bool:
        """Whether some question waits for the answer to another."""
        return bool(self._waiting)

    def is_asked(self, question: object) -> bool:
        """Whether a question waits for its answer."""
        return question in self._waiting

    def once(self, question: object, answer: Callable[[], _Answer]) -> _Answer | None:
        """The answer to a question; nothing where it waits for itself, or too many wait already."""
        if question in self._answers:
            known: _Answer = self._answers[question]
            return known
        if question in self._waiting or len(self._waiting) > _DEEPEST:
            self._leads_back_to = min(self._leads_back_to, self._waiting.get(question, self._first))
            return None
        self.budget.step()
        number = self._first + len(self._waiting)
        self._waiting[question] = number
        outer, self._leads_back_to = self._leads_back_to, _NOWHERE
        try:
            value = answer()
        finally:
            del self._waiting[question]
            is_whole = self._leads_back_to >= number
            self._leads_back_to = outer if is_whole else min(outer, self._leads_back_to)
        if is_whole:
            self._keep(question, value)
        return value

    def once_a_generation(self, question: Hashable, answer: Callable[[], _Answer]) -> _Answer | None:
        """The same for a question whose answer later questions can use; one found on the way round a circle is not
        kept, as from elsewhere more may be found."""
        found: _Answer | None = self.known.answer(question, ASKED_FIRST)
        if found is not ASKED_FIRST:
            return found
        value = self.once(question, answer)
        return self.known.keep(question, value) if question in self._answers else value

    def once_apart(self, question: IndependentQuestion, answer: Callable[[], _Answer]) -> _Answer | None:
        """The same for a question whose answer is the same whatever else waits, others of its kind excepted; later
        questions of the generation can use it too."""
        found: _Answer | None = self.known.answer(question, ASKED_FIRST)
        if found is not ASKED_FIRST:
            return found
        value = self._ask_apart(question, answer)
        return self.known.keep(question, value) if question in self._answers else value

    def _ask_apart(self, question: IndependentQuestion, answer: Callable[[], _Answer]) -> _Answer | None:
        others: dict[object, int] = {
            each: at for each, at in self._waiting.items() if isinstance(each, IndependentQuestion)
        }
        if question not in self._answers and (len(others) > _MOST_APART or question in others):
            self._leads_back_to = min(self._leads_back_to, others.get(question, min(others.values())))
            return None
        waiting, first = self._waiting, self._first
        self._waiting, self._first = others, first + len(waiting) - len(others)
        try:
            return self.once(question, answer)
        finally:
            self._waiting, self._first = waiting, first

    def _keep(self, question: object, value: object) -> None:
        if len(self._answers) >= _MOST_ANSWERS:
            self._answers.clear()
        self._answers[question] = value

    def scope(self, file: int) -> FileScope:
        if file not in self._scopes:
            scope = self._scopes[file] = self.known.scope(self.view, file)
            self.budget.step(1 + len(scope.source.text) // _BYTES_A_STEP)
        return self._scopes[file]

    def symbol(self, definition: Definition) -> SymbolRow:
        return self.scope(definition.file).symbols[definition.number]

    def definitions_named(self, name: str) -> list[tuple[FileRow, SymbolRow]]:
        """Every definition of exactly this name."""
        return self.known.definitions_named(self.view, name)

    def beside(self, scope: FileScope, name: str) -> list[FileRow]:
        """Of the files whose top-level names are seen in a file without an import, those that define a name, in their
        order."""
        if scope.rules.shares not in ("folder", "package"):
            return []
        rows = {row.id: row for row, _ in self.definitions_named(name) if self.modules.is_beside(scope.row, row)}
        if len(rows) < 2:
            return list(rows.values())
        return [each for each in self.modules.beside(scope.row) if each.id in rows]

    def using(self, name: str) -> list[FileRow]:
        """The files in which a name stands; the index keeps names without their sigils."""
        words = identifiers(name)
        found = self.view.using(max(words, key=len)) if words else []
        return [self.known.rows[each] for each in found if each in self.known.rows]
