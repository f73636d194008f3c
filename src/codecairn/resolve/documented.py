"""Types that comments tell, in the languages that have a custom for it: `@return Type`, `@param Type $name`."""

from __future__ import annotations

import re

from codecairn.resolve.scope import FileScope
from codecairn.store.file_version import SymbolRow


def result_type(scope: FileScope, symbol: SymbolRow) -> str:
    """The type of a function's result as it is declared, else as its comment tells it."""
    pattern = scope.compiled.doc_result
    if symbol.returns or pattern is None or not symbol.doc:
        return symbol.returns
    match = pattern.search(symbol.doc)
    return match[1] if match else ""


def variable_type(scope: FileScope, symbol: SymbolRow) -> str:
    """The type that the comment of a variable or a field tells."""
    pattern = scope.compiled.doc_type
    match = pattern.search(symbol.doc) if pattern is not None and symbol.doc else None
    return match[1] if match else ""


def local_type(scope: FileScope, name: str, position: int) -> str:
    """The type that the comment of the function tells of a parameter, or a comment on the line above of a variable."""
    if not scope.rules.doc_parameter:
        return ""
    function = scope.symbol_at(position)
    parameter = scope.rules.doc_parameter.replace("NAME", re.escape(name))
    match = re.search(parameter, function.doc) if function is not None and function.doc else None
    if match is None and scope.compiled.doc_type is not None:
        match = scope.compiled.doc_type.search(scope.source.line(scope.source.line_of(position) - 1))
    return match[1] if match else ""
