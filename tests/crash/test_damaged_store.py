"""Bytes of the stores that are no longer what was written: found, said, made anew, and never taken for an answer."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codecairn.store.file_version import compress
from tests.crash.calls import calls, lasting_part, project
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

ASKED = (
    "search_code", "find_symbol", "get_file_outline", "find_references", "get_call_graph", "diff_context",
    "context_search", "explain_ranking", "build_context_pack", "overview", "module",
)  # fmt: skip
Answers = dict[str, Any]


def flip(data: bytes, choice: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(choice.randint(1, 4)):
        changed[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    return bytes(changed)


def blank(data: bytes, choice: random.Random) -> bytes:
    start = choice.randrange(len(data))
    end = min(len(data), start + 4096)
    return data[:start] + bytes(end - start) + data[end:]


def cut(data: bytes, choice: random.Random) -> bytes:
    return data[: choice.randrange(len(data))]


class Damaged:
    """An index that is damaged again and again, and what a server says of it."""

    def __init__(self, place: Path) -> None:
        self.root = project(place / "gate").path
        self.built, self.home = place / "built", place / "home"
        with self.serve(self.built) as server:
            self.settle(server)
            self.note(server)
            self.right = self.answers(server)
            server.close()
        self.check_in()

    def check_in(self) -> None:
        """All that was written is in the database itself."""
        for path in self.built.rglob("*.db"):
            connection = sqlite3.connect(path)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.close()

    def serve(self, home: Path) -> ServerProcess:
        server = ServerProcess("--root", str(self.root), folder=self.root, CAIRN_HOME=str(home), PYTHONFAULTHANDLER="1")
        server.initialize()
        return server

    def status(self, server: ServerProcess) -> dict[str, Any]:
        asked = {"name": "get_status", "arguments": {"path": str(self.root)}}
        found: dict[str, Any] = server.request("tools/call", asked)["result"]["structuredContent"]
        return found

    def settle(self, server: ServerProcess) -> None:
        eventually(lambda: self.status(server)["metadata"]["freshness_status"] != "syncing", 300)

    def note(self, server: ServerProcess) -> None:
        calls(self.root)["remember"](server)  # type: ignore[arg-type]

    def answers(self, server: ServerProcess) -> Answers:
        asked = calls(self.root)
        return {name: asked[name](server) for name in ASKED}  # type: ignore[arg-type]

    def reset(self) -> None:
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.built, self.home)

    def files(self) -> list[Path]:
        return sorted(each for each in (self.home / "indexes").rglob("*") if each.is_file() and each.parent.parent.name)

    def store(self, name: str) -> Path:
        (found,) = (self.home / "indexes").rglob(name)
        return found

    def others(self, answers: Answers) -> list[str]:
        """Answers that are not those of the index before it was damaged."""
        return [name for name in ASKED if lasting_part(name, answers[name]) != lasting_part(name, self.right[name])]

    def wrong(self, answers: Answers) -> list[str]:
        """Answers that are neither right nor say what is damaged and what to do."""
        return [
            f"{name}: {json.dumps(answers[name])[:2000]}"
            for name in self.others(answers)
            if not _says_damage(answers[name])
        ]

    def check_mends(self, server: ServerProcess) -> None:
        assert self.wrong(self.answers(server)) == []
        asked = {"name": "index_codebase", "arguments": {"path": str(self.root)}}
        done = server.request("tools/call", asked, seconds=300)
        assert "error" not in done, done
        self.settle(server)
        assert self.others(self.answers(server)) == []
        assert self.status(server)["metadata"]["schema_status"] == "compatible"
        assert self.discoveries() == 1, "what people wrote is never lost"
        assert server.process.poll() is None, server.stderr

    def discoveries(self) -> int:
        (memory,) = self.home.rglob("memory.db")
        connection = sqlite3.connect(memory)
        try:
            return int(connection.execute("SELECT count(*) FROM discovery").fetchone()[0])
        finally:
            connection.close()


def _says_damage(answer: Any) -> bool:
    said = json.dumps(answer)
    return "damaged" in said and "index_codebase" in said


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    return Damaged(tmp_path_factory.mktemp("damaged"))


@pytest.mark.timeout(3600)
def test_damaged_bytes_never_end_a_server_or_make_a_wrong_answer(
    damaged: Damaged, trials: Callable[[int], int], seeded: random.Random
) -> None:
    for trial in range(trials(100)):
        damaged.reset()
        kinds = {kind: [each for each in damaged.files() if kind in each.parts or each.name == kind] for kind in
                 ("index.db", "lexical", "vectors")}  # fmt: skip
        path = seeded.choice([each for each in kinds[seeded.choice(sorted(kinds))] if each.stat().st_size])
        how = seeded.choice((flip, blank, cut))
        path.write_bytes(how(path.read_bytes(), seeded))
        print(f"trial {trial}: {how.__name__} {path.name}")
        with damaged.serve(damaged.home) as server:
            damaged.settle(server)
            damaged.check_mends(server)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE body SET links = substr(links, 1, 20) || x'00ff00' || substr(links, 24) WHERE file = ?",
        "UPDATE body SET terms = x'28b52ffd' WHERE file = ?",
        "DELETE FROM body WHERE file = ?",
        "DELETE FROM chunk WHERE file = ? AND number = 0",
        "UPDATE symbol SET name = name || 'x' WHERE file = ?",
        "DELETE FROM symbol WHERE file = ?",
        "UPDATE file SET path = 'pkg/elsewhere.py' WHERE id = ?",
        "UPDATE manifest SET path = 'pkg/elsewhere.py' WHERE file = ? AND layer = 1",
    ],
)
def test_a_damaged_version_is_read_anew_by_the_server_itself(damaged: Damaged, harm: str) -> None:
    damaged.reset()
    connection = sqlite3.connect(damaged.store("index.db"))
    ask = "SELECT file FROM manifest WHERE path = 'pkg/m4.py'"
    connection.execute(harm, connection.execute(ask).fetchone())
    connection.commit()
    connection.close()
    with damaged.serve(damaged.home) as server:
        damaged.settle(server)
        assert damaged.status(server)["metadata"]["freshness_status"] == "fresh"
        assert damaged.others(damaged.answers(server)) == []
        assert any("1 file versions in the index are damaged" in line for line in server.stderr)


def test_a_blank_over_the_tables_of_vectors_is_said(damaged: Damaged) -> None:
    """Whoever opens vectors believes these tables; the check must come first."""
    damaged.reset()
    path = damaged.store("index.db")
    connection = sqlite3.connect(path)
    ((page,),) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'vector'").fetchall()
    ((size,),) = connection.execute("PRAGMA page_size").fetchall()
    connection.close()
    start, data = (page - 1) * size - size // 2, path.read_bytes()
    path.write_bytes(data[:start] + bytes(size) + data[start + size :])
    with damaged.serve(damaged.home) as server:
        damaged.settle(server)
        damaged.check_mends(server)


def harm_rows(damaged: Damaged, harm: str) -> None:
    damaged.reset()
    connection = sqlite3.connect(damaged.store("index.db"))
    assert connection.execute(harm).rowcount > 0
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE popularity SET path = 'pkg/m4.py' WHERE path = 'pkg/auth.py'",
        "UPDATE vector SET first = first - 1 WHERE first > 4",
        "DELETE FROM manifest WHERE path = 'pkg/large.py' AND layer > 1",
        "DELETE FROM tally WHERE name IN ('popularity', 'segment')",
    ],
)
def test_a_damaged_table_is_made_anew_by_the_server_itself(damaged: Damaged, harm: str) -> None:
    harm_rows(damaged, harm)
    with damaged.serve(damaged.home) as server:
        damaged.settle(server)
        assert damaged.status(server)["metadata"]["freshness_status"] == "fresh"
        assert damaged.others(damaged.answers(server)) == []
        assert any("The index is damaged" in line for line in server.stderr)


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM tally",
        "UPDATE layer SET head = replace(head, 'a', 'b') WHERE id > 1",
        "INSERT INTO dropped SELECT id FROM file WHERE path = 'pkg/auth.py'",
    ],
)
def test_damage_that_nothing_can_be_made_anew_from_is_said(damaged: Damaged, harm: str) -> None:
    harm_rows(damaged, harm)
    with damaged.serve(damaged.home) as server:
        damaged.settle(server)
        assert damaged.status(server)["metadata"]["schema_status"] == "corrupt_manifest"
        damaged.check_mends(server)


def test_what_is_damaged_under_a_running_server_is_left_out_said_and_read_anew(damaged: Damaged) -> None:
    damaged.reset()
    with damaged.serve(damaged.home) as server:
        damaged.settle(server)
        connection = sqlite3.connect(damaged.store("index.db"))
        (file,) = connection.execute("SELECT file FROM manifest WHERE path = 'pkg/m4.py'").fetchone()
        spoilt = bytearray(compress(b"something else"))
        spoilt[-1] ^= 1
        connection.execute(
            "UPDATE body SET text = ?, terms = ?, links = ? WHERE file = ?", (*[bytes(spoilt)] * 3, file)
        )
        connection.commit()
        connection.close()
        assert damaged.wrong(damaged.answers(server)) == []
        eventually(lambda: damaged.status(server)["metadata"]["freshness_status"] == "fresh", 60)
        assert damaged.others(damaged.answers(server)) == []
