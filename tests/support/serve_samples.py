"""`cairn` with the sample tools among its own; run as a script."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from codecairn import tools  # noqa: E402
from codecairn.cli import main  # noqa: E402
from tests.support.samples import SAMPLES  # noqa: E402

SCRIPT = Path(__file__)

if __name__ == "__main__":
    tools._declared.extend(SAMPLES)
    main(prog_name="cairn")
