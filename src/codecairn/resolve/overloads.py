"""Which of several functions of one name in one place a call means, as far as its arguments tell.

An overload that takes another number of arguments is not meant, nor one with a primitive type where a literal of
another kind stands; one that asks for just the types that are written of the arguments goes before the others. Where
that leaves several, or none, nothing is told: they are then taken together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from codecairn.parse.facts import Site
from codecairn.resolve.brackets import split
from codecairn.resolve.engine import Engine
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition
from codecairn.store.file_version import SymbolRow

_LITERALS = (
    ("text", re.compile(r'@?\$?"')),
    ("character", re.compile(r"'")),
    ("number", re.compile(r"[-+]?\.?\d")),
    ("truth", re.compile(r"(?:true|false)$")),
)
_PRIMITIVES = {
    "text": frozenset({"String", "string", "str"}),
    "character": frozenset({"char", "Char", "Character"}),
    "number": frozenset({
        "byte", "short", "int", "long", "float", "double", "decimal", "uint", "ulong", "Byte", "Short", "Int", "Long",
        "Float", "Double", "Integer",
    }),
    "truth": frozenset({"boolean", "bool", "Boolean", "Bool"}),
}  # fmt: skip
_WIDENED = {"character": _PRIMITIVES["number"]}
"""A character is a number where one is wanted."""
_TYPES = (
    ("String", re.compile(r'"[^"]*"')),
    ("char", re.compile(r"'(?:\\.|[^'])+'")),
    ("long", re.compile(r"\d+[lL]")),
    ("double", re.compile(r"\d*\.\d+[dD]?|\d+[dD]")),
    ("float", re.compile(r"\d*\.?\d+[fF]")),
    ("int", re.compile(r"\d+")),
    ("boolean", re.compile(r"true|false")),
)
"""The types of literals, the first that fits."""
_SPELT = {"string": "String", "bool": "boolean", "Int": "int", "Long": "long", "Double": "double", "Float": "float",
          "Char": "char"}  # fmt: skip
_CAST = re.compile(r"\(\s*([A-Za-z][\w.<>\[\]]*)\s*\)\s*[\w(\"\']")
_MADE = re.compile(r"new\s+([A-Za-z]\w*)\s*((?:\[[^\]]*\]\s*)*)")
_VARIADIC = re.compile(r"\.\.\.|\bparams\s|\bvararg\s")
_EXTENDED = re.compile(r"\s*this\s")
_ANNOTATION = re.compile(r"@\w+(?:\([^)]*\))?\s*|\b(?:final|ref|out|in|const|noinline|crossinline)\s+")


@dataclass(frozen=True)
class Parameter:
    type: str
    is_variadic: bool
    is_optional: bool


class Overloads:
    """The functions of one name that stand together with one, and which of them a call may mean."""

    def __init__(self, engine: Engine, target: Definition) -> None:
        scope, symbol = engine.scope(target.file), engine.symbol(target)
        alike = [
            each for each in scope.symbols_by_name[symbol.name]
            if (each.path, each.kind) == (symbol.path, symbol.kind) and scope.rules.overloads
        ]  # fmt: skip
        self._engine = engine
        self._target = symbol.number
        self._parameters = {each.number: _parameters(scope, each) for each in alike} if len(alike) > 1 else {}

    def __bool__(self) -> bool:
        return bool(self._parameters)

    def excludes(self, file: int, site: Site) -> bool:
        """Whether a call means another of the overloads than the one that was asked for."""
        arguments = _arguments(self._engine.scope(file), site)
        if arguments is None or not self._parameters:
            return False
        fitting = {number: each for number, each in self._parameters.items() if _takes(each, arguments)}
        types = [_written_type(self._engine.scope(file), site, each) for each in arguments]
        exact = {number for number, each in fitting.items() if any(types) and _is_exact(each, types)}
        return bool(fitting) and self._target not in (exact or fitting)


def _arguments(scope: FileScope, site: Site) -> list[str] | None:
    """The arguments of a call as they are written; None where it is none, or passes a block besides."""
    code, at = scope.source.code, scope.source.position(site.line, site.column) + len(site.name)
    if code[at : at + 1] == "<":
        at = scope.source.after_angle(at)
    if code[at : at + 1] != "(":
        return None
    closing = scope.source.closing(at)
    behind = code[closing + 1 : closing + 20].lstrip(" ")
    is_block = behind.startswith("{") and scope.rules.trailing_blocks
    given = split(scope.source.text[at + 1 : closing], ",")
    return [*given, "{}"] if is_block else given


def _parameters(scope: FileScope, symbol: SymbolRow) -> list[Parameter]:
    start = scope.name_at(symbol) + len(symbol.name)
    opening = scope.source.code.find("(", start)
    if opening < 0:
        return []
    written = split(scope.source.code[opening + 1 : scope.source.closing(opening)], ",")
    return [_parameter(each) for each in written if not _EXTENDED.match(each)]


def _parameter(text: str) -> Parameter:
    declared, is_given, _ = _ANNOTATION.sub("", text).partition("=")
    declared = declared.strip()
    name, is_named, type_ = declared.partition(":")
    if not is_named:
        type_ = declared.rpartition(" ")[0] if " " in declared else name
    return Parameter(type_.strip().rstrip("?"), _VARIADIC.search(text) is not None, bool(is_given))


def _takes(parameters: list[Parameter], arguments: list[str]) -> bool:
    is_variadic = any(each.is_variadic for each in parameters)
    least = sum(not (each.is_variadic or each.is_optional) for each in parameters)
    if len(arguments) < least or (len(arguments) > len(parameters) and not is_variadic):
        return False
    return is_variadic or all(_fits(each.type, given) for each, given in zip(parameters, arguments, strict=False))


def _is_exact(parameters: list[Parameter], types: list[str]) -> bool:
    """Whether each argument whose type is written has just the type that is asked for."""
    if any(each.is_variadic for each in parameters):
        return False
    asked = [_plain(each.type) for each in parameters]
    return all(not given or given == type_ for given, type_ in zip(types, asked, strict=False))


def _written_type(scope: FileScope, site: Site, argument: str) -> str:
    """The type of an argument, where it is written: in a cast, behind `new`, or where a variable is declared."""
    if (cast := _CAST.match(argument)) is not None:
        return _plain(cast[1])
    if (made := _MADE.match(argument)) is not None:
        return made[1] + "[]" * made[2].count("[")
    if (literal := next((name for name, pattern in _TYPES if pattern.fullmatch(argument)), "")) != "":
        return literal
    if not argument.isidentifier():
        return ""
    around = {site.symbol, -1, scope.symbols[site.symbol].parent if site.symbol >= 0 else -1}
    told = [each for each in scope.bindings.get(argument, ()) if each.line <= site.line and each.symbol in around]
    return _plain(max(told, key=lambda each: each.line).type) if told else ""


def _plain(type_: str) -> str:
    bare = re.sub(r"<.*>|\s", "", type_).rpartition(".")[2]
    return _SPELT.get(bare, bare)


def _fits(type_: str, argument: str) -> bool:
    kind = next((kind for kind, pattern in _LITERALS if pattern.match(argument)), "")
    if not kind or type_ in _PRIMITIVES[kind] | _WIDENED.get(kind, frozenset()):
        return True
    return not any(type_ in names for names in _PRIMITIVES.values())
