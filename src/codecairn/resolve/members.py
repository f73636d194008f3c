"""Members: of types with what they inherit, of modules with what they import from others."""

from __future__ import annotations

import re
from collections.abc import Iterable

from codecairn.names.qualified import last_part, module_of, parts
from codecairn.parse.facts import Import
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.dereferenced import passed_member
from codecairn.resolve.generation import ASKED_FIRST
from codecairn.resolve.inline_modules import imported_inside
from codecairn.resolve.linearisation import last_ways, merge
from codecairn.resolve.partial_types import heads_of
from codecairn.resolve.questions import Lineage, Questions
from codecairn.resolve.rules import rules_of
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import (
    OUTSIDE,
    UNTOLD,
    VARIABLES,
    Definition,
    Either,
    Elements,
    IndependentQuestion,
    Instance,
    Local,
    ModuleFiles,
    Namespace,
    Outside,
    Parent,
    Shape,
    Value,
    by_key,
    either,
)
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow

_FEWEST_IN_A_DIAMOND = 3
_SPREAD = re.compile(r"[{,]\s*\.\.\.([\w$.]+)\s*[,}]")


class Members:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._owned: dict[tuple[str, str], dict[str, list[tuple[FileRow, SymbolRow]]]] = {}

    def of(self, value: Value, name: str, wants: str = "any") -> Value | None:
        if isinstance(value, Either):
            return either(self.of(each, name, wants) for each in value.values)
        if isinstance(value, ModuleFiles):
            return self.export(value, name, wants)
        if isinstance(value, Namespace):
            return self._engine.namespaces.member(value, name)
        if isinstance(value, Shape):
            field = re.search(rf"(?:^|[{{;,\s]){re.escape(name)}\??\s*:\s*([^;,}}]+)", value.text)
            return (
                self._engine.types.value(self._engine.scope(value.file), field[1], value.position, value.me)
                if field
                else None
            )
        if isinstance(value, Instance):
            return self.of_type(value.of, name)
        if isinstance(value, Parent):
            return self._find_above(value.of, name)
        if isinstance(value, Definition):
            symbol = self._engine.symbol(value)
            if symbol.kind in VARIABLES:
                if symbol.parent < 0 and symbol.name == self._engine.scope(value.file).returned:
                    return self.of_type(value, name, wants) or self.export(ModuleFiles((value.file,)), name, wants)
                held = self._engine.types.type_of(value)
                if held is not None and held != value and not isinstance(held, Local):
                    return self.of(held, name)
            if symbol.kind == "module" and self._engine.scope(value.file).rules.namespaces:
                return self._engine.namespaces.member(Namespace(parts(symbol.path), value.file), name)
            declared = self._module_of_declaration(value) if symbol.kind == "module" else None
            if declared is not None:
                return self.export(declared, name, wants)
            found = self.of_type(value, name, wants)
            inner = imported_inside(self._engine, value, name, wants) if symbol.kind == "module" else None
            return found if isinstance(found, Definition) else inner or found
        return OUTSIDE if isinstance(value, Outside | Elements) else None

    def _module_of_declaration(self, definition: Definition) -> ModuleFiles | None:
        """The file that `mod name;` says is there."""
        scope = self._engine.scope(definition.file)
        if scope.rules.imports != "crate":
            return None
        around = ModuleFiles((), module_of(scope.row))
        return self._engine.modules.submodule(scope.row, around, self._engine.symbol(definition).path)

    def of_type(self, definition: Definition, name: str, wants: str = "any") -> Definition | Outside | None:
        """A member of a type, its own or inherited; Outside where it may be one that a type outside has."""
        key = ("member", definition, name, wants)
        return self._engine.once_a_generation(key, lambda: self._search(definition, name, wants))

    def _search(self, definition: Definition, name: str, wants: str) -> Definition | Outside | None:
        own = self.own_member(definition, name, wants)
        if own is not None and not self._is_assigned(own):
            return own
        above = self._find_above(definition, name)
        if own is None and not isinstance(above, Definition):
            return passed_member(self._engine, definition, name) or above
        is_callable = isinstance(above, Definition) and self._engine.symbol(above).kind in CALLABLE
        return above if own is None or is_callable else own

    def _find_above(self, definition: Definition, name: str) -> Definition | Outside | None:
        """What the first of the types above has of a name; that one assigns it is less than that a type above it
        defines it."""
        lineage, assigned = self.lineage(definition), None
        waiting = list(lineage.above)
        while waiting:
            each = waiting.pop(0)
            own = self.own_member(each, name)
            if own is None:
                continue
            if not self._is_assigned(own):
                is_callable = self._engine.symbol(own).kind in CALLABLE
                return own if assigned is None or is_callable else assigned
            assigned, waiting = assigned or own, list(self.lineage(each).above)
        return assigned or (UNTOLD if lineage.is_open else None)

    def lineage(self, definition: Definition) -> Lineage:
        found = self._engine.once_a_generation(("lineage", definition), lambda: self._lineage(definition))
        return found or Lineage((), is_open=False)

    def _lineage(self, definition: Definition) -> Lineage:
        above, seen, is_open = list[Definition](), {definition}, False
        waiting = self.supers(definition)[::-1]
        while waiting:
            each = waiting.pop()
            if each is None:
                is_open = True
            elif each not in seen:
                self._engine.budget.step()
                seen.add(each)
                above.append(each)
                waiting += self.supers(each)[::-1]
        return Lineage(tuple(self._in_order(definition, above)), is_open)

    def _in_order(self, definition: Definition, above: list[Definition]) -> list[Definition]:
        """The types above one as the language looks members up in them, where it has an order of its own."""
        if self._engine.scope(definition.file).rules.scopes != "indent" or len(above) < _FEWEST_IN_A_DIAMOND:
            return above
        bases = [each for each in dict.fromkeys(self.supers(definition)) if each is not None]
        merged = merge([*([each, *self.lineage(each).above] for each in bases), bases])
        if merged is not None and len(merged) == len(above):
            return merged
        return last_ways(definition, self.supers) or above

    def _is_assigned(self, field: Definition) -> bool:
        """A field that is only given a value (`self.x = …`): what a type above defines as the name goes before it."""
        signature = self._engine.symbol(field).signature
        return any(signature.startswith(f"{me}.") for me in self._engine.scope(field.file).rules.selves)

    def own_member(self, definition: Definition, name: str, wants: str = "any") -> Definition | None:
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        for each in scope.symbols_by_name.get(name, ()):
            if scope.owner_path(each) == symbol.path and each.number != symbol.number and scope.suits(each, wants):
                return Definition(definition.file, each.number)
        if symbol.kind == "const" and scope.rules.splits_types:
            return self._spread(scope, symbol, name)
        if scope.rules.extensions:
            return self._extension(scope, symbol, name)
        if scope.rules.shares in ("folder", "package"):
            for row, each in self._by_owner(scope, name).get(symbol.path, ()):
                if self._engine.modules.is_beside(scope.row, row):
                    return Definition(row.id, each.number)
        return self._added_elsewhere(definition, symbol, name) if scope.rules.imports == "crate" else None

    def _added_elsewhere(self, definition: Definition, symbol: SymbolRow, name: str) -> Definition | None:
        """A member that another file adds to a type it imports."""
        for row, each in self._engine.definitions_named(name):
            owner = each.path[: -len(name)].rstrip(":")
            if row.id != definition.file and each.parent < 0 and last_part(owner) == symbol.name:
                other = self._engine.scope(row.id)
                if self._engine.names.type_at(other, owner) == definition:
                    return Definition(row.id, each.number)
        return None

    def _extension(self, scope: FileScope, symbol: SymbolRow, name: str) -> Definition | None:
        """A member that another file gives a type, which is named there as here or by its last name alone; of several
        in one place the first."""
        owned = self._by_owner(scope, name)
        found = [*owned.get(symbol.path, ())]
        if symbol.path != symbol.name:
            found += [each for each in owned.get(symbol.name, ()) if each[1].parent < 0]
        beside = [each for each in found if self._engine.modules.is_beside(scope.row, each[0])]
        chosen = beside or found
        if not chosen or len({(row.package, each.path) for row, each in chosen}) > 1:
            return None
        return Definition(chosen[0][0].id, chosen[0][1].number)

    def _by_owner(self, scope: FileScope, name: str) -> dict[str, list[tuple[FileRow, SymbolRow]]]:
        """The definitions of a name in the language of a file, by the path of what each is a member of."""
        key = (scope.row.language, name)
        if key not in self._owned:
            named = (each for each in self._engine.definitions_named(name) if each[0].language == scope.row.language)
            self._owned[key] = by_key(named, lambda each: scope.owner_path(each[1]))
        return self._owned[key]

    def _spread(self, scope: FileScope, symbol: SymbolRow, name: str) -> Definition | None:
        """A member that an object has from one that is spread into it."""
        span = scope.span(symbol)
        for match in _SPREAD.finditer(scope.source.code, span.start, span.end):
            value = self._engine.expressions.evaluate(
                scope, scope.source.steps(match[1], 0, len(match[1])), match.start(1)
            )
            found = self.of(value, name, "value") if value is not None else None
            if isinstance(found, Definition):
                return found
        return None

    def constructed_type(self, definition: Definition) -> Definition | None:
        """The type whose constructor it is, by the type's name or one that all constructors have."""
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        owner = scope.symbols[symbol.parent] if symbol.parent >= 0 and symbol.kind in CALLABLE else None
        names = {owner.name, *scope.rules.constructors} if owner is not None else set[str]()
        is_made = owner is not None and owner.kind in TYPES and symbol.name in names
        return Definition(definition.file, symbol.parent) if is_made else None

    def namesake(self, definition: Definition, *, is_called: bool) -> Definition:
        """Of a field and a method of one name in one type, the method where it is called and the field elsewhere."""
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        if symbol.path == symbol.name or (symbol.kind in CALLABLE) == is_called:
            return definition
        named = (
            each for each in scope.symbols_by_name[symbol.name]
            if each.path == symbol.path and each.kind not in TYPES
        )  # fmt: skip
        other = next((each.number for each in named if (each.kind in CALLABLE) == is_called), symbol.number)
        return Definition(definition.file, other)

    def supers(self, definition: Definition) -> list[Definition | None]:
        """What a type extends or implements; None for what is not in the project."""
        return (
            self._engine.once_apart(IndependentQuestion("supers", definition), lambda: self._supers(definition)) or []
        )

    def _supers(self, definition: Definition) -> list[Definition | None]:
        found: list[Definition | None] = []
        for scope, each in heads_of(self._engine, definition):
            for site in scope.supertypes.get(each.number, ()):
                bound = self._engine.meaning(scope, site).definition
                if bound is not None and self._engine.symbol(bound).kind in VARIABLES:
                    held = self._engine.types.type_of(bound)
                    bound = held.of if isinstance(held, Instance) else held if isinstance(held, Definition) else bound
                if bound != definition:
                    found.append(bound)
        if self._engine.symbol(definition).kind == "type":
            aliased = self._engine.types.alias_target(definition)
            if isinstance(aliased, Instance) and aliased.of != definition:
                found.append(aliased.of)
        return found

    def top(self, scope: FileScope, name: str, wants: str = "any") -> Definition | None:
        for symbol in scope.symbols_by_name.get(name, ()):
            owner = scope.owner_path(symbol)
            is_top = symbol.parent < 0 and (not owner or owner == scope.row.package)
            if (is_top or scope.is_flat(symbol)) and scope.suits(symbol, wants):
                return Definition(scope.row.id, symbol.number)
        return None

    def export(self, module: ModuleFiles, name: str, wants: str = "any") -> Value | None:
        question = ("exported", module, name, wants)
        return self._engine.once(question, lambda: self._find_export(module, name, wants))

    def _find_export(self, module: ModuleFiles, name: str, wants: str) -> Value | None:
        for file in self._defining(module, name):
            if (found := self.top(self._engine.scope(file), name, wants)) is not None:
                return found
        given = self._given_by(module) if wants != "type" else module
        if isinstance(given, Definition) and (own := self.of_type(given, name)) is not None:
            return own
        for file in module.files:
            if not rules_of(self._engine.known.rows[file].language).rules.reexports:
                continue
            scope = self._engine.scope(file)
            for each in scope.imports.get(name, ()) if name else ():
                if scope.passes_on(each, name) and (value := self.import_value(scope, each, wants)) is not None:
                    return value
            for each in scope.wildcards:
                if scope.hides(each, name) or not scope.passes_on(each, name):
                    continue
                inner = self._engine.modules.find(scope.row, each.module)
                if inner is not None and inner != module and (value := self.export(inner, name, wants)) is not None:
                    return value
        rows = self._engine.known.rows
        some = rows[module.files[0]] if module.files else self._any_importer()
        return self._engine.modules.submodule(some, module, name) if some is not None else None

    def _defining(self, module: ModuleFiles, name: str) -> Iterable[int]:
        if len(module.files) == 1:
            return module.files
        defining = {row.id for row, _ in self._engine.definitions_named(name)}
        return (file for file in module.files if file in defining)

    def _any_importer(self) -> FileRow | None:
        """A file of a language in which a folder without files of its own is a module."""
        rows = self._engine.known.rows.values()
        return next((row for row in rows if rules_of(row.language).rules.imports == "dotted"), None)

    def import_value(self, scope: FileScope, each: Import, wants: str = "any") -> Value | None:
        """What an import brings in; Outside where it is no part of the project."""
        key, known = ("import", scope.row.id, each, wants), self._engine.known
        found: Value | None = known.answer(key, ASKED_FIRST)
        if found is not ASKED_FIRST:
            return found
        value = self._find_import(scope, each, wants)
        if value is not None or not self._engine.is_waiting:
            known.keep(key, value)
        return value

    def _find_import(self, scope: FileScope, each: Import, wants: str) -> Value | None:
        if not each.module:
            return self.top(scope, each.name, wants)
        path = each.module
        if scope.rules.imports == "crate" and path.startswith("super"):
            path = scope.path_from(scope.source.position(each.line, 0), path.split("::"))
        module = self._engine.modules.find(scope.row, path)
        if scope.rules.namespaces and (each.name or each.alias):
            namespace = Namespace(parts(each.module), scope.row.id)
            return self._engine.namespaces.member(namespace, each.name) if each.name else namespace
        if not each.name and scope.rules.closed:
            spelt = parts(each.module)
            return Namespace(spelt, scope.row.id) if len(spelt) == 1 else None
        if not each.name:
            if scope.rules.path_mark and module is None:
                return self._engine.package_paths.value(scope, scope.rules.path_mark + each.module, wants)
            if scope.rules.imports == "dotted" and not each.alias and "." in each.module.lstrip("."):
                module = self._engine.modules.find(scope.row, each.module.split(".")[0])
            if module is None and scope.rules.imports == "crate":
                return self._item(scope, path)
            return self._given_by(module) if module is not None else self._not_found(scope, each)
        if module is None and scope.rules.imports in ("crate", "package"):
            return self._item(scope, path, each.name)
        if module is None:
            return self._not_found(scope, each)
        return self.export(module, each.name, wants) or None

    def _not_found(self, scope: FileScope, each: Import) -> Outside:
        """What an import stands for of which the project has no file: a library's, unless its path begins here."""
        if self._engine.modules.is_own(scope.row, each.module):
            return UNTOLD
        return Outside(is_path=not each.name or each.name[:1].isupper(), name=each.name)

    def _given_by(self, module: ModuleFiles) -> Value:
        """What importing a module gives: itself, or the one thing that its file returns, where that has members."""
        scope = self._engine.scope(module.files[0]) if len(module.files) == 1 else None
        if scope is None:
            return module
        if not scope.returned:
            return self._given_by_other(scope) or module
        return self.top(scope, scope.returned) or module

    def _given_by_other(self, scope: FileScope) -> Value | None:
        """What a file gives that only passes on another: `module.exports = require("./other")`."""
        whole = [each for each in scope.wildcards if each.exported and scope.rules.requires]
        if len(whole) != 1 or "module.exports" not in scope.source.line(whole[0].line):
            return None
        inner = self._engine.modules.find(scope.row, whole[0].module)
        if inner is None or scope.row.id in inner.files:
            return None
        return self._engine.once(("given", inner), lambda: self._given_by(inner))

    def _item(self, scope: FileScope, path: str, name: str = "") -> Value | None:
        """An item of a type that an import names by its path: `use a::Type::Item`."""
        found = self._at_path(scope, path)
        if found is None and self._is_own_path(scope, path):
            return None
        if found is None:
            return self._not_found(scope, Import(path, name, "", 1, exported=False))
        return self.of(found, name) if name else found

    def _at_path(self, scope: FileScope, path: str) -> Value | None:
        """What a path of packages and then types leads to."""
        before, _, last = path.rpartition("::" if scope.rules.imports == "crate" else ".")
        outer = self._engine.modules.find(scope.row, before) if before else None
        if outer is not None:
            return self.export(outer, last)
        holder = self._at_path(scope, before) if before and self._engine.definitions_named(last) else None
        return self.of(holder, last) if isinstance(holder, Definition) else None

    def _is_own_path(self, scope: FileScope, path: str) -> bool:
        """Whether a path begins in the project, so that what is not found in it is not known to be a library's."""
        if scope.rules.imports != "crate":
            return False
        first = path.partition("::")[0]
        return first in ("crate", "self", "super") or self._engine.modules.find(scope.row, first) is not None

    def item_of_type(self, scope: FileScope, each: Import, name: str) -> Value | None:
        """What an import of everything in a type brings in: `use a::Kind::*`."""
        if scope.rules.imports != "crate" or "::" not in each.module:
            return None
        held = self._item(scope, each.module)
        is_type = isinstance(held, Definition) and self._engine.symbol(held).kind in TYPES
        found = self.of(held, name) if is_type and held is not None else None
        return found if isinstance(found, Definition) else None
