"""Whether long trials run whole, as `make soak` has it, or a tenth of each."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("CAIRN_SOAK"))
PATIENCE = float(os.environ.get("CAIRN_PATIENCE", "1"))
"""How much slower than on a machine of its own a soak beside other work may be."""
ROUNDS = int(os.environ.get("CAIRN_ROUNDS", "200"))
"""How many processes a soak kills: 200 may be had in several runs, each with a chance of its own."""
