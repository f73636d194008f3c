"""The calls of the last hour, on all nodes, as the audit has them: those that a caller may see.

Everybody sees their own. An administrator also sees those of others about the repositories that the administrator may
read, and, who may read everything, all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from codecairn.journal import CallMinute
from codecairn.team.database import Database
from codecairn.team.tokens import Caller

_EVERYTHING = "**"
_SEEN = (
    "at > now() - interval '1 hour' AND (%s = '' OR repository = %s) "
    "AND (caller = %s OR (%s AND (%s OR repository = ANY(%s))))"
)


class CallRow(NamedTuple):
    at: float
    """Seconds since 1970."""
    tool: str
    token: str
    repository: str
    outcome: str
    ms: float | None
    size: int
    node: str
    door: str | None


class CallScope(NamedTuple):
    """Whose calls, about what; `repository` is the one that they are about, nothing for any."""

    caller: Caller
    readable: list[str]
    repository: str = ""

    @property
    def is_admin(self) -> bool:
        return self.caller.role == "admin"

    @property
    def values(self) -> tuple[Any, ...]:
        sees_all = _EVERYTHING in self.caller.globs
        return self.repository, self.repository, self.caller.id, self.is_admin, sees_all, self.readable


class CallLog:
    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self, scope: CallScope, most: int, *, with_pages: bool) -> list[CallRow]:
        rows = self._database.rows(
            "SELECT extract(epoch from at)::float8, tool, token, repository, outcome, ms, size, node, door FROM audit "  # noqa: S608
            f"WHERE {_SEEN} AND (%s OR door IS DISTINCT FROM 'page') ORDER BY at DESC LIMIT %s",
            *scope.values, with_pages, most,
        )  # fmt: skip
        return [CallRow(*each) for each in rows]

    def minutes(self, scope: CallScope) -> list[CallMinute]:
        """The last hour by the minute, without the calls of pages."""
        rows = self._database.rows(
            "SELECT floor(extract(epoch from at) / 60)::bigint AS minute, count(*), "  # noqa: S608
            "count(*) FILTER (WHERE outcome <> 'ok'), percentile_disc(0.5) WITHIN GROUP (ORDER BY coalesce(ms, 0)), "
            "percentile_disc(0.95) WITHIN GROUP (ORDER BY coalesce(ms, 0)), "
            "percentile_disc(0.5) WITHIN GROUP (ORDER BY size), percentile_disc(0.95) WITHIN GROUP (ORDER BY size) "
            f"FROM audit WHERE {_SEEN} AND door IS DISTINCT FROM 'page' GROUP BY minute ORDER BY minute",
            *scope.values,
        )  # fmt: skip
        return [CallMinute(*each) for each in rows]

    def errors(self, scope: CallScope) -> list[tuple[str, int]]:
        rows = self._database.rows(
            f"SELECT outcome, count(*) FROM audit WHERE {_SEEN} AND outcome <> 'ok' "  # noqa: S608
            "GROUP BY outcome ORDER BY count(*) DESC, outcome LIMIT 20",
            *scope.values,
        )  # fmt: skip
        return [(kind, int(number)) for kind, number in rows]


def hour_of(minutes: Iterable[CallMinute]) -> dict[str, int]:
    listed = list(minutes)
    return {"calls": sum(each.calls for each in listed), "errors": sum(each.errors for each in listed)}
