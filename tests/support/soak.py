"""Whether long trials run whole, as `make soak` has it, or a tenth of each."""

from __future__ import annotations

import os

SOAK = bool(os.environ.get("CAIRN_SOAK"))
