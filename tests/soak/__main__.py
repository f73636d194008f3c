"""python -m tests.soak --calls 10000 --repository PATH --seed 7"""

from __future__ import annotations

import argparse
import faulthandler
import random
import signal
import sys
import tempfile
from pathlib import Path

from tests.soak.result import Plan
from tests.soak.summary import summary
from tests.soak.trial import trial_in


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--repository", type=Path, help="take a clone of this instead of a written one")
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--commits", type=int, default=60)
    parser.add_argument("--refs", type=int, default=5)
    parser.add_argument("--per-tool", type=int, default=8)
    parser.add_argument("--patience", type=float, default=120, help="seconds after which a call counts as unanswered")
    parser.add_argument("--place", type=Path, help="a new folder for everything; kept")
    given = parser.parse_args()
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1)
    place = given.place or Path(tempfile.mkdtemp(prefix="soak-"))
    place.mkdir(parents=True, exist_ok=True)
    plan = Plan(
        calls=given.calls, seed=given.seed, files=given.files, commits=given.commits, refs=given.refs,
        per_tool=given.per_tool, repository=given.repository, patience_s=given.patience,
        measure_every=max(1, min(1000, given.calls // 10)),
    )  # fmt: skip
    with trial_in(place, plan) as trial:
        signal.signal(signal.SIGTERM, lambda *_: trial.stop())
        result = trial.run()
    print(summary(result))
    print(f"everything is in {place}")
    return int(bool(result.wrong or result.unanswered or result.deaths or result.faults or result.orphans))


if __name__ == "__main__":
    sys.exit(main())
