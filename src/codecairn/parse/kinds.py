"""Kinds of definitions, by what follows from them."""

from __future__ import annotations

KINDS = frozenset(
    {"function", "method", "class", "struct", "interface", "trait", "enum", "type", "const", "var", "field", "module"}
)
TYPES = frozenset({"class", "struct", "interface", "trait", "enum", "type"})
HOLDERS = TYPES | {"module"}
CALLABLE = frozenset({"function", "method"})
LOCAL = CALLABLE | {"local"}
DEFINED = KINDS | {"scope"}
