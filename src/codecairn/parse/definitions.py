"""What the definitions query finds, as it finds it: definitions, imports, bindings, docs inside, the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from codecairn.parse.facts import Import
from codecairn.parse.facts_query import Captures, FactsQuery
from codecairn.parse.kinds import DEFINED, LOCAL, TYPES
from codecairn.parse.language import Language
from codecairn.parse.nodes import first_text, name_of, path_and_name, text_of, unquote


@dataclass(slots=True)
class RawDefinition:
    kind: str
    name: str
    start: int
    end: int
    name_start: int
    name_line: int
    node: Any
    body: Any
    """Its node, or None."""
    returns: str
    owner: str
    is_scope: bool = False
    is_dropped: bool = False
    is_static: bool = False
    arity: int = 0
    is_declared: bool = False
    is_prototype: bool = False
    doc: str = ""
    start_line: int = 0
    end_line: int = 0
    above: int = 0
    """The line on which the comment above it begins; 0 where there is none."""

    @property
    def adds_to_type(self) -> bool:
        return self.is_scope and self.body is not None

    @property
    def body_start(self) -> int | None:
        return None if self.body is None else self.body.start_byte


@dataclass(slots=True)
class QueryFacts:
    definitions: list[RawDefinition] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    bindings: dict[int, tuple[int, str, str, int]] = field(default_factory=dict)
    docs: dict[int, str] = field(default_factory=dict)
    package: str = ""
    packages: list[RawDefinition] = field(default_factory=list)
    itself: str = ""


def definitions_in(language: Language, roots: list[Any], source: bytes) -> QueryFacts:
    """What the definitions query tells of trees whose references nobody asks for."""
    query = language.definitions
    return facts_of(query.matches(roots).definitions, query, language, source)


def facts_of(matches: list[tuple[int, Captures]], query: FactsQuery, language: Language, source: bytes) -> QueryFacts:
    """What the matches of a query tell, given in the order of their patterns."""
    found = QueryFacts()
    seen: set[int] = set()
    told = [(*_role(*captures), pattern, captures) for pattern, captures in matches]
    locals_ = _local_variables(told)
    for number, (role, kind, pattern, captures) in enumerate(told):
        if role == "definition":
            if number in locals_:
                seen.update(node.start_byte for node in captures["name"])
            else:
                _take_definition(found, seen, kind, captures, language, source)
        elif role == "binding":
            _take_binding(found, captures, source)
        elif role == "import":
            found.imports += _imports(captures, language, query.settings(pattern), source)
            seen.update(node.start_byte for each in ("imported", "alias") for node in captures.get(each, ()))
        elif role == "documented":
            found.docs[captures["documented"][0].start_byte] = text_of(captures["doc"][0], source)
        elif role == "local":
            found.definitions.append(_nameless_scope("local", captures["local"][0]))
        elif role == "package":
            _take_package(found, captures, language, source)
        elif role == "itself":
            found.itself = text_of(captures["itself"][0], source)
    if len({each.name for each in found.packages}) == 1:
        found.package = found.package or found.packages[0].name
    else:
        found.definitions += found.packages
    return found


_ROLES = ("import", "local", "binding", "documented", "itself")


@cache
def _role(*captures: str) -> tuple[str, str]:
    """What a match with these captures tells, and the kind where that is a definition."""
    if "package" in captures:
        return "package", ""
    for name in captures:
        if name in DEFINED:
            if "name" in captures or name == "scope":
                return "definition", name
            break
    return next((role for role in _ROLES if role in captures), ""), ""


def _local_variables(told: list[tuple[str, str, int, Any]]) -> set[int]:
    """The numbers of those matches that are variables of a function: the most of all, so nothing more is asked of them.

    What a function is around is found from those that are no variables; a variable around another is itself local, or
    has a function or a type in between.
    """
    edges: list[tuple[int, int, int]] = []
    for number, (role, kind, _, captures) in enumerate(told):
        if role in {"definition", "local"}:
            node = captures[kind or "local"][0]
            edges.append((node.start_byte, -node.end_byte, number))
    edges.sort()
    found: set[int] = set()
    stack: list[tuple[int, bool]] = []
    for start, end, number in edges:
        while stack and stack[-1][0] >= -start:
            stack.pop()
        kind = told[number][1]
        if kind in {"var", "const"}:
            if stack and stack[-1][1]:
                found.add(number)
        else:
            stack.append((end, kind in LOCAL or not kind))
    return found


def _take_package(found: QueryFacts, captures: Any, language: Language, source: bytes) -> None:
    name = _path(captures["package"], language, source)
    if "scope" in captures:
        found.packages.append(_nameless_scope("scope", captures["scope"][0], name))
    elif not found.package:
        found.package = name


def _take_definition(
    found: QueryFacts, seen: set[int], kind: str, captures: Any, language: Language, source: bytes
) -> None:
    node = captures[kind][0]
    if "name" not in captures:
        found.definitions.append(_nameless_scope("scope", node))
        return
    parameters = captures.get("parameters")
    told: set[str] = set()  # `const f = memo(function f() {…})` says one name twice
    for name_node in captures["name"]:
        if name_node.start_byte in seen:
            continue
        seen.add(name_node.start_byte)
        prefix, name = path_and_name(name_node, language, source)
        if kind == "scope":
            prefix, name = "", name_of(name_node, source)
        if not name or name in told:  # no name: the parser put in what a broken text leaves out
            continue
        told.add(name)
        found.definitions.append(
            RawDefinition(
                kind=kind, name=name, start=node.start_byte, end=node.end_byte,
                name_start=name_node.start_byte, name_line=name_node.start_point[0] + 1, node=node,
                body=captures["body"][0] if "body" in captures else None,
                returns=first_text(captures, "returns", source) if "returns" in captures else "",
                owner=prefix or (_path(captures["owner"], language, source) if "owner" in captures else ""),
                is_scope=kind == "scope",
                is_static="static" in captures, arity=parameters[0].named_child_count if parameters else 0,
                is_declared="declared" in captures, is_prototype="prototype" in captures,
            )
        )  # fmt: skip


def _path(nodes: Iterable[Any], language: Language, source: bytes) -> str:
    return language.data.separator.join(text_of(node, source) for node in nodes)


def _nameless_scope(kind: str, node: Any, name: str = "") -> RawDefinition:
    return RawDefinition(
        kind=kind, name=name, start=node.start_byte, end=node.end_byte, name_start=-1, name_line=0, node=node,
        body=None, returns="", owner="", is_scope=True,
    )  # fmt: skip


def _imports(captures: Any, language: Language, settings: Mapping[str, str], source: bytes) -> Iterable[Import]:
    parts = (unquote(text_of(node, source)) for node in captures.get("module", ()))
    module = language.data.module.separator.join(parts)
    line = captures["import"][0].start_point[0] + 1
    alias, exported = unquote(first_text(captures, "alias", source)), "exported" in captures
    alias = alias or settings.get("alias", "")
    if "wildcard" in captures:
        yield Import(module, "*", alias, line, exported)
    elif "imported" in captures:
        for node in captures["imported"]:
            prefix, name = path_and_name(node, language, source)
            yield Import(module or prefix, name, alias, line, exported)
    else:
        yield Import(module, settings.get("imported", ""), alias, line, exported)


def _take_binding(found: QueryFacts, captures: Any, source: bytes) -> None:
    told = first_text(captures, "of", source) or first_text(captures, "made", source)
    if not told:
        return
    for node in captures["binding"]:
        binding = (node.start_byte, text_of(node, source), " ".join(told.split()), node.start_point[0] + 1)
        found.bindings.setdefault(node.start_byte, binding)


def without_locals(definitions: list[RawDefinition]) -> list[RawDefinition]:
    """Variables inside functions are no symbols; they are many, and left out before more is asked about them.

    Nor are prototypes there, or of what the file defines.
    """
    kept: list[RawDefinition] = []
    stack: list[RawDefinition] = []
    defined = {(each.name, each.arity) for each in definitions if each.kind == "function" and not each.is_prototype}
    for each in sorted(definitions, key=lambda each: (each.start, -each.end)):
        while stack and stack[-1].end <= each.start:
            stack.pop()
        if (each.kind in ("var", "const") or each.is_prototype) and stack and stack[-1].kind in LOCAL:
            continue
        if each.is_prototype and (each.name, each.arity) in defined and not (stack and stack[-1].kind in TYPES):
            continue
        stack.append(each)
        if each.kind != "local":
            kept.append(each)
    return kept
