"""How often each file changed lately: what people are working on.

Lately is the last thousand commits that are no merges, and no longer than a year before the newest, so that what a
repository did long ago does not count and one that rests still shows its last work. A commit counts once a file. What
was found holds until HEAD moves.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from codecairn.cache import Cache
from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.paths import Guard
from codecairn.source.git import Git
from codecairn.source.git_errors import output_of
from codecairn.text import decode

MOST_COMMITS = 1000
_LONGEST_AGO_S = 365 * 86_400
_MOST_SECONDS = 3.0
"""For reading a thousand commits of a large repository a tenth of a second is enough; a slow disk costs no more."""
_LARGEST_COMMIT = 200
"""Files. A commit of more is a move, a formatting or an import, and says nothing of any one of them."""


@dataclass(frozen=True)
class Churn:
    commits: int = 0
    since: str = ""
    """The day of the oldest commit that was counted."""
    changes: Mapping[str, int] = field(default_factory=dict)
    is_whole: bool = True
    """Whether all were read that are meant."""


_churns: Cache[tuple[Guard, str], Churn] = Cache(
    "git.churn", 4_000_000, lambda churn: 250 * len(churn.changes), lambda key: key[0]
)
"""By project and commit; of each project the commit that was asked about last."""


def recent_churn(git: Git, guard: Guard, cancel: Cancel) -> Churn:
    """Nothing where there is no repository, no commit, or git cannot say."""
    try:
        head = git.head(cancel)
        if head is None:
            return Churn()
        found = _churns.get((guard, head))
        return found if found is not None else _churns.put((guard, head), _count(git, guard, head, cancel))
    except CairnError:
        cancel.check()
        return Churn()


def _count(git: Git, guard: Guard, head: str, cancel: Cancel) -> Churn:
    layout = git.layout(cancel)
    deadline = time.monotonic() + _MOST_SECONDS
    finished = git.run(
        "log", "-z", "--no-color", "--no-show-signature", "--no-merges", "--no-renames", "--name-only",
        "--ignore-submodules=dirty", "--format=tformat:%x00%ct", f"--max-count={MOST_COMMITS}",
        "--no-relative" if layout.whole else "--relative", "--end-of-options", head,
        "--", *([] if layout.whole else ["."]),
        cancel=cancel, enough=lambda _: time.monotonic() > deadline,
    )  # fmt: skip
    return _churn(output_of(finished), guard, is_whole=not finished.stopped_early)


def _churn(output: bytes, guard: Guard, *, is_whole: bool) -> Churn:
    counts, times = Counter[str](), list[int]()
    for moment, names in _commits(output):
        if times and times[0] - moment > _LONGEST_AGO_S:
            break
        times.append(moment)
        if len(names) <= _LARGEST_COMMIT:
            counts.update(name for name in names if not guard.blocks(name))
    since = datetime.fromtimestamp(min(times), UTC).date().isoformat() if times else ""
    return Churn(len(times), since, dict(counts), is_whole)


def _commits(output: bytes) -> list[tuple[int, list[str]]]:
    """Each is printed as NUL, its time, NUL, a line end, and its files with a NUL behind each."""
    commits: list[tuple[int, list[str]]] = []
    tokens = iter(decode(output).split("\0"))
    for token in tokens:
        if token:
            commits[-1][1].append(token.removeprefix("\n"))
        elif (moment := next(tokens, "").strip()).isdigit():
            commits.append((int(moment), []))
    return commits
