"""Expressions, read step by step: what stands before a dot, and what it gives."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from codecairn.parse.facts import Import
from codecairn.parse.kinds import CALLABLE, HOLDERS, TYPES
from codecairn.resolve.brackets import split
from codecairn.resolve.documented import result_type
from codecairn.resolve.expression_steps import given_outside, is_call, made_wrapper
from codecairn.resolve.properties import Properties
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.source import ExpressionStep, Span
from codecairn.resolve.spelt_paths import SpeltPaths
from codecairn.resolve.tuple_parts import part_type
from codecairn.resolve.values import (
    OUTSIDE,
    OUTSIDE_PATH,
    UNTOLD,
    VARIABLES,
    Definition,
    Either,
    Elements,
    FunctionValue,
    Instance,
    Local,
    ModuleFiles,
    Namespace,
    Outside,
    Parent,
    Value,
    either,
)
from codecairn.store.file_version import SymbolRow

_SAME = frozenset({
    "values", "copy", "items", "filter", "slice", "reverse", "reversed", "sort", "concat", "iter", "iter_mut",
    "into_iter", "rev", "skip", "take", "cloned", "copied", "skip_while", "take_while", "stream", "sorted",
    "distinct", "limit", "toList", "asSequence", "Where", "OrderBy", "ToList", "ToArray",
})  # fmt: skip
_ELEMENT = frozenset({"get", "pop", "popleft", "setdefault", "at", "find", "shift", "first", "last", "next"})
"""What containers call the methods that give a container of the same, or one of what they hold."""
_RETURN = re.compile(r"\b(?:return|yield)\b[ \t]+")
_TYPE_NAME = re.compile(r"[A-Z]\w*[a-z]")
_NEW = re.compile(r"\bnew\s+$")
_NARROWED_WITHIN = 1500
"""Bytes after a test of a type in which it is taken to hold."""


class Expressions:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._paths = SpeltPaths(engine)
        self._properties = Properties(engine)

    def evaluate(self, scope: FileScope, steps: list[ExpressionStep], position: int) -> Value | None:
        if not steps:
            return None
        question = ("steps", scope.row.id, *steps)
        return self._engine.once(question, lambda: self._walk(scope, steps, position))

    def _walk(self, scope: FileScope, steps: list[ExpressionStep], position: int) -> Value | None:
        cast = next((at for at, step in enumerate(steps) if step.text in scope.rules.casts and is_call(steps, at)), -1)
        value, begin = self._begin(scope, steps, position, cast)
        for number, step in enumerate(steps[begin:], begin):
            if self.keeps(scope, value, steps, number):
                continue
            if value is None or isinstance(value, Local):
                return value
            extension = self._engine.extension_methods.called(scope, steps, number, value)
            if extension is not None:
                value = extension
            elif isinstance(value, Outside):
                return given_outside(value, steps[number - 1 :], self._names_types(scope, steps[0].start))
            elif isinstance(value, Parent) and step.kind == "call":
                continue
            elif step.text == "this" and isinstance(value, Definition):
                value = Instance(value)
            elif step.kind == "index" and self._is_generic(scope, value):
                continue
            elif step.kind == "name":
                value = self.pointed(scope, value, step.start) or value
                value = self.attribute(value, step.text, is_called=is_call(steps, number))
            else:
                value = self.call_result(value) if step.kind == "call" else self.element(value)
        return value

    def _is_generic(self, scope: FileScope, value: Value) -> bool:
        """Whether an index only tells the arguments of a type: `Shelf[Book]()`."""
        is_type = isinstance(value, Definition) and self._engine.symbol(value).kind in TYPES
        return is_type and scope.rules.scopes == "indent"

    def _begin(
        self, scope: FileScope, steps: list[ExpressionStep], position: int, cast: int
    ) -> tuple[Value | None, int]:
        """What an expression begins with, and how many steps that are."""
        begin = cast + 2 if cast >= 0 else 1
        made = made_wrapper(scope, steps) if cast < 0 else 0
        if made and not self._engine.types.is_own(scope, steps[0].text, position):
            start, end = steps[made].start + 1, steps[made].start + 1 + len(steps[made].text)
            value, begin = self.evaluate(scope, scope.source.steps(scope.source.code, start, end), position), made + 1
        elif cast < 0 and steps[0].text in scope.rules.passes and is_call(steps, 0):
            value, begin = self.evaluate(scope, scope.source.expression(steps[1].start + 1), position), 2
        elif cast < 0 and scope.rules.copies and (copied := self._copy_start(scope, steps)) >= 0:
            value, begin = self.evaluate(scope, scope.source.expression(copied), position), 3
        elif cast < 0 and steps[0].text in scope.rules.requires and is_call(steps, 0):
            value, begin = self._module_of_call(scope, steps[1]), 2
        else:
            value = self._cast_to(scope, steps[cast + 1]) if cast >= 0 else self._first(scope, steps, position)
        if value is None and (scope.rules.flat or scope.rules.imports == "crate"):
            value, begin = self._paths.of_module(scope, steps)
        elif value is None and scope.rules.imports == "package":
            value, begin = self._paths.of_package(scope, steps)
        return value, begin

    def _copy_start(self, scope: FileScope, steps: list[ExpressionStep]) -> int:
        """Where the value begins that a call makes another like: `Object.create(prototype)`; -1 where none does."""
        is_copy = [each.kind for each in steps[:3]] == ["name", "name", "call"]
        if not is_copy or f"{steps[0].text}.{steps[1].text}" not in scope.rules.copies:
            return -1
        return steps[2].start + 1

    def _names_types(self, scope: FileScope, start: int) -> bool:
        """Whether a call of a name in capitals makes a value of that type; where functions have such names only after
        a word that says so."""
        is_made = _NEW.search(scope.source.code, max(0, start - 10), start) is not None
        return is_made or not scope.rules.capital_functions

    def holds_names(self, value: Value | None) -> bool:
        """Whether a path can go through a value: no variable or function has the names that stand behind it."""
        if isinstance(value, Definition):
            return self._engine.symbol(value).kind in HOLDERS
        return isinstance(value, Namespace | ModuleFiles | Outside | Either)

    def keeps(self, scope: FileScope, value: Value | None, steps: list[ExpressionStep], number: int) -> bool:
        """Whether a step leaves a value what it is: the name of what takes it out of a wrapper, and the call of it."""
        if not isinstance(value, Instance) or not scope.rules.keeps:
            return False
        named = steps[number] if steps[number].kind == "name" else steps[number - 1]
        if steps[number].kind not in ("name", "call") or named.text not in scope.rules.keeps:
            return False
        return not isinstance(self._engine.members.of(value, named.text), Definition)

    def _first(self, scope: FileScope, steps: list[ExpressionStep], position: int) -> Value | None:
        first, rules = steps[0], scope.rules
        if first.kind == "literal":
            return OUTSIDE
        if first.kind == "group":
            inner = scope.source.steps(scope.source.code, first.start + 1, first.start + 1 + len(first.text))
            return self.evaluate(scope, inner, position) if inner else self._cast(scope, first, position)
        if first.kind != "name":
            return None
        if rules.literal and scope.source.text.startswith(rules.literal, first.start - len(rules.literal)):
            return OUTSIDE_PATH
        if first.text in rules.selves | rules.classes | rules.supers:
            if rules.closed:
                return self._engine.namespaces.around(scope, first.start)
            mine = self._own(scope, first)
            if mine is not None or first.text in rules.selves | rules.supers:
                return mine
        # A path begins with no variable: `ends::Ends` beside a parameter `ends`.
        is_module = rules.imports == "crate" and scope.source.code.startswith("::", first.start + len(first.text))
        wants = "function" if is_module else "value"
        value, _ = self._engine.names.lookup(scope, first.text, first.start, wants)
        if value is None and rules.splits_types:
            value, _ = self._engine.names.lookup(scope, first.text, first.start, "any")
        is_path = rules.namespaces and scope.compiled.first.match(scope.source.code, first.start)
        if is_path and not self.holds_names(value):
            return Namespace((first.text,), scope.row.id)
        if value is None and self._is_foreign(scope, first.text):
            return Outside(is_path=True, name=first.text)
        return self.read(value) if not is_call(steps, 0) else value

    def _own(self, scope: FileScope, word: ExpressionStep) -> Value | None:
        """What a word for the instance, its type or what that extends stands for."""
        mine, rules = self._engine.names.me(scope, word.start), scope.rules
        if mine is not None:
            if word.text in rules.supers:
                return Parent(mine)
            return mine if word.text in rules.classes else Instance(mine)
        if rules.returned and self._is_of_file(scope, word.start):
            return self._engine.members.top(scope, scope.returned) or ModuleFiles((scope.row.id,))
        return None

    def _is_of_file(self, scope: FileScope, position: int) -> bool:
        """Whether a position is in a method of the table that the file returns, whose members are the file's own."""
        method = scope.symbol_at(position)
        while method is not None and method.kind != "method" and method.parent >= 0:
            method = scope.symbols[method.parent]
        return method is not None and method.kind == "method" and not scope.owner_path(method)

    def _is_foreign(self, scope: FileScope, name: str) -> bool:
        """Whether a name that nothing declares is a library's: known as such, or a type's that the project lacks."""
        if name in scope.rules.libraries:
            return True
        if _TYPE_NAME.match(name) is None or self._engine.definitions_named(name):
            return False
        # A file of its name defines it, though its grammar may not have seen where.
        return f"{name}{posixpath.splitext(scope.row.path)[1]}" not in self._engine.known.namesakes

    def _module_of_call(self, scope: FileScope, call: ExpressionStep) -> Value | None:
        """What a call imports, where its argument is a string."""
        module = scope.source.text[call.start + 1 : call.start + 1 + len(call.text)].strip()
        if module[:1] not in ("'", '"') or module[-1:] != module[0]:
            return None
        return self._engine.members.import_value(scope, Import(module[1:-1], "", "_", 1, exported=False))

    def _cast_to(self, scope: FileScope, call: ExpressionStep) -> Value | None:
        arguments = split(scope.source.text[call.start + 1 : call.start + 1 + len(call.text)], ",")
        return self._engine.types.value(scope, arguments[0], call.start) if arguments else None

    def _cast(self, scope: FileScope, step: ExpressionStep, position: int) -> Value | None:
        match = re.search(r"\bas\s+([\w$.<>\[\]]+)\s*$", step.text)
        return self._engine.types.value(scope, match[1], position) if match else None

    def read(self, value: Value | None) -> Value | None:
        """What using a definition as a value gives: a variable's type, a property's; else itself."""
        if not isinstance(value, Definition):
            return value
        symbol = self._engine.symbol(value)
        if symbol.kind in VARIABLES:
            return self._engine.types.type_of(value)
        return (self.decorator_result(value) or value) if symbol.kind in CALLABLE else value

    def decorator_result(self, definition: Definition) -> Value | None:
        """What the outermost decorator makes of a function, where its result is told; None where there is none."""
        at, scope = self.decorator_position(definition), self._engine.scope(definition.file)
        return self._engine.once(("decorated", definition), lambda: self._decorate(scope, at)) if at else None

    def decorator_position(self, definition: Definition) -> int:
        """Where the expression of a function's outermost decorator begins; 0 where it has none."""
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        start = scope.source.position(symbol.start_line, 0)
        at = start + scope.indent(start)
        is_one = scope.rules.scopes == "indent" and symbol.start_line < symbol.name_line
        return at + 1 if is_one and scope.source.code.startswith("@", at) else 0

    def _decorate(self, scope: FileScope, at: int) -> Value | None:
        steps = scope.source.expression(at)
        is_made = bool(steps) and steps[-1].kind == "call"
        maker = self.evaluate(scope, steps[:-1] if is_made else steps, at)
        if not isinstance(maker, Definition) or self._engine.symbol(maker).kind not in CALLABLE:
            return None
        results = [self.return_value(each, None) for each in self._overloads(maker)]
        if not is_made:
            return either(each for each in results if isinstance(each, Instance))
        return either(self.call_result(each) for each in results if isinstance(each, FunctionValue))

    def _overloads(self, definition: Definition) -> list[Definition]:
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        return [
            Definition(definition.file, each.number)
            for each in scope.symbols_by_name[symbol.name]
            if each.path == symbol.path
        ]

    def attribute(self, value: Value, name: str, *, is_called: bool) -> Value | None:
        if isinstance(value, Either):
            return either(self.attribute(each, name, is_called=is_called) for each in value.values)
        if isinstance(value, Elements):
            if name in _ELEMENT:
                return FunctionValue(value.type, value.file, value.position, value.me)
            if name == "enumerate":
                return replace(value, type=f"(usize, {value.type})")
            return value if name in _SAME else replace(value, is_told=False)
        if isinstance(value, Instance) and name.isdigit():
            told = part_type(self._engine.symbol(value.of).signature, int(name))
            return self._engine.types.value(self._engine.scope(value.of.file), told, self.inside(value.of), value.of)
        found = self._engine.members.of(value, name)
        if not isinstance(found, Definition):
            return self.maker(value, name) if is_called and found is None else found
        if self._engine.scope(found.file).rules.fields_apart:
            found = self._engine.members.namesake(found, is_called=is_called)
        symbol = self._engine.symbol(found)
        if symbol.kind in VARIABLES:
            return self._engine.types.type_of(found, _owner(value))
        if symbol.kind in CALLABLE and not isinstance(value, ModuleFiles) and self._properties.holds(found):
            return self.return_value(found, _owner(value))
        returns = result_type(self._engine.scope(found.file), symbol) if symbol.kind in CALLABLE and is_called else ""
        if returns:
            return FunctionValue(returns, found.file, self.inside(found), _owner(value))
        return found if is_called else self.read(found)

    def pointed(self, scope: FileScope, value: Value | None, position: int) -> Value | None:
        """What a library's generic holds, where the sign before a member leads there: `unique_ptr<Book>`'s `->title`;
        else the value itself."""
        is_told = isinstance(value, Elements) and scope.rules.points
        is_pointed = is_told and scope.source.code.endswith(scope.rules.points, 0, position)
        return self.element(value) if is_pointed else value

    def maker(self, value: Value, name: str) -> FunctionValue | None:
        """A function that a type has without a definition, and that makes a value of it: `Type::default()`."""
        is_type = isinstance(value, Definition) and self._engine.symbol(value).kind in TYPES
        if not isinstance(value, Definition) or not is_type:
            return None
        scope = self._engine.scope(value.file)
        is_maker = name in scope.rules.makers
        return FunctionValue("Self", value.file, self.inside(value), value) if is_maker else None

    def inside(self, definition: Definition) -> int:
        """A position inside a definition, where its own types are looked up."""
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        return scope.source.position(symbol.name_line, 0) if symbol.name_line else 0

    def call_result(self, value: Value | None) -> Value | None:
        if isinstance(value, Either):
            return either(self.call_result(each) for each in value.values)
        if isinstance(value, Elements):
            return value
        if isinstance(value, FunctionValue):
            return self._engine.types.value(self._engine.scope(value.file), value.returns, value.position, value.me)
        if isinstance(value, Instance):
            found = self._engine.members.of(value, "__call__")
            if isinstance(found, Definition):
                return self.return_value(found, value.of)
            # One of the cases of an enumeration that hold values.
            return value if self._engine.symbol(value.of).kind == "enum" else None
        if not isinstance(value, Definition):
            return UNTOLD if isinstance(value, Outside) else None
        symbol = self._engine.symbol(value)
        if symbol.kind in TYPES:
            return Instance(value)
        if symbol.kind in CALLABLE:
            return self.return_value(value, None)
        held = self._engine.types.type_of(value)
        return self.call_result(held) if held != value else None

    def return_value(self, definition: Definition, me: Definition | None) -> Value | None:
        """What a function gives: by its declared result, else by what it returns first that can be told."""
        symbol, scope = self._engine.symbol(definition), self._engine.scope(definition.file)
        if returns := result_type(scope, symbol):
            return self._engine.types.value(scope, returns, self.inside(definition), me)
        return self._engine.once(("returned", definition), lambda: self._first_return(scope, symbol))

    def _first_return(self, scope: FileScope, symbol: SymbolRow) -> Value | None:
        span = scope.span(symbol)
        for match in _RETURN.finditer(scope.source.code, span.start, span.end):
            inner = scope.symbol_at(match.start())
            if inner is None or inner.number != symbol.number:
                continue
            steps = scope.source.expression(match.end())
            value = self.evaluate(scope, steps, match.end())
            if value is None or isinstance(value, Local):
                value = self._mixin_target(scope, steps, span)
            if value is not None and not isinstance(value, Local):
                return value
        return None

    def _mixin_target(self, scope: FileScope, steps: list[ExpressionStep], span: Span) -> Value | None:
        """What the members of others are put into: `mixin(app, prototype)`."""
        if not scope.rules.mixes or len(steps) != 1 or steps[0].kind != "name":
            return None
        call = re.compile(rf"\b(?:{scope.rules.mixes})\(\s*{re.escape(steps[0].text)}\s*,\s*")
        mixed = [match.end() for match in call.finditer(scope.source.code, span.start, span.end)]
        return either(self.evaluate(scope, scope.source.expression(at), at) for at in mixed)

    def element(self, value: Value | None) -> Value | None:
        if isinstance(value, Either):
            return either(self.element(each) for each in value.values)
        if isinstance(value, Elements):
            return self._engine.types.value(self._engine.scope(value.file), value.type, value.position, value.me)
        if isinstance(value, Instance):
            if self._engine.symbol(value.of).kind == "type" and isinstance(
                held := self._engine.types.alias_target(value.of), Elements
            ):
                return self.element(held)
            for name in ("__getitem__", "__iter__"):
                found = self._engine.members.of_type(value.of, name)
                if isinstance(found, Definition):
                    given = self.return_value(found, value.of)
                    return self.element(given) if name == "__iter__" else given
            return None
        return UNTOLD if isinstance(value, Outside) else None

    def narrow(self, scope: FileScope, steps: list[ExpressionStep], position: int) -> Value | None:
        """The type that a test before tells of an expression, in the same function."""
        if not scope.tests or any(step.kind != "name" for step in steps):
            return None
        tests = scope.tests.get(".".join(step.text for step in steps), ())
        near = [(at, name) for at, name in tests if position - _NARROWED_WITHIN < at < position]
        if not near:
            return None
        function = scope.symbol_at(position)
        at, name = near[-1]
        if function is not None and not scope.span(function).holds(at):
            return None
        return self._engine.types.value(scope, name, position)


def _owner(value: Value) -> Definition | None:
    return value.of if isinstance(value, Instance | Parent) else value if isinstance(value, Definition) else None
