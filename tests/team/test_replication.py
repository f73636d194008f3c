"""From a push to an answer: workers publish, nodes replicate, and nothing is parsed twice."""

from __future__ import annotations

import json
import logging
import math
import os

import pytest

from codecairn import logs
from codecairn.cancel import Cancel
from codecairn.index.received_versions import known_keys
from codecairn.team.clones import choose_refs
from codecairn.team.monitor import serve_monitor
from tests.support.team import Team, TeamDoor, TeamProcess, open_team
from tests.support.wait import eventually
from tests.team.conftest import fresh_database

FILES: dict[str, str | bytes] = {
    "app.py": "def greet(name):\n    return f'hello {name}'\n\n\ndef main():\n    print(greet('you'))\n",
    "lib/util.py": "from app import greet\n\n\ndef twice(name):\n    return greet(name) + greet(name)\n",
    "README.md": "# Greeter\n\nIt greets.\n",
}


def test_a_second_machine_takes_versions_and_parses_none(team: Team, caplog: pytest.LogCaptureFixture) -> None:
    repo = team.repository("org/greeter", FILES, ("*",))
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit("on a branch", {"lib/more.py": "def thrice(name):\n    return 3 * name\n"})
    repo.git("checkout", "--quiet", "main")
    team.work("worker")
    with caplog.at_level(logging.INFO, "codecairn.team"):
        team.start_node("other machine")
        team.await_ready()
    assert "org/greeter is ready: 4 versions taken, 0 files parsed" in caplog.text
    door = team.door(team.token())
    found = door.call("find_symbol", {"symbol_name": "thrice", "project": "org/greeter", "ref": "feature"})
    assert found.value["symbols"][0]["path"] == "lib/more.py"
    assert door.call("find_symbol", {"symbol_name": "thrice", "project": "org/greeter"}).is_error


def test_the_same_file_of_two_repositories_is_kept_once(team: Team) -> None:
    team.repository("org/one", FILES)
    team.repository("org/two", FILES)
    team.work()
    ((count,),) = team.record.database.rows("SELECT count(*) FROM file_version")
    assert count == len(FILES)
    assert len(team.record.database.rows("SELECT 1 FROM holding")) == 2 * len(FILES)


def test_a_push_is_answered_by_every_owner_and_is_fresh(team: Team) -> None:
    repo = team.repository("org/greeter", FILES)
    team.work("worker")
    first, second = team.start_node("a"), team.start_node("b")
    team.await_ready()
    token = team.token()
    repo.commit("a push", {"app.py": "def welcome(name):\n    return name\n"})
    team.add("org/greeter")
    team.work("worker")
    team.await_ready()
    for node in (first, second):
        answer = team.door(token, node).call("find_symbol", {"symbol_name": "welcome", "project": "org/greeter"})
        assert answer.value["metadata"]["freshness_status"] == "fresh"
        assert answer.value["metadata"]["ref"] == "main"
        assert team.door(token, node).call("find_symbol", {"symbol_name": "main", "project": "org/greeter"}).is_error


def test_what_is_behind_its_publication_says_stale(team: Team) -> None:
    team.repository("org/greeter", FILES)
    team.work("worker")
    node = team.start_node("a")
    team.await_ready()
    door = team.door(team.token())
    node.replicas.ready[team.record.repositories.all()[0].id] = 0  # as if it were at an earlier one
    answer = door.call("search_code", {"query": "greet", "project": "org/greeter"})
    assert answer.value["metadata"]["freshness_status"] in ("stale", "syncing")
    eventually(
        lambda: (
            door.call("search_code", {"query": "greet", "project": "org/greeter"}).value["metadata"]["freshness_status"]
            == "fresh"
        )
    )


def test_a_forced_push_and_a_deleted_branch_are_followed(team: Team) -> None:
    repo = team.repository("org/greeter", FILES, ("**",))
    repo.git("branch", "old/branch")
    repo.git("tag", "v1")
    team.work("worker")
    refs = team.record.repositories.refs(team.record.repositories.all()[0].id)
    assert [each.name for each in refs] == ["main", "old/branch", "refs/tags/v1"]
    repo.git("branch", "-D", "old/branch")
    repo.git("commit", "--quiet", "--amend", "--message", "rewritten")
    team.add("org/greeter", ("**",))
    team.work("worker")
    node = team.start_node("a")
    team.await_ready()
    project = node.replicas.project_of(team.record.repositories.all()[0])
    assert project.git.head(Cancel()) == repo.git("rev-parse", "HEAD")
    listed = team.door(team.token()).call("list_refs", {"project": "org/greeter"})
    assert [each["ref"] for each in listed.value["refs"]] == ["main", "v1"]


