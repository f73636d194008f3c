"""Types as they are written in a file: which definition a value of one has its members from."""

from __future__ import annotations

import re

from codecairn.names.qualified import last_part
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.brackets import split
from codecairn.resolve.documented import variable_type
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.spelt_paths import SpeltPaths
from codecairn.resolve.values import (
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
    Shape,
    TupleValue,
    Value,
    either,
)
from codecairn.store.file_version import SymbolRow

_READY = Outside | Instance | Elements | Shape | Either | ModuleFiles | TupleValue
_NOTHING = frozenset({"None", "null", "undefined", "void", "never", "unknown", "any", "nil", ""})
_BEFORE_A_TYPE = re.compile(r"^(?:(?:'\w+|readonly|const|mut|dyn|impl|keyof|final|unique)\s+)+")
_PAIR = 2
_ITEM = re.compile(r"^Item\s*=\s*")
_OWN = frozenset({"Self", "this", "$this", "self", "t.Self", "te.Self", "typing.Self", "static"})


class Types:
    def __init__(self, engine: Questions) -> None:
        self._engine = engine
        self._paths = SpeltPaths(engine)

    def type_of(self, definition: Definition, me: Definition | None = None) -> Value | None:
        """What a variable or a field holds."""
        return self._engine.once_a_generation(("typed", definition, me), lambda: self._find_type(definition, me))

    def _find_type(self, definition: Definition, me: Definition | None) -> Value | None:
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        owner = scope.symbols[symbol.parent] if symbol.parent >= 0 else None
        if owner is not None and owner.kind == "enum" and symbol.kind == "const":
            return Instance(Definition(definition.file, owner.number))
        lines = {symbol.name_line} if owner is None else range(owner.start_line, owner.end_line + 1)
        bindings = [each for each in scope.bindings.get(symbol.name, ()) if each.line in lines]
        for each in sorted(bindings, key=lambda each: each.line != symbol.name_line):
            at = scope.source.position(each.line, 0)
            if (
                owner is not None
                and each.line != symbol.name_line
                and not self._is_member_line(scope, each.line, symbol)
            ):
                continue
            value = self.value(scope, each.type, at + 1, me)
            if value is not None:
                return value
        if (told := variable_type(scope, symbol)) and (value := self._documented(scope, told, symbol, me)) is not None:
            return value
        given = self._engine.names.assigned_value(scope, symbol.name, scope.name_at(symbol))
        if (given is None or isinstance(given, Local)) and symbol.kind in ("const", "var"):
            return definition
        return given

    def _documented(self, scope: FileScope, told: str, symbol: SymbolRow, me: Definition | None) -> Value | None:
        return self.value(scope, told, scope.source.position(symbol.name_line, 0) + 1, me)

    def _is_member_line(self, scope: FileScope, line: int, symbol: SymbolRow) -> bool:
        text = scope.source.line(line)
        owned = (f"{me}{joint}{symbol.name}" for me in scope.rules.selves for joint in scope.rules.separators)
        return any(each in text for each in owned) or text.strip().startswith(symbol.name)

    def value(self, scope: FileScope, text: str, position: int, me: Definition | None = None) -> Value | None:
        """What a value of a type, as it is written in a file, is."""
        question = ("type", scope.row.id, text, position, me)
        return self._engine.once(question, lambda: self._any_of(scope, text.strip().strip("\"'"), position, me))

    def _any_of(self, scope: FileScope, text: str, position: int, me: Definition | None) -> Value | None:
        if "|" in text:
            return either(self._one_type(scope, each, position, me) for each in split(text, "|"))
        foreign: Value | None = None
        for each in _intersection(text):
            value = self._one_type(scope, each, position, me)
            if value is not None and not isinstance(value, Outside):
                return value
            foreign = foreign or value
        return foreign

    def _one_type(self, scope: FileScope, text: str, position: int, me: Definition | None) -> Value | None:
        text = text.strip().strip("\"'").lstrip("*&?").strip()
        text = _BEFORE_A_TYPE.sub("", text)
        if text in _NOTHING or last_part(text) == "Any":
            return None
        if text == scope.rules.itself or text in _OWN:
            return self._own_type(scope, text, position, me)
        if (several := self._several(scope, text, position, me)) is not None:
            return several
        if text.startswith("(") and "=>" not in text:
            inner = _arguments(text[1:].rpartition(")")[0])
            return self._one_type(scope, inner[0].split(" ")[-1], position, me) if inner else None
        if text.startswith(("(", "func(")):
            returns = text.rpartition("=>")[2] if "=>" in text else text.rpartition(")")[2]
            return FunctionValue(returns, scope.row.id, position, me)
        if text.startswith("{"):
            return Shape(text[1:], scope.row.id, position, me)
        if text.startswith("typeof "):
            return self._type_by_name(scope, text[7:].strip(), position, me, as_value=True)
        base, arguments = _generic(text)
        last = last_part(base)
        if arguments and last in scope.rules.wrappers and not self.is_own(scope, last, position):
            return self.value(scope, arguments[0], position, me)
        if arguments and last in ("type", "Type"):
            value = self.value(scope, arguments[0], position, me)
            return value.of if isinstance(value, Instance) else value
        if arguments and last == "Callable":
            return FunctionValue(arguments[-1], scope.row.id, position, me)
        value = self._type_by_name(scope, base, position, me)
        value = value or (self._library_type(scope, last) if "(" not in base else None)
        if arguments and isinstance(value, Outside):
            return Elements(_held(scope, last, arguments), scope.row.id, position, me, value.is_told)
        return value

    def is_own(self, scope: FileScope, name: str, position: int) -> bool:
        """Whether a name that a library's type has may be a type of the project here."""
        if not any(each.kind in TYPES - {"type"} for _, each in self._engine.definitions_named(name)):
            return False
        found, _ = self._engine.names.lookup(scope, name, position, "type")
        is_type = isinstance(found, Definition) and self._engine.symbol(found).kind in TYPES - {"type"}
        return is_type or found == UNTOLD or isinstance(found, Either)

    def _several(
        self, scope: FileScope, text: str, position: int, me: Definition | None
    ) -> TupleValue | Elements | None:  # fmt: skip
        """A value that holds others, in places of their own or as a container does."""
        if (parts := _tuple_parts(text)) is not None:
            return TupleValue(parts, scope.row.id, position, me)
        if (elements := _elements(text, scope.rules.values)) is not None:
            return Elements(elements, scope.row.id, position, me, key=_key(text))
        inner = _arguments(text[1:].rpartition(")")[0]) if scope.rules.tuples and text.startswith("(") else []
        return TupleValue(tuple(inner), scope.row.id, position, me) if len(inner) > 1 else None

    def _library_type(self, scope: FileScope, name: str) -> Value | None:
        """A type that the project does not define, by its name: what is called on it may be an extension."""
        is_foreign = scope.rules.extended and name.isidentifier() and not self._engine.definitions_named(name)
        return Outside(is_told=False, name=name) if is_foreign else None

    def _own_type(self, scope: FileScope, text: str, position: int, me: Definition | None) -> Value | None:
        if text == scope.rules.itself:
            around = scope.symbol_at(position, TYPES - {"type"})
            return Instance(Definition(scope.row.id, around.number)) if around else ModuleFiles((scope.row.id,))
        mine = me or self._engine.names.me(scope, position)
        return Instance(mine) if mine else None

    def _type_by_name(
        self, scope: FileScope, base: str, position: int, me: Definition | None, *, as_value: bool = False
    ) -> Value | None:
        steps = scope.source.steps(base, 0, len(base))
        if not steps or any(step.kind not in ("name", "call") for step in steps):
            return None
        first, begin = steps[0].text, 1
        given = self._argument(scope, first, position, me) if len(steps) == 1 and me is not None else None
        if given is not None:
            return given
        is_path = len(steps) > 1 and scope.rules.imports == "crate"
        wants = "function" if is_path else "value" if as_value or len(steps) > 1 else "type"
        value = self._beginning(scope, first, position, me, wants)
        if scope.rules.namespaces and len(steps) > 1 and not self._engine.expressions.holds_names(value):
            value = Namespace((first,), scope.row.id)  # no variable or function of the name is meant
        if value is None and scope.rules.imports == "crate" and len(steps) > 1:
            value, begin = self._paths.of_crate(scope, [step.text for step in steps[:-1]], position)
        for number, step in enumerate(steps[begin:], begin):
            if value is None or isinstance(value, Local):
                return None
            if self._engine.expressions.keeps(scope, value, steps, number):
                continue
            if isinstance(value, Outside) and not scope.rules.extended:
                break
            if isinstance(value, Parent) and step.kind == "call":
                continue
            is_last = step is steps[-1]
            value = (
                self._engine.expressions.call_result(value)
                if step.kind == "call"
                else self._step_into(scope, value, step.text, is_last, as_value)
            )
        if isinstance(value, Outside):
            name, is_plain = steps[-1].text, scope.rules.namespaces and not scope.rules.closed
            return Outside(name=name) if (is_plain or name[:1].isupper()) and value.is_told else UNTOLD
        return self._instance(value) if not as_value else self._engine.expressions.read(value)

    def _beginning(
        self, scope: FileScope, first: str, position: int, me: Definition | None, wants: str
    ) -> Value | None:  # fmt: skip
        """What the first part of a type's path stands for."""
        if first in scope.rules.selves | scope.rules.classes | scope.rules.supers:
            mine = me or self._engine.names.me(scope, position)
            if mine is None or first in scope.rules.classes:
                return mine
            return Parent(mine) if first in scope.rules.supers else Instance(mine)
        value, _ = self._engine.names.lookup(scope, first, position, wants)
        if value is None and scope.rules.splits_types:
            value, _ = self._engine.names.lookup(scope, first, position, "any")
        return value

    def _argument(self, scope: FileScope, name: str, position: int, me: Definition) -> Value | None:
        """What a type below gives for a type parameter of the type whose member is read."""
        around = scope.symbol_at(position, TYPES)
        owner = Definition(scope.row.id, around.number) if around else None
        if owner is None or owner == me or name not in self._parameters(owner):
            return None
        found = self._argument_above(me, owner, self._parameters(owner).index(name), frozenset())
        return (
            self.value(self._engine.scope(found[0].file), found[1], self._engine.expressions.inside(found[0]), me)
            if found
            else None
        )

    def _parameters(self, definition: Definition) -> list[str]:
        """The names of a type's parameters."""
        symbol = self._engine.symbol(definition)
        match = re.search(rf"{re.escape(symbol.name)}\s*<", symbol.signature)
        if match is None:
            return []
        inside, depth = match.end(), 1
        for at in range(inside, len(symbol.signature)):
            depth += {"<": 1, ">": -1 if symbol.signature[at - 1] != "=" else 0}.get(symbol.signature[at], 0)
            if not depth:
                parts = _arguments(symbol.signature[inside:at])
                return [re.sub(r"^(?:const|in|out)\s+", "", part).split()[0].rstrip("=:") for part in parts]
        return []

    def _argument_above(
        self, below: Definition, above: Definition, number: int, seen: frozenset[Definition]
    ) -> tuple[Definition, str] | None:
        """The argument that a type gives a type above it, and the type in whose text it stands."""
        scope, symbol = self._engine.scope(below.file), self._engine.symbol(below)
        for site in scope.supertypes.get(symbol.number, ()) if below not in seen else ():
            extended = self._engine.meaning(scope, site).definition
            if extended is None:
                continue
            at = scope.source.position(site.line, site.column) + len(site.name)
            found = (
                (extended, "") if extended == above else self._argument_above(extended, above, number, seen | {below})
            )
            if found is None:
                continue
            arguments = scope.source.arguments(at)
            if extended == above:
                return (below, arguments[number]) if number < len(arguments) else None
            parameters = self._parameters(extended)
            if found[0] == extended and found[1] in parameters and parameters.index(found[1]) < len(arguments):
                return below, arguments[parameters.index(found[1])]
            return found
        return None

    def _step_into(self, scope: FileScope, value: Value, name: str, is_last: bool, as_value: bool) -> Value | None:
        if isinstance(value, Definition) and self._engine.symbol(value).kind in VARIABLES:
            value = self.type_of(value) or value
        if isinstance(value, Outside) and scope.rules.extended:
            extension = self._engine.extension_methods.meant(scope, name, value)
            return extension[0] if extension is not None else Outside(value.is_told)
        if isinstance(value, Elements | Instance):
            return self._engine.expressions.attribute(value, name, is_called=False)
        return (
            self._engine.members.of(value, name, "type" if is_last and not as_value else "any")
            or self._engine.members.of(value, name)
            or self._engine.expressions.maker(value, name)
        )

    def _instance(self, value: Value | None) -> Value | None:
        """A value of a named type, or what a called function gives."""
        if not isinstance(value, Definition):
            if isinstance(value, FunctionValue):
                return self._engine.expressions.call_result(value)
            if isinstance(value, ModuleFiles) and value.files and self._engine.scope(value.files[0]).rules.copies:
                return None  # the file gives a function without a name
            return value if isinstance(value, _READY) else None
        symbol = self._engine.symbol(value)
        if symbol.kind == "type":
            is_own = self._engine.scope(value.file).rules.own_types
            return Instance(value) if is_own else self.alias_target(value) or Instance(value)
        if symbol.kind in TYPES:
            return Instance(value)
        if symbol.kind in CALLABLE:
            return self._engine.expressions.return_value(value, None)
        return self.type_of(value)

    def alias_target(self, definition: Definition) -> Value | None:
        """What a type alias stands for, where that is a named type."""
        scope, symbol = self._engine.scope(definition.file), self._engine.symbol(definition)
        _, is_given, text = symbol.signature.partition("=")
        if scope.rules.own_types and not is_given:
            is_given, text = "=", symbol.signature.partition(symbol.name)[2]
        text = text.strip()
        if not is_given or text.startswith("{") or not text:
            return None
        if (bound := re.search(r"\bbound\s*=\s*([^,)]+)", symbol.signature)) is not None:
            return self.value(scope, bound[1], self._engine.expressions.inside(definition))
        return self.value(scope, text, self._engine.expressions.inside(definition))


