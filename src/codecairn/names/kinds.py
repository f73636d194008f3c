"""Kinds of symbols, as callers and tools spell them."""

from __future__ import annotations

SHORT_KINDS = {"function": "fn"}
"""Kinds as the tools about references spell them, where that is not how the others do."""
SPOKEN_KINDS = frozenset({"class", "struct", "interface", "trait", "enum", "function", "method", "module", "type"})
"""Kinds that a question may name."""