def test_a_forge_without_its_whole_history_is_taken_as_it_is(team: Team) -> None:
    repo = team.repository("org/greeter", FILES)
    repo.commit("again", {"app.py": "def welcome():\n    return 1\n"})
    shallow = team.folder / "shallow"
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(shallow))
    team.record.jobs.ask(team.record.repositories.add("org/shallow", str(shallow)))
    team.work("worker")
    team.start_node("a")
    team.await_ready()
    door = team.door(team.token())
    assert not door.call("find_symbol", {"symbol_name": "welcome", "project": "org/shallow"}).is_error
    assert len(door.call("git_log", {"project": "org/shallow"}).value["commits"]) == 1


def test_versions_that_nothing_holds_are_collected_after_a_day(team: Team) -> None:
    repo = team.repository("org/greeter", FILES)
    team.work()
    repo.commit("again", {"app.py": "def other():\n    return 1\n"})
    team.add("org/greeter")
    team.work()
    versions = team.record.versions
    assert versions.collect() == 0
    team.record.database.execute("UPDATE file_version SET asked_for = now() - interval '2 days'")
    assert versions.collect() == 1
    (repository,) = team.record.repositories.all()
    clone = team.worker()._clones.at(repository)
    held = versions.keys_of(repository.id)
    assert held.keys() <= known_keys(clone.open().index)


def test_a_repository_that_cannot_be_fetched_fails_with_a_reason_and_others_go_on(team: Team) -> None:
    team.record.jobs.ask(team.record.repositories.add("org/gone", str(team.folder / "nowhere")))
    team.repository("org/greeter", FILES)
    worker = team.worker()
    while worker.work_once():
        pass
    states = {each.name: (each.state, each.reason) for each in team.record.repositories.all()}
    assert states["org/greeter"][0] == "ready"
    assert states["org/gone"][0] == "failing"
    assert "git fetch" in states["org/gone"][1]


def test_hooks_and_filters_of_a_repository_run_nowhere(team: Team) -> None:
    mark = team.folder / "ran"
    files = {**FILES, ".gitattributes": "*.py filter=evil diff=evil\n", ".lfsconfig": "[lfs]\nurl = http://x\n"}
    repo = team.repository("org/evil", files)
    for name in ("post-checkout", "post-merge", "reference-transaction", "pre-receive"):
        hook = repo.path / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    team.work()
    team.start_node("a")
    team.await_ready()
    assert not mark.exists()


def test_a_restored_backup_is_whole(team: Team, postgres: str) -> None:
    """A copy of the database alone serves a team whose machines have nothing."""
    repo = team.repository("org/greeter", FILES)
    team.work("worker")
    token = team.token()
    team.record.notebook.write(1, "d-1", None, "ada")
    with fresh_database(postgres, template=team.url) as url, open_team(url, team.folder / "after") as restored:
        restored.start_node("new machine")
        restored.await_ready()
        answer = restored.door(token).call("find_symbol", {"symbol_name": "greet", "project": "org/greeter"})
        assert answer.value["symbols"][0]["path"] == "app.py"
        repo.commit("later", {"app.py": "def welcome():\n    return 1\n"})
        restored.repos["org/greeter"] = repo
        restored.add("org/greeter")
        restored.work("new worker")
        restored.await_ready()
        assert not restored.door(token).call("find_symbol", {"symbol_name": "welcome"}).is_error


def test_while_the_record_is_silent_answers_are_stale_and_nothing_is_written(team: Team) -> None:
    team.repository("org/greeter", FILES)
    team.work("worker")
    node = team.start_node("a")
    team.await_ready()
    door = team.door(team.token())
    said = {"type": "rule", "content": "Greet everybody by name.", "project": "org/greeter"}
    assert not door.call("remember", said).is_error
    team.record.database._away_until = math.inf  # from here on it refuses to connect
    node.directory._seen -= 60
    asked = {"query": "greet", "project": "org/greeter"}
    eventually(lambda: door.call("search_code", asked).value["metadata"]["freshness_status"] == "stale")
    other = {**said, "content": "Something else that is not kept."}
    refused = door.call("remember", other)
    assert refused.is_error
    assert "database" in refused.value["error"]["message"]
    found = door.call("context_search", {"query": "Something else kept", "project": "org/greeter", "type": "rule"})
    assert found.value["results"] == []
    spool = team.folder / "a/team/audit.spool"
    assert "search_code" in spool.read_text()
    team.record.database._away_until = 0.0
    eventually(lambda: not door.call("remember", other).is_error)
    eventually(lambda: not spool.exists())
    ((count,),) = team.record.database.rows("SELECT count(*) FROM audit WHERE tool = 'remember'")
    assert count >= 3