def _held(scope: FileScope, name: str, arguments: list[str]) -> str:
    """What a library's generic holds: its last argument; where pointers are generics, too, its first, as what follows
    tells how it is kept, or the second of a map."""
    if not scope.rules.points:
        return arguments[-1]
    return arguments[1] if name.endswith("map") and len(arguments) > 1 else arguments[0]


def _intersection(text: str) -> list[str]:
    if " + " in text:
        return split(text, "+")
    return split(text, "&") if "&" in text and not text.startswith("&") else [text]


def _arguments(text: str) -> list[str]:
    return split(text, ",")


def _generic(text: str) -> tuple[str, list[str]]:
    match = re.match(r"([\w$.:\\]+(?:\(\))?)\s*[<\[](.*)[>\]]$", text, re.DOTALL)
    return (match[1], [each for each in _arguments(match[2]) if not each.startswith("'")]) if match else (text, [])


def _key(text: str) -> str:
    """What the keys of a container type are, as it is written: of `dict[str, Book]` the first."""
    if (keys := re.match(r"map\[([^\]]+)\]", text)) is not None:
        return keys[1]
    arguments = _generic(text)[1]
    return arguments[0] if len(arguments) == _PAIR else ""


def _tuple_parts(text: str) -> tuple[str, ...] | None:
    """The types of the parts, where a tuple has a type for each: `tuple[int, str]`."""
    base, arguments = _generic(text)
    is_tuple = last_part(base) in ("tuple", "Tuple") and len(arguments) > 1
    return tuple(arguments) if is_tuple and arguments[-1] != "..." else None


def _elements(text: str, containers: frozenset[str]) -> str | None:
    """What a container type, as it is written, holds."""
    if text.endswith("[]"):
        return text[:-2].strip("()")
    if (slice_ := re.fullmatch(r"\[([^\[\];]+)(?:;[^\]]*)?\]", text)) is not None:
        return slice_[1]
    if (prefix := re.match(r"(?:\[\w*\]|map\[[^\]]+\]|\.\.\.|(?:<-)?chan\s)", text)) is not None:
        return text[prefix.end() :]
    base, arguments = _generic(text)
    if not arguments or last_part(base) not in containers:
        return None
    held = next((each for each in reversed(arguments) if each not in ("...", "None")), None)
    return _ITEM.sub("", held) if held is not None else None
