"""The extraction engine: one parse, one pass of a query for definitions and references, then sorting.

Nesting comes from byte ranges, so definitions and sites are swept together in the order of the text. Parents, kinds
(a function inside a type is a method) and qualified paths follow from nesting; variables inside functions are no
symbols. Nothing here knows any language.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from codecairn.parse.chunks import ChunkExtent, chunks_of, extents_of
from codecairn.parse.deadline import Deadline
from codecairn.parse.definitions import RawDefinition, definitions_in, facts_of, without_locals
from codecairn.parse.extents import join_clauses, settle_extents
from codecairn.parse.facts import FileFacts, Import, Symbol, TypeBinding
from codecairn.parse.kinds import HOLDERS
from codecairn.parse.language import Language
from codecairn.parse.lines import SourceLines
from codecairn.parse.nodes import Errors, errors_in
from codecairn.parse.reference_sites import Enclosing, sites_of
from codecairn.parse.symbols import symbols_of


def extract(language: Language, source: bytes, *, seconds: float | None = None) -> FileFacts:
    """The facts of one file; `SlowParse` where that takes more processor time than is given."""
    deadline = Deadline(seconds)
    text = SourceLines(source)
    roots = _roots(language, source, deadline)
    matches = language.facts.matches(roots)
    found = facts_of(matches.definitions, language.facts, language, source)
    deadline.check()
    found.definitions = without_locals(found.definitions)
    definitions = join_clauses(settle_extents(found, language, source, deadline), language)
    symbols, above, positions = symbols_of(definitions, language, source, deadline)
    names = {each.name_start for each in found.definitions if not each.is_dropped and not each.adds_to_type}
    sites = sites_of(language, matches.uses, text, names, Enclosing(symbols, positions, definitions))
    bindings = [
        TypeBinding(name, type_, line, positions.around(start))
        for start, name, type_, line in sorted(found.bindings.values())
    ]
    errors = errors_in(roots[0])
    return FileFacts(
        language=language.data.name, package=found.package, symbols=symbols, sites=sites,
        imports=_in_order(found.imports), bindings=bindings,
        chunks=chunks_of(extents_of(symbols, above) + _blocks(definitions, symbols), text), lines=text.count,
        error_nodes=errors.stretches, error_line=errors.line, error_share=errors.share,
    )  # fmt: skip


class Imports(NamedTuple):
    """What a file imports, and where it could not be read."""

    package: str
    names: list[Import]
    errors: Errors


def imports_in(language: Language, source: bytes, *, seconds: float | None = None) -> Imports:
    """The imports of one file alone: half of what all its facts cost."""
    roots = _roots(language, source, Deadline(seconds))
    found = definitions_in(language, roots, source)
    return Imports(found.package, _in_order(found.imports), errors_in(roots[0]))


def _in_order(imports: Iterable[Import]) -> list[Import]:
    return sorted(set(imports), key=lambda each: (each.line, each.module, each.name, each.alias, each.exported))


def _blocks(definitions: list[RawDefinition], symbols: list[Symbol]) -> list[ChunkExtent]:
    """Blocks that add to a type from outside it are read as part of it."""
    types = {each.path: number for number, each in enumerate(symbols) if each.kind in HOLDERS}
    return [
        ChunkExtent(each.start_line, each.end_line, types.get(each.name, -1), each.above or each.start_line, "scope")
        for each in definitions
        if each.adds_to_type
    ]


def _roots(language: Language, source: bytes, deadline: Deadline) -> list[Any]:
    """The file's tree, then one for each stretch embedded in it that reads without error as code of its own."""
    from tree_sitter import QueryCursor  # noqa: PLC0415

    roots = [deadline.parse(language.parser(), language.readable(source))]
    if language.embedded_query is not None:
        for root in roots:
            for node in QueryCursor(language.embedded_query).captures(root).get("embedded", ()):
                inner = deadline.parse(language.parser_within(node), source)
                if not inner.has_error:
                    roots.append(inner)
    return roots
