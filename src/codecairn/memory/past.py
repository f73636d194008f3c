"""Earlier sessions as results of a search: the files they opened, the questions they asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from codecairn.memory.recall import RIGHT_ANSWER, Weighed, counted
from codecairn.memory.sessions import topics
from codecairn.paths import module_name
from codecairn.store.sessions import SessionRow
from codecairn.words import analysed

_WORTH = 0.5
"""Of what a discovery with the same words would come to: where somebody looked is less than what somebody learnt."""
_LEAST = 0.02
_MOST_FILES, _MOST_QUERIES = 8, 4


class Past(NamedTuple):
    row: SessionRow
    relevance: float
    module: str | None
    summary: str


def pasts(rows: Iterable[SessionRow], weighed: Weighed, project: str) -> Iterator[Past]:
    """The sessions that had to do with a query; one that opened no file has nothing to show."""
    for row in rows:
        if not row.files:
            continue
        counts, length = counted(analysed(" ".join((*row.files, *row.queries))))
        relevance = _WORTH * RIGHT_ANSWER * min(1.0, weighed.share(counts, length))
        if relevance >= _LEAST:
            yield Past(row, relevance, _module(row, project), summary(row))


def _module(row: SessionRow, project: str) -> str | None:
    times: Counter[str] = Counter()
    for path, count in row.files.items():
        times[module_name(path, project)] += count
    return max(sorted(times), key=times.__getitem__) if times else None


def summary(row: SessionRow) -> str:
    """Topics, files and questions of a session, in a few lines."""
    latest = list(reversed(row.files.items()))
    files = ", ".join(f"{path} ×{times}" if times > 1 else path for path, times in latest[:_MOST_FILES])
    more = f" and {len(latest) - _MOST_FILES} more" if len(latest) > _MOST_FILES else ""
    lines = [f"Topics: {', '.join(topics(row))}", f"Opened: {files}{more}"]
    asked = list(dict.fromkeys(reversed(row.queries)))[:_MOST_QUERIES]
    return "\n".join([*lines, *([f"Asked: {'; '.join(asked)}"] if asked else [])])
