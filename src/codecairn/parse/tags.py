"""The extraction engine: one parse, one pass of the definitions query, one of the references query, then sorting.

Nesting comes from byte ranges, so definitions and sites are swept together in the order of the text. Parents, kinds
(a function inside a type is a method) and qualified paths follow from nesting; variables inside functions are no
symbols. Nothing here knows any language.
"""

from __future__ import annotations

from typing import Any

from codecairn.parse.chunks import chunks_of
from codecairn.parse.definitions import matches_in, without_locals
from codecairn.parse.extents import settled, with_clauses_joined
from codecairn.parse.facts import Binding, FileFacts
from codecairn.parse.language import Language
from codecairn.parse.nodes import errors_in
from codecairn.parse.sites import Enclosing, sites_of
from codecairn.parse.symbols import symbols_of


def extract(language: Language, source: bytes) -> FileFacts:
    roots = _roots(language, source)
    found = matches_in(language, roots, source)
    found.definitions = without_locals(found.definitions)
    definitions = with_clauses_joined(settled(found, language, source), language)
    symbols, positions = symbols_of(definitions, language, source)
    names = {each.name_start for each in found.definitions if not each.is_dropped and not each.adds_to_type}
    sites = sites_of(language, roots, source, names, Enclosing(symbols, positions, definitions))
    lines = source.count(b"\n") + (not source.endswith(b"\n") and bool(source))
    bindings = [
        Binding(name, type_, line, positions.around(start))
        for start, name, type_, line in sorted(found.bindings.values())
    ]
    return FileFacts(
        language=language.data.name, package=found.package, symbols=symbols, sites=sites,
        imports=sorted(set(found.imports), key=lambda each: (each.line, each.module, each.name)), bindings=bindings,
        chunks=chunks_of(symbols, lines), lines=lines, error_nodes=errors_in(roots[0]),
    )  # fmt: skip


def _roots(language: Language, source: bytes) -> list[Any]:
    """The file's tree, then one for each stretch embedded in it that reads without error as code of its own."""
    from tree_sitter import QueryCursor  # noqa: PLC0415

    roots = [language.parser.parse(language.readable(source)).root_node]
    if language.embedded is not None:
        for root in roots:
            nodes = QueryCursor(language.embedded).captures(root).get("embedded", ())
            inner = [language.parse_within(source, node) for node in nodes]
            roots += [each for each in inner if not each.has_error]
    return roots
