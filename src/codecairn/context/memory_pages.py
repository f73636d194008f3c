"""The Markdown of what was remembered and done: discoveries and sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codecairn.clock import to_the_minute
from codecairn.context.markdown import code, count_of, page, section
from codecairn.memory.access_boosts import ago
from codecairn.memory.drift_check import Verdict
from codecairn.store.discoveries import DiscoveryRow
from codecairn.store.sessions import SessionRow
from codecairn.text import one_line

_MOST_DISCOVERIES = 8
MOST_SESSIONS = 10
_LONGEST = 300
_FILES, _QUERIES, _BRIEF = 20, 10, 3


def discovery_section(rows: list[DiscoveryRow], stands: Callable[[DiscoveryRow], Verdict | None]) -> str:
    """The first few, each with whether what it is about is still so."""
    told = [_discovery(row, stands(row)) for row in rows[:_MOST_DISCOVERIES]]
    return section("Known from earlier work", told, len(rows) - len(told), "discoveries: context_search finds them")


def _discovery(row: DiscoveryRow, stands: Verdict | None) -> str:
    about = row.symbol or row.path
    bound = f" about {code(about)}" if about else ""
    status = f", {stands.status}" + (f": {one_line(stands.reason, 120)}" if stands.reason else "") if stands else ""
    return f"- **{row.type}**{bound} ({row.updated[:10]}{status}): {one_line(' '.join(row.content.split()), _LONGEST)}"


def session_page(row: SessionRow | None, topics: list[str], now: float) -> str:
    if row is None:
        return page("# This session", "Nothing has been called on this connection yet.")
    return page(
        "# This session",
        f"Began {_moment(row.began)}, {ago(now - row.began)}; last call {ago(now - row.active)}.",
        f"**About**: {', '.join(map(code, topics))}" if topics else "",
        section("Files opened, the latest first", _files(row), len(row.files) - _FILES, "files"),
        section("Asked, the latest first", _queries(row), len(row.queries) - _QUERIES, "questions"),
        section("Tools", _tools(row)),
    )


def sessions_page(rows: list[tuple[SessionRow, list[str]]], now: float) -> str:
    if not rows:
        return page("# Recent sessions", "No session has been recorded in this project yet.")
    return page("# Recent sessions", *(_brief(row, topics, now) for row, topics in rows))


def _brief(row: SessionRow, topics: list[str], now: float) -> str:
    state = f"ended {ago(now - row.ended)}" if row.ended is not None else "under way"
    lasted = count_of(max(1, round((row.active - row.began) / 60)), "minute")
    lines = [f"## {_moment(row.began)}: {lasted}, {state}", f"- {count_of(sum(row.tools.values()), 'call')}"]
    lines += [f"- about {', '.join(map(code, topics))}"] if topics else []
    files = list(reversed(row.files))
    more = f", {len(files) - _BRIEF} more" if len(files) > _BRIEF else ""
    lines += [f"- opened {', '.join(map(code, files[:_BRIEF]))}{more}"] if files else []
    asked = list(reversed(row.queries))[:_BRIEF]
    lines += [f"- asked {', '.join(map(code, asked))}"] if asked else []
    return "\n".join(lines)


def _files(row: SessionRow) -> Iterator[str]:
    for path, times in list(reversed(row.files.items()))[:_FILES]:
        yield f"- {code(path)}" + (f", {times} times" if times > 1 else "")


def _queries(row: SessionRow) -> Iterator[str]:
    yield from (f"- {code(each)}" for each in list(reversed(row.queries))[:_QUERIES])


def _tools(row: SessionRow) -> Iterator[str]:
    for name, times in sorted(row.tools.items(), key=lambda each: (-each[1], each[0])):
        yield f"- {code(name)} {count_of(times, 'call')}"


def _moment(seconds: float) -> str:
    return f"{to_the_minute(seconds)} UTC"