def test_a_worker_tells_monitors_how_it_stands(team: Team) -> None:
    team.repository("org/greeter", FILES)
    worker = team.worker()
    door = TeamDoor(serve_monitor(worker, team.record, "127.0.0.1", 0), "")
    assert "cairn_team_jobs_due 1" in door.ask("GET", "/metrics", None, {})[1]
    assert worker.work_once()
    status, said = door.ask("GET", "/metrics", None, {})
    assert status == 200
    assert "cairn_team_jobs_done_total 1" in said
    assert "cairn_team_jobs_due 0" in said
    assert float(said.split("cairn_team_push_to_publication_seconds ")[1].split()[0]) > 0
    assert "greeter" not in said
    assert door.ask("GET", "/health", None, {})[0] == 200
    worker.heard_at -= 60
    assert door.ask("GET", "/health", None, {})[0] == 503
    assert door.ask("GET", "/else", None, {})[0] == 404


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to end by")
def test_a_node_that_is_told_to_end_leaves_the_team(team: Team) -> None:
    node = TeamProcess("node", team.url, team.folder / "a")
    eventually(team.record.nodes.living)
    node.process.terminate()
    assert node.process.wait(20) == 0
    node.close()
    assert team.record.nodes.living() == []


def test_a_node_that_starts_again_answers_before_it_looks_at_the_files(team: Team) -> None:
    team.repository("org/greeter", FILES)
    team.work("worker")
    node = team.start_node("machine")
    team.await_ready()
    (repository,) = team.record.repositories.all()
    clone = node.replicas.clones.at(repository)
    refs = team.record.repositories.refs(repository.id)
    assert clone.is_at(repository.default_branch, refs)
    assert not clone.is_at(repository.default_branch, [])
    node.stop()
    eventually(lambda: not team.record.nodes.living())
    (clone.root / "app.py").unlink()  # as a disk may lose a file
    team.nodes.clear()
    team.start_node("machine")
    team.await_ready()
    found = team.door(team.token()).call("find_symbol", {"symbol_name": "greet", "project": "org/greeter"})
    assert found.value["symbols"][0]["path"] == "app.py"
    eventually((clone.root / "app.py").exists)
    eventually(lambda: clone.is_at(repository.default_branch, refs))


def test_a_clone_that_a_worker_changes_is_not_believed_to_be_as_published(team: Team) -> None:
    repo = team.repository("org/greeter", FILES)
    team.work("machine")
    team.start_node("machine")
    team.await_ready()
    (repository,) = team.record.repositories.all()
    refs = team.record.repositories.refs(repository.id)
    clone = team.nodes[0].replicas.clones.at(repository)
    repo.commit("a push", {"app.py": "def welcome(name):\n    return name\n"})
    with clone.holding("indexing", 5.0) as had:
        assert had
        remote = clone.fetch(Cancel())
        clone.show(*choose_refs(remote, ()), Cancel())
        assert not clone.is_at(repository.default_branch, refs)


def test_a_node_tells_how_long_a_push_took_to_be_answered(team: Team) -> None:
    repo = team.repository("org/greeter", FILES)
    team.work("worker")
    team.start_node("a")
    team.await_ready()
    door = team.door(team.token())
    assert "cairn_team_publications_followed_total 0" in door.ask("GET", "/metrics", None, {})[1]
    repo.commit("a push", {"app.py": "def welcome(name):\n    return name\n"})
    team.add("org/greeter")
    team.work("worker")
    team.await_ready()
    eventually(lambda: "cairn_team_publications_followed_total 1" in door.ask("GET", "/metrics", None, {})[1])
    said = door.ask("GET", "/metrics", None, {})[1]
    assert 0 < float(said.split("cairn_team_push_to_answer_seconds ")[1].split()[0]) < 60


def test_a_request_is_known_by_its_id_in_the_logs_of_door_and_node(
    team: Team, caplog: pytest.LogCaptureFixture
) -> None:
    team.repository("org/greeter", FILES)
    team.work("worker")
    first, second = team.start_node("a"), team.start_node("b")
    team.await_ready()
    (repository,) = team.record.repositories.all()
    del first.replicas.ready[repository.id]  # so that the call is passed on
    asked = {"name": "search_code", "arguments": {"query": "greet", "project": "org/greeter"}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked})
    with caplog.at_level(logging.INFO):
        status, _ = team.door(team.token(), first).post("/rpc", body, **{"x-request-id": "asked-by-ada"})
    assert status == 200
    entries = [json.loads(logs.JsonLines().format(each)) for each in caplog.records]
    at_door = next(each for each in entries if each.get("request") == "asked-by-ada")
    assert (at_door["node"], at_door["tool"], at_door["repository"]) == (first.id, "search_code", "org/greeter")
    assert any(each.get("connection") == "request:asked-by-ada" for each in entries)
    assert second.id != first.id
