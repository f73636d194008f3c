"""Whether long trials run whole, as `make soak` has it, or a tenth of each."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("CAIRN_SOAK"))
PATIENCE = float(os.environ.get("CAIRN_PATIENCE", "1"))
"""How much slower than on a machine of its own a soak beside other work may be."""
