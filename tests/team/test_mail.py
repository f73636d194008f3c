"""Memory that laptops share through the team server: at once, after an outage, once, in order, and with its author."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecairn.config import Settings, TeamAccess
from codecairn.memory.team_mail import TeamMail
from codecairn.project import Project
from codecairn.team_client import TeamAway
from tests.catalog.catalogue import entry
from tests.support.doors import MemoryDoor, service
from tests.support.repo import Repo
from tests.support.team import Team, open_team
from tests.team.conftest import fresh_database

FILES: dict[str, str | bytes] = {
    "app.py": "def greet(name):\n    return f'hello {name}'\n",
    "instructions/tone.json": json.dumps(entry("tone")),
}
NAMES = ("sharing", "outage", "killed", "reading", "counting", "restored", "before")
AWAY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def team(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """One node for all of these tests; each has a repository of its own."""
    with fresh_database(postgres) as url, open_team(url, tmp_path_factory.mktemp("mail")) as opened:
        for name in NAMES:
            opened.repository(f"org/{name}", FILES)
        opened.work("worker")
        opened.start_node("node")
        opened.await_ready()
        yield opened


class Laptop:
    def __init__(self, team: Team, repo: Repo, folder: Path, token: str) -> None:
        repo.git("clone", "--quiet", str(repo.path), str(folder / "clone"))
        self.folder, self.token = folder, token
        self.here = f"http://127.0.0.1:{team.door('').port}"
        self.connect(self.here)

    def connect(self, url: str) -> None:
        """Start anew, as a server does that is started with another address."""
        access = TeamAccess(url, self.token)
        root = self.folder / "clone"
        self.served = service(root, data=self.folder / "home", team=access)
        self.door = MemoryDoor(self.served)
        self.project = self.served.projects.open(root.resolve())

    @property
    def mail(self) -> TeamMail:
        assert self.project.mail is not None
        return self.project.mail

    def remember(self, text: str) -> str:
        answer = self.door.call("remember", {"type": "decision", "content": text})
        assert not answer.is_error, answer
        return str(answer.value["discovery"]["id"])

    def memory(self) -> dict[str, str | None]:
        return {row.content: row.session for row in self.project.discoveries.all()}

    def remarks(self) -> str:
        answer = self.door.call("get_status", {})
        return "\n".join(answer.value["metadata"].get("warnings", []))


def laptop(team: Team, repo: Repo, folder: Path, who: str, role: str = "writer") -> Laptop:
    folder.mkdir()
    return Laptop(team, repo, folder, team.token(f"{who}-{folder.parent.name}", role=role))


def events(team: Team, name: str) -> list[tuple[str, bool]]:
    (number,) = (each.id for each in team.record.repositories.all() if each.name == name)
    return [(each.discovery, each.row is not None) for each in team.record.notebook.since(number, 0)]


def test_discoveries_reach_the_team_and_the_other_laptops_with_their_author(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/sharing"]
    ada, bob = laptop(team, repo, tmp_path / "ada", "ada"), laptop(team, repo, tmp_path / "bob", "bob")
    ada.remember("greetings are never translated")
    ada.mail.exchange()
    bob.mail.exchange()
    assert bob.memory() == ada.memory() == {"greetings are never translated": f"ada-{tmp_path.name}"}
    assert not bob.door.call("index_codebase", {"path": str(bob.project.root)}).is_error
    found = bob.door.call("context_search", {"query": "translated greetings", "type": "decision"})
    assert [each["content"] for each in found.value["results"]] == ["greetings are never translated"]
    (node_memory,) = [each for each in events(team, "org/sharing") if each[1]]
    (identity,) = [row.id for row in bob.project.discoveries.all()]
    assert node_memory[0] == identity
    bob.door.call("forget", {"id": identity})
    bob.mail.exchange()
    ada.mail.exchange()
    assert ada.memory() == bob.memory() == {}


def test_notes_of_an_outage_are_delivered_later_once_and_in_their_order(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/outage"]
    ada = laptop(team, repo, tmp_path / "ada", "ada")
    ada.connect(AWAY)
    kept = [ada.remember(f"lesson {word} of the outage") for word in ("one", "two", "three")]
    ada.door.call("forget", {"id": kept[1]})
    assert not ada.door.call("usage_track", {"id": "tone"}).is_error
    with pytest.raises(TeamAway):
        ada.mail.exchange()
    assert "cannot be asked" in ada.remarks()
    assert "5 notes for the team wait here" in ada.remarks()
    ada.connect(ada.here)
    ada.mail._ask()  # delivered, and the process ends before it could write that down
    ada.connect(ada.here)
    ada.mail.exchange()
    ada.mail.exchange()
    told = [(kept[0], True), (kept[1], True), (kept[2], True), (kept[1], False)]
    assert events(team, "org/outage") == told
    (number,) = (each.id for each in team.record.repositories.all() if each.name == "org/outage")
    assert [(entry, count) for entry, count, _ in team.record.notebook.uses(number)] == [("tone", 1)]
    assert ada.remarks() == ""
    assert len(ada.memory()) == 2


_WRITER = """
import sys
from pathlib import Path
from codecairn.config import Settings, TeamAccess
from codecairn.memory import discoveries
from codecairn.project import Project
project = Project(Path(sys.argv[1]), Settings(data=Path(sys.argv[2]), team=TeamAccess("http://127.0.0.1:9", "")))
for number in range(10000):
    draft = discoveries.Draft("decision", f"lesson {sys.argv[3]}{number} of {'x' * (number % 97 + 1)} times")
    print(discoveries.remember(project.discoveries, draft)[0].id, flush=True)
