"""The record: its schema, its jobs, its tokens, on a real PostgreSQL."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from codecairn.errors import CairnError, Cancelled, InvalidInput
from codecairn.team.audit import Audit, AuditRow
from codecairn.team.database import RecordUnavailable
from codecairn.team.jobs import check_lease
from codecairn.team.nodes import owners
from codecairn.team.permissions import matches_glob
from codecairn.team.record import STEPS, Record
from codecairn.team.repositories import check_repository_name, check_url
from tests.support.team import Team
from tests.support.wait import eventually


def test_many_processes_migrate_at_once(database_url: str) -> None:
    records = [Record(database_url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        taken = list(pool.map(Record.migrate, records))
    assert sum(taken) == len(STEPS)
    assert records[0].migrate() == 0
    for each in records:
        each.close()


def test_a_step_that_fails_leaves_nothing(database_url: str) -> None:
    record = Record(database_url)
    with pytest.raises(CairnError):
        record.database.migrate(["CREATE TABLE one (a int);", "CREATE TABLE two (a int); SELECT nonsense;"])
    found = record.database.rows("SELECT to_regclass('one') IS NOT NULL, to_regclass('two') IS NOT NULL")
    assert found == [(True, False)]
    assert record.database.rows("SELECT count(*) FROM schema_step") == [(1,)]
    record.close()


def test_a_newer_schema_is_refused(team: Team) -> None:
    team.record.database.execute("INSERT INTO schema_step VALUES (%s, now())", len(STEPS) + 1)
    with pytest.raises(CairnError, match="schema"):
        team.record.migrate()


def add_many(team: Team, count: int) -> list[int]:
    numbers = [team.record.repositories.add(f"org/r{each}", f"/nowhere/{each}") for each in range(count)]
    for each in numbers:
        team.record.jobs.ask(each)
    return numbers


def test_each_job_is_taken_once(team: Team) -> None:
    numbers = add_many(team, 20)
    with ThreadPoolExecutor(6) as pool:
        taken = list(pool.map(lambda place: team.record.jobs.take(f"w{place}"), range(25)))
    assert sorted(each.repository for each in taken if each) == numbers
    assert taken.count(None) == 5


def test_asking_twice_makes_one_job_and_a_push_meanwhile_another(team: Team) -> None:
    (number,) = add_many(team, 1)
    team.record.jobs.ask(number)
    job = team.record.jobs.take("w")
    assert job is not None
    assert team.record.jobs.take("v") is None
    team.record.jobs.ask(number)
    team.record.jobs.finish(job)
    again = team.record.jobs.take("v")
    assert again is not None
    team.record.jobs.finish(again)
    assert team.record.jobs.depth() == 0


def test_three_deaths_quarantine_a_repository(team: Team, database_url: str) -> None:
    record = Record(database_url, lease_s=0.05)
    (number,) = add_many(team, 1)
    for death in range(3):
        job = eventually(lambda: record.jobs.take("doomed"))
        assert job is not None
        assert job.deaths == death
    eventually(lambda: record.jobs.take("next") is None and record.repositories.all()[0].state == "quarantined")
    (repository,) = record.repositories.all()
    assert "doomed" in repository.reason
    assert record.jobs.ask_stale(0.0) == 0
    record.repositories.add(repository.name, repository.url)
    assert record.repositories.all()[0].state == "new"
    assert number == repository.id
    record.close()


def test_a_renewed_lease_is_kept_and_a_lost_one_publishes_nothing(team: Team, database_url: str) -> None:
    record = Record(database_url, lease_s=0.2)
    add_many(team, 1)
    job = record.jobs.take("slow")
    assert job is not None
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        assert record.jobs.renew(job)
        assert record.jobs.take("thief") is None
    stolen = eventually(lambda: record.jobs.take("thief"))
    assert stolen is not None
    assert stolen.deaths == 1
    assert not record.jobs.renew(job)
    with pytest.raises(Cancelled), record.database.transaction() as connection:
        check_lease(connection, job)
    record.close()


def test_an_error_is_no_death_and_waits_longer_each_time(team: Team) -> None:
    (number,) = add_many(team, 1)
    waits = []
    for _ in range(4):
        team.record.database.execute("UPDATE job SET due = now()")
        job = team.record.jobs.take("w")
        assert job is not None
        assert job.deaths == 0
        team.record.jobs.fail(job, "the forge is away")
        ((wait,),) = team.record.database.rows("SELECT extract(epoch FROM due - now())::float FROM job")
        waits.append(wait)
    assert all(later > sooner * 1.5 for sooner, later in pairwise(waits))
    assert number


def test_a_token_is_kept_as_a_hash_and_ends(team: Team) -> None:
    tokens = team.record.tokens
    secret = tokens.create("ada", ["org/*"], "reader")
    assert len(bytes.fromhex(secret.removeprefix("cairn_"))) * 8 == 256
    caller = tokens.find(secret)
    assert caller is not None
    assert (caller.name, caller.role, caller.may_write("org/app")) == ("ada", "reader", False)
    everything = team.record.database.rows("SELECT token::text FROM token")
    assert secret not in str(everything)
    assert tokens.find(secret[:-1] + ("0" if secret[-1] != "0" else "1")) is None
    with pytest.raises(InvalidInput):
        tokens.create("ada", ["**"], "reader")
    brief = tokens.create("brief", ["**"], "admin", days=1 / 86_400 / 20)
    eventually(lambda: tokens.find(brief) is None)
    assert tokens.revoke("ada")
    assert tokens.find(secret) is None


@pytest.mark.parametrize(
    ("name", "glob", "matches"),
    [
        ("org/a", "org/*", True), ("org/a", "**", True), ("org/a", "*", False), ("org/a/b", "org/*", False),
        ("org/a/b", "org/**", True), ("orgx/a", "org/*", False), ("org/web-ui", "org/web-*", True),
        ("org/aXb", "org/a.b", False),
    ],
)  # fmt: skip
def test_globs_open_whole_names(name: str, glob: str, *, matches: bool) -> None:
    assert matches_glob(name, glob) is matches


@pytest.mark.parametrize("name", ["", "one", "a/../b", "/abs/path", "a/b\n", "a//b", "-a/b", "a/b/c/d/e", "a/.git"])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        check_repository_name(name)


@pytest.mark.parametrize("url", ["", "ext::sh -c id", "--upload-pack=x", "a\0b"])
def test_urls_that_name_programs_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        check_url(url)


def test_only_the_repositories_of_a_dead_node_move() -> None:
    nodes = [f"n{each}" for each in range(5)]
    names = [f"org/r{each}" for each in range(200)]
    before = {name: owners(name, nodes) for name in names}
    after = {name: owners(name, [each for each in nodes if each != "n2"]) for name in names}
    for name in names:
        kept = [node for node in before[name] if node != "n2"]
        assert after[name][: len(kept)] == kept
    counts = [sum(node in each for each in before.values()) for node in nodes]
    assert min(counts) > 40


def test_audit_rows_wait_for_the_database_and_a_cut_line_costs_itself(team: Team) -> None:
    audit = Audit(team.record.database, team.folder / "spool")
    rows = [AuditRow("2026-01-01T00:00:00Z", str(each), "ada", "git_log", "org/a", "ok", 1, "n") for each in range(3)]
    audit.write(rows[0])
    team.record.database._away_until = math.inf
    audit.write(rows[1])
    with (team.folder / "spool").open("ab") as spool:
        spool.write(b'["2026-01-01T00:0\n')
    audit.write(rows[2])
    with pytest.raises(RecordUnavailable):
        audit.flush()
    team.record.database._away_until = 0.0
    assert audit.flush() == 2
    assert audit.flush() == 0
    assert team.record.database.rows("SELECT request FROM audit ORDER BY 1") == [("0",), ("1",), ("2",)]
