"""`cairn` with the sample tools among its own; run as a script."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from codecairn import tools
from codecairn.cli import main
from tests.support.samples import SAMPLES

SCRIPT = Path(__file__)

if __name__ == "__main__":
    tools._declared.extend(SAMPLES)
    main(prog_name="cairn")
