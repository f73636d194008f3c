"""Bare names: the variables, definitions and imports around them, innermost first."""

from __future__ import annotations

import re

from codecairn.names.qualified import last_part, parts
from codecairn.parse.facts import Import
from codecairn.parse.kinds import CALLABLE, HOLDERS, TYPES
from codecairn.resolve.assigned_values import AssignedValues
from codecairn.resolve.called_closures import CalledClosures
from codecairn.resolve.closures import ClosureParameter, closure_parameter
from codecairn.resolve.documented import local_type
from codecairn.resolve.given_values import is_variadic
from codecairn.resolve.nearest_definitions import NearestDefinitions
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope, Variable
from codecairn.resolve.values import (
    LOCAL,
    UNTOLD,
    VARIABLES,
    Definition,
    Elements,
    IndependentQuestion,
    Instance,
    Local,
    Resolver,
    TupleValue,
    Value,
    either,
)
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_CALLED = re.compile(r"[ \t]*=[ \t]*(?:await[ \t]+)?[a-z_][\w.]*\(")
"""A call of what has no name of a type: an object that can be called, as well as a function, gives what it returns."""
_MOST_BRACES = 6
_AS = re.compile(r"\bas\s+\(?$")
_HEAD = 1_000
"""Bytes of the head of a definition in which a type parameter's bounds are looked for."""