"""


def test_a_killed_process_loses_no_note_and_sends_none_twice(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/killed"]
    ada = laptop(team, repo, tmp_path / "ada", "ada")
    root, home = (ada.folder / "clone").resolve(), ada.folder / "home"
    heard: list[str] = []
    for most in (7, 23):
        command = [sys.executable, "-c", _WRITER, str(root), str(home), f"run{most}x"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            heard += [child.stdout.readline().strip() for _ in range(most)]
            child.send_signal(signal.SIGKILL) if hasattr(signal, "SIGKILL") else child.kill()
            heard += [line.strip() for line in child.stdout if line.endswith("\n")]
    ada.connect(ada.here)
    ada.mail._ask()
    ada.mail.exchange()
    told = [identity for identity, _ in events(team, "org/killed")]
    assert len(told) == len(set(told))
    assert [each for each in told if each in heard] == heard
    assert len(told) <= len(heard) + 2  # one of each process may have been written and not been heard of


def test_readers_keep_theirs_and_are_told(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/reading"]
    ada = laptop(team, repo, tmp_path / "ada", "ada")
    eve = laptop(team, repo, tmp_path / "eve", "eve", "reader")
    theirs = ada.remember("doors are painted green")
    ada.mail.exchange()
    eve.mail.exchange()
    eve.remember("windows are painted blue")
    eve.door.call("forget", {"id": theirs})
    eve.mail.exchange()
    assert "refused" in eve.remarks()
    assert "for writers" in eve.remarks()
    eve.mail.exchange()  # what could not be taken back comes again
    assert set(eve.memory()) == {"doors are painted green", "windows are painted blue"}
    assert set(ada.memory()) == {"doors are painted green"}
    eve.mail.outbox.drop_refusals()
    assert eve.remarks() == ""


def test_uses_are_counted_once_for_all(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/counting"]
    ada, bob = laptop(team, repo, tmp_path / "ada", "ada"), laptop(team, repo, tmp_path / "bob", "bob", "reader")
    for each in (ada, ada, bob):
        each.door.call("usage_track", {"id": "tone"})
    ada.mail.exchange()
    bob.mail.exchange()
    bob.door.call("usage_track", {"id": "tone"})
    ada.mail.exchange()
    bob.mail.exchange()
    for each in (ada, bob):
        hot = each.door.call("usage_hotset", {}).value["items"]
        assert [(row["id"], row["usageCount"]) for row in hot] == ([("tone", 4)] if each is bob else [("tone", 3)])
    ada.mail.exchange()
    assert ada.project.memory.usage()["tone"].count == 4


def test_a_restored_record_is_read_anew(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/restored"]
    ada, bob = laptop(team, repo, tmp_path / "ada", "ada"), laptop(team, repo, tmp_path / "bob", "bob")
    for each in ("stones are grey", "stones are heavy", "stones are old"):
        ada.remember(each)
    ada.mail.exchange()
    bob.mail.exchange()
    assert len(bob.memory()) == 3
    (number,) = (each.id for each in team.record.repositories.all() if each.name == "org/restored")
    team.record.database.execute("DELETE FROM memory_event WHERE repository = %s AND number > 1", number)
    bob.project.memory.close()
    other = laptop(team, repo, tmp_path / "carol", "carol")
    for each in ("stones are round", "stones are wet", "stones are cold"):
        other.remember(each)
    other.mail.exchange()
    bob.connect(bob.here)
    bob.mail.exchange()
    told = {"stones are grey", "stones are round", "stones are wet", "stones are cold"}
    assert set(bob.memory()) == set(other.memory()) == told


def test_what_was_here_before_the_team_stays_here(team: Team, tmp_path: Path) -> None:
    repo = team.repos["org/before"]
    ada = laptop(team, repo, tmp_path / "ada", "ada")
    alone = Project(ada.project.root, Settings(data=ada.folder / "home"))
    row = MemoryDoor(service(alone.root, data=ada.folder / "home")).call(
        "remember", {"type": "rule", "content": "nobody else needs to know"}
    )
    ada.mail.exchange()
    ada.door.call("forget", {"id": row.value["discovery"]["id"]})
    ada.mail.exchange()
    assert events(team, "org/before") == []
