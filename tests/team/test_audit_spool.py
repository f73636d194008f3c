"""Audit rows that waited for the database: what a crash has cut is passed over, and the rest is written."""

from __future__ import annotations

from pathlib import Path

from codecairn.team.audit import Audit, AuditRow
from tests.support.team import Team


def row(request: str) -> AuditRow:
    return AuditRow("2026-01-02T03:04:05Z", request, "ada", "search_code", "org/quarry", "ok", 10, "node")


def test_a_line_that_was_cut_amid_the_file_stops_nothing(team: Team, tmp_path: Path) -> None:
    spool = tmp_path / "audit.spool"
    audit = Audit(team.record.database, spool)
    audit._keep([row("first")])
    with spool.open("ab") as file:
        file.write(b'["2026-01-02T03:04:0')
    audit._keep([row("next")])
    audit._keep([row("last")])
    with spool.open("ab") as file:
        file.write(b'["2026')
    assert audit.flush() == 3
    assert not spool.exists()
    rows = team.record.database.rows("SELECT request FROM audit ORDER BY request")
    assert [each for (each,) in rows] == ["first", "last", "next"]