class Names:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._assigned = AssignedValues(engine)
        self._called = CalledClosures(engine)
        self._nearest = NearestDefinitions(engine)
        self._tops: dict[tuple[str, str], list[tuple[FileRow, SymbolRow]]] = {}

    def lookup(
        self, scope: FileScope, name: str, position: int, wants: str = "any", *, reads: bool = True
    ) -> tuple[Value | None, Resolver]:
        """What a bare name means at a position; with `reads`, of a variable what it holds, else only that it is one."""
        if scope.rules.path_mark and scope.rules.path_mark in name:
            return self._engine.package_paths.value(scope, name, wants), "qualified"
        if scope.rules.macros and scope.is_macro(name, position):
            return self._macro(scope, name), "qualified"
        inner = self._innermost(scope, name, position, wants, reads=reads)
        if inner is not None:
            return inner
        if scope.rules.implicit_members and (found := self._implicit(scope, name, position)) is not None:
            return found, "receiver_type"
        for row in self._engine.beside(scope, name):
            if (found := self._engine.members.top(self._engine.scope(row.id), name, wants)) is not None:
                return found, "qualified"
        if scope.rules.outer_packages and (found := self._of_outer_package(scope, name, wants)) is not None:
            return found, "qualified"
        if (value := self._imported_with_all(scope, name, position, wants)) is not None:
            return value, "import"
        if scope.rules.namespaces and (value := self._engine.namespaces.visible(scope, name, position)) is not None:
            return value, "qualified"
        if (found := self._unpackaged(scope, name)) is not None:
            return found, "qualified"
        if scope.rules.flat and (value := self._of_imported_type(scope, name)) is not None:
            return value, "import"
        if scope.rules.shares == "all" and (tops := self._only_tops(scope.row.language, name)):
            return self.first_seen(scope, tops), "unique_name"
        return None, "same_file"

    def _of_outer_package(self, scope: FileScope, name: str, wants: str) -> Definition | None:
        """What a package around the file's own defines, the innermost first."""
        rows = {row.id: row for row, _ in self._engine.definitions_named(name)
                if row.package and scope.row.package.startswith(f"{row.package}.")
                and row.language == scope.row.language}  # fmt: skip
        for row in sorted(rows.values(), key=lambda each: (-len(each.package), each.path)):
            if (found := self._engine.members.top(self._engine.scope(row.id), name, wants)) is not None:
                return found
        return None

    def _only_tops(self, language: str, name: str) -> list[tuple[FileRow, SymbolRow]]:
        """The definitions of a name in a language where all of them have one path; else none."""
        if (language, name) not in self._tops:
            tops = [each for each in self._engine.definitions_named(name)
                    if each[0].language == language and each[1].kind != "field"]  # fmt: skip
            self._tops[language, name] = tops if len({symbol.path for _, symbol in tops}) == 1 else []
        return self._tops[language, name]

    def _imported_with_all(self, scope: FileScope, name: str, position: int, wants: str) -> Value | None:
        """What has a name in the modules and types from which a file imports everything."""
        own = [Import(scope.row.package, "*", "", 1, exported=False)] if scope.rules.package_objects else []
        for each in [*own, *scope.wildcards] if not scope.rules.namespaces else ():
            if scope.hides(each, name) and scope.source.line_of(position) != each.line:
                continue
            module = self._engine.modules.find(scope.row, each.module)
            if module is not None and (value := self._engine.members.export(module, name, wants)) is not None:
                return value
            if scope.rules.imports == "package" and (value := self._in_type(scope, each, name)) is not None:
                return value
            if module is None and (value := self._engine.members.item_of_type(scope, each, name)) is not None:
                return value
        return None

    def _unpackaged(self, scope: FileScope, name: str) -> Definition | None:
        sees = scope.rules.global_functions or (scope.rules.shares == "package" and not scope.row.package)
        return self._engine.package_paths.unpackaged(scope, name) if sees else None

    def _in_type(self, scope: FileScope, each: Import, name: str) -> Definition | None:
        """A member of a type or a value whose members are all imported: `import a.Type.*`, `import value._`."""
        if not self._engine.definitions_named(name):
            return None
        question = ("opened", scope.row.id, each.module)
        holder = self._engine.once(question, lambda: self._opened(scope, each))
        found = self._engine.members.of(holder, name) if holder is not None else None
        return found if isinstance(found, Definition) else None

    def _opened(self, scope: FileScope, each: Import) -> Value | None:
        before, _, last = each.module.rpartition(".")
        outer = self._engine.modules.find(scope.row, before) if before else None
        if outer is not None:
            return self._engine.members.export(outer, last)
        steps = scope.source.steps(each.module, 0, len(each.module))
        at = scope.source.position(each.line, 0)
        return self._engine.expressions.evaluate(scope, [step._replace(start=at) for step in steps], at)

    def _macro(self, scope: FileScope, name: str) -> Definition | None:
        """The macro of a name, the nearest of several: it is seen from anywhere."""
        found = [
            each for each in self._engine.definitions_named(name)
            if each[0].language == scope.row.language and each[1].signature.startswith(scope.rules.macro)
        ]  # fmt: skip
        return self.first_seen(scope, found) if found else None

    def _of_imported_type(self, scope: FileScope, name: str) -> Definition | None:
        """A constructor, a field or a class's own function that comes with a type which is imported by its name."""
        for row, symbol in self._engine.definitions_named(name):
            other = self._engine.scope(row.id) if row.language == scope.row.language else None
            if other is None or not other.is_flat(symbol):
                continue
            owner = Definition(row.id, symbol.parent)
            for each in scope.imports.get(other.symbols[symbol.parent].name, ()):
                if self._engine.members.import_value(scope, each) == owner:
                    return Definition(row.id, symbol.number)
        return None

    def first_seen(self, scope: FileScope, tops: list[tuple[FileRow, SymbolRow]]) -> Definition:
        """Of definitions of one path, that of a file which is imported, else the nearest by folders, else the first by
        its file's path: a copy of a library in `deps/` is not meant by the code beside it."""
        return self._nearest.first(scope, tops) if len(tops) > 1 else Definition(tops[0][0].id, tops[0][1].number)

    def _innermost(
        self, scope: FileScope, name: str, position: int, wants: str, *, reads: bool
    ) -> tuple[Value | None, Resolver] | None:
        """The variable, definition or import of this name in the smallest scope around a position."""
        best: tuple[int, int] | None = None
        found: tuple[Value | None, Resolver] | None = None
        for symbol in scope.symbols_by_name.get(name, ()):
            span = self._visible(scope, symbol, position)
            if span is not None and scope.suits(symbol, wants) and (best is None or (span, 0) < best):
                best, found = (span, 0), (Definition(scope.row.id, symbol.number), "same_file")
        for each in scope.imports.get(name, ()):
            around = scope.symbol_at(scope.source.position(each.line, 0))
            span_ = scope.span(around) if around else scope.whole
            size, is_rival = span_.size, found is not None and found[1] == "import" and best == (span_.size, 0)
            if span_.holds(position) and (best is None or is_rival or (size, 0) < best or self._is_stub(scope, found)):
                value = self._engine.members.import_value(scope, each, wants)
                if value is None and scope.rules.imports == "crate":
                    value = UNTOLD  # what is named goes before what is imported with all
                if value is not None:
                    best, found = (size, 0), (either([found[0] if found and is_rival else None, value]), "import")
        if found is not None and scope.rules.scopes == "indent" and scope.symbol_at(position) is None:
            return found  # outside functions nothing hides what a module has
        if wants == "function":
            return found
        variables = [each for each in scope.variables(name) if wants == "any" or not scope.rules.splits_types
                     or (each.kind == "generic") == (wants == "type")]  # fmt: skip
        is_apart = found is None or scope.compiled.begins is not None
        if any(each.position == position and (each.kind != "block" or is_apart) for each in variables):
            return self._local_or_fixture(scope, name, [each for each in variables if each.position == position])
        inner = [each for each in variables if each.span.holds(position) and self._has_begun(scope, each, position)]
        if inner:
            size = min(each.span.size for each in inner)
            if best is None or size < best[0]:
                mine = [each for each in inner if each.span.size == size]
                if not reads:
                    return self._local_or_fixture(scope, name, mine)
                return self._variable(scope, name, mine, position), "same_file"
        return found

    def _has_begun(self, scope: FileScope, variable: Variable, position: int) -> bool:
        """Whether a variable is declared before a position: what gives it its value may use the name for another."""
        begins = scope.compiled.begins
        if begins is None or variable.kind != "block":
            return True
        return begins.search(scope.source.code, variable.position, position) is not None

    def _local_or_fixture(self, scope: FileScope, name: str, variables: list[Variable]) -> tuple[Value, Resolver]:
        """A local name, or the fixture that it is filled with."""
        if all(each.kind == "parameter" for each in variables):
            fixture = self._engine.fixtures.meant(scope, name, variables[0].position)
            if fixture is not None:
                return fixture, "qualified"
        return LOCAL, "same_file"

    def _is_stub(self, scope: FileScope, found: tuple[Value | None, Resolver] | None) -> bool:
        """A variable that only stands in for an import that failed."""
        return (
            found is not None
            and isinstance(found[0], Definition)
            and found[0].file == scope.row.id
            and self._engine.symbol(found[0]).kind in VARIABLES
        )

    def _visible(self, scope: FileScope, symbol: SymbolRow, position: int) -> int | None:
        """How large the scope is in which a definition is seen by its bare name; None where it is not."""
        owner = scope.owner_path(symbol)
        if scope.is_flat(symbol):
            return scope.whole.size
        if symbol.parent < 0:
            if owner and owner != scope.row.package:
                return None
            # The braces of a macro's argument hide nothing.
            is_hidden = scope.rules.scopes == "braces" and scope.rules.imports != "crate"
            block = scope.block(symbol) if is_hidden else scope.whole
            return block.size if block.holds(position) else None
        parent = scope.symbols[symbol.parent]
        if not scope.span(parent).holds(position):
            return None
        if parent.kind in TYPES or symbol.kind in ("method", "field"):
            if scope.rules.scopes != "indent" or (
                symbol.kind == "field" and not symbol.signature.startswith(symbol.name)
            ):
                return None
            inner = scope.symbol_at(position)
            is_inside = inner is not None and inner.start_line >= parent.start_line
            if inner is not None and is_inside and (inner.parent != parent.number or scope.body(inner).holds(position)):
                return None
        block = scope.block(symbol) if scope.rules.scopes == "braces" else scope.span(parent)
        return min(block.size, scope.span(parent).size) if block.holds(position) else None

    def _implicit(self, scope: FileScope, name: str, position: int) -> Definition | None:
        if not self._engine.definitions_named(name):
            return None
        if (made := self._of_anonymous(scope, name, position)) is not None:
            return made
        inner = scope.symbol_at(position, HOLDERS | CALLABLE)
        for symbol in scope.around(inner.number) if inner else ():
            type_ = self._type_of_scope(scope, symbol)
            found = self._member_in_scope(scope, type_, name, position) if type_ else None
            if isinstance(found, Definition):
                return self._engine.members.constructed_type(found) or found
        return None

    def _member_in_scope(self, scope: FileScope, type_: Definition, name: str, position: int) -> Value | None:
        """A member of a type around a position. In the head that says what a type extends, nothing is inherited yet:
        looking there leads back to the head itself, in each of the types of a circle anew."""
        is_head = (
            type_.file == scope.row.id and scope.source.line_of(position) == scope.symbols[type_.number].start_line
        )
        if is_head and self._engine.is_asked(IndependentQuestion("supers", type_)):
            return self._engine.members.own_member(type_, name)
        return self._engine.members.of_type(type_, name)

    def _of_anonymous(self, scope: FileScope, name: str, position: int) -> Definition | None:
        """A member of the type that is extended where it is made: `new Type { … }`, `object : Type { … }`."""
        if scope.rules.scopes != "braces" or not scope.makes_types:
            return None
        braces, depth = scope.source.around(position, "{"), 0
        while braces is not None and depth < _MOST_BRACES:
            head = scope.before_brace(braces.start)
            value = self._engine.types.value(scope, head[1], head.start(1)) if head else None
            found = self._engine.members.of(value, name) if isinstance(value, Instance) else None
            if isinstance(found, Definition):
                return self._engine.members.constructed_type(found) or found
            braces, depth = scope.source.around(braces.start, "{"), depth + 1
        return None

    def _variable(self, scope: FileScope, name: str, variables: list[Variable], position: int) -> Value | None:
        """What the variable was given last: in one of several branches, either of what they give."""
        before = [each for each in variables if each.position <= position] or variables
        found, here = list[Value | None](), scope.indent(position)
        for each in sorted(before, key=lambda each: -each.position):
            found.append(self._declaration(scope, name, each))
            if scope.indent(each.position) <= here and found[-1] not in (None, LOCAL):
                break
        return either(found) or LOCAL

    def _declaration(self, scope: FileScope, name: str, variable: Variable) -> Value | None:
        question = ("variable", scope.row.id, variable.position)
        return self._engine.once(question, lambda: self._declaration_at(scope, name, variable))

    def _declaration_at(self, scope: FileScope, name: str, variable: Variable) -> Value | None:
        position = variable.position
        if variable.kind == "generic":
            return self._bound(scope, name, variable)
        line = scope.source.line_of(position)
        if scope.rules.scopes == "indent" and _CALLED.match(scope.source.code, position + len(name)) is not None:
            value = self.assigned_value(scope, name, position)
            if value is not None and not isinstance(value, Local):
                return value
        for each in scope.bindings.get(name, ()):
            if each.line == line and ("<" in each.type or parts(each.type)[:1] not in scope.made_wrappers):
                if is_variadic(scope.source.code, name, position):
                    return Elements(each.type, scope.row.id, position)
                value = self._engine.types.value(scope, each.type, position)
                return (
                    self._assigned.entered(value)
                    if _AS.search(scope.source.code, max(0, position - 20), position)
                    else value
                )
        if told := local_type(scope, name, position):
            return self._engine.types.value(scope, told, position)
        fixture = self._engine.fixtures.meant(scope, name, position) if variable.kind == "parameter" else None
        if fixture is not None:
            return self._engine.fixtures.value(fixture)
        if variable.kind == "parameter" and (closure := closure_parameter(scope, name, position)) is not None:
            return self._closure_argument(scope, closure)
        if (typed := scope.compiled.typed) and (written := typed.match(scope.source.code, position + len(name))):
            return self._engine.types.value(scope, written[1], position)
        if variable.kind == "parameter" and scope.rules.imports == "crate":
            return self._called.value(scope, position)
        return self.assigned_value(scope, name, position)

    def _closure_argument(self, scope: FileScope, closure: ClosureParameter) -> Value | None:
        """What a method passes to the closure that it is given."""
        method = closure.method
        value = self._engine.expressions.evaluate(scope, scope.source.receiver(method), method)
        if isinstance(value, Elements):
            value = self._engine.expressions.element(value) if value.is_told else LOCAL
        if closure.part >= 0:
            return self._assigned.part_at(value, closure.part) if isinstance(value, TupleValue) else LOCAL
        return value if isinstance(value, Instance | Elements | TupleValue) else LOCAL

    def _bound(self, scope: FileScope, name: str, parameter: Variable) -> Value | None:
        """What the types that a type parameter stands for have in common, where that is told."""
        code, position = scope.source.code, parameter.position
        bound = scope.compiled.bounds.match(code, position)
        if bound is None and scope.rules.where:
            further = re.compile(scope.rules.where.replace("NAME", re.escape(name)))
            bound = further.search(code, position, min(parameter.span.end, position + _HEAD))
        return (self._engine.types.value(scope, bound[1], position) or LOCAL) if bound else LOCAL

    def assigned_value(self, scope: FileScope, name: str, position: int) -> Value | None:
        """What a variable is assigned, or iterates over, where it is declared."""
        return self._assigned.value(scope, name, position)

    def me(self, scope: FileScope, position: int) -> Definition | None:
        """The type whose method a position is in."""
        inner = scope.symbol_at(position, TYPES | CALLABLE)
        for symbol in scope.around(inner.number) if inner else ():
            if (found := self._type_of_scope(scope, symbol)) is not None:
                return found
        return None

    def _type_of_scope(self, scope: FileScope, symbol: SymbolRow) -> Definition | None:
        if symbol.kind in TYPES or (symbol.kind == "module" and scope.rules.package_objects):
            return Definition(scope.row.id, symbol.number)
        owner = scope.owner_path(symbol) if symbol.kind == "method" else ""
        return self.type_at(scope, owner) if owner else None

    def type_at(self, scope: FileScope, path: str) -> Definition | None:
        """A type by its path, in a file or those that are one module with it."""
        for symbol in scope.types.get(path, ()):
            return Definition(scope.row.id, symbol.number)
        name = last_part(path)
        if scope.rules.returned and (holder := self._engine.members.top(scope, path)) is not None:
            return holder
        for row in self._engine.beside(scope, name):
            for symbol in self._engine.scope(row.id).types.get(path, ()):
                return Definition(row.id, symbol.number)
        value, _ = self.lookup(scope, name, 0, "type") if name != path or scope.rules.imports == "crate" else (None, "")
        return value if isinstance(value, Definition) and self._engine.symbol(value).kind in TYPES else None
