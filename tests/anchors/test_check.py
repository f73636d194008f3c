"""Verdicts on anchors, in real repositories with a past; `cairn instructions check` and the gate of anchors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from tests.catalog.catalogue import Catalogue, Client, client_of, entry
from tests.support.repo import Repo

CODE = "def load_settings():\n    return 1\n\n\nclass SettingsReader:\n    pass\n"
OTHER = "def start_server():\n    return load_it()\n\n\ndef load_it():\n    return 2\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo.create(tmp_path / "project")
    made.commit("start", {"src/settings.py": CODE, "src/server.py": OTHER, "docs/guide.md": "# Guide\n"})
    return made


def check(repo: Repo, *options: str) -> Result:
    home = repo.path.parent / "home"
    arguments = ["instructions", "check", "--root", str(repo.path), *options]
    return CliRunner().invoke(main, arguments, env={"CAIRN_HOME": str(home)})


def verdicts(repo: Repo) -> dict[str, tuple[str, str]]:
    """anchor → status and suggestion."""
    value = json.loads(check(repo, "--json", "--all").output)
    return {each["anchor"]: (each["status"], each.get("suggestion", "")) for each in value["anchors"]}


@pytest.mark.requirement("003/anchors/alive-moved-dead")
def test_what_is_there_moved_or_died_is_told_apart(repo: Repo) -> None:
    text = "`src/settings.py` `src/server.py` `docs/guide.md` `load_settings()` `start_server` `never/was.py` "
    text += "`numpy_like()`"
    repo.commit("rules", {"AGENTS.md": f"Read {text}.\n"})
    assert {status for status, _ in verdicts(repo).values()} == {"alive", "unknown"}
    assert check(repo).exit_code == 0
    repo.git("mv", "docs/guide.md", "docs/handbook.md")
    (repo.path / "src/settings.py").unlink()
    gone = repo.commit("later")
    assert verdicts(repo) == {
        "src/settings.py": ("dead", ""),
        "src/server.py": ("alive", ""),
        "docs/guide.md": ("moved", "docs/handbook.md"),
        "load_settings": ("dead", ""),
        "start_server": ("alive", ""),
        "never/was.py": ("unknown", ""),
        "numpy_like": ("unknown", ""),
    }
    said = check(repo)
    assert said.exit_code == 1
    assert f"AGENTS.md:1: dead: src/settings.py (src/settings.py was deleted in {gone[:9]}" in said.output
    assert "moved: docs/guide.md (it stands at docs/handbook.md now" in said.output


def test_a_folder_that_moved_is_followed_over_two_moves(repo: Repo) -> None:
    repo.commit("rules", {"AGENTS.md": "Code is in `src/` and `src/*.py`.\n"})
    repo.git("mv", "src", "lib")
    repo.commit("one")
    repo.git("mv", "lib", "code")
    repo.commit("two")
    assert verdicts(repo) == {"src/": ("moved", "code")}


@pytest.mark.requirement("003/anchors/doubt-is-unknown")
def test_what_need_not_be_there_is_unknown(repo: Repo) -> None:
    lines = ["We removed `src/settings.py`.", "The build writes `src/settings.py`.", "Ignored: `out/log.txt`."]
    repo.commit("rules", {"AGENTS.md": "\n\n".join(lines), ".gitignore": "out/\n"})
    (repo.path / "src/settings.py").unlink()
    repo.commit("gone")
    assert {status for status, _ in verdicts(repo).values()} == {"unknown"}
    assert check(repo).exit_code == 0


def test_links_must_lead_somewhere(repo: Repo) -> None:
    repo.commit("rules", {"docs/AGENTS.md": "[a](guide.md) [b](../src/server.py) [c](docs/guide.md) [d](nowhere.md)\n"})
    assert {anchor: status for anchor, (status, _) in verdicts(repo).items()} == {
        "guide.md": "alive",
        "../src/server.py": "alive",
        "docs/guide.md": "alive",
        "nowhere.md": "dead",
    }


@pytest.mark.requirement("003/anchors/commands")
def test_commands_are_held_against_what_runs_them(repo: Repo) -> None:
    package = json.dumps({"scripts": {"build": "x", "test:unit": "y"}})
    repo.commit("rules", {
        "Makefile": "test: lint\n\techo\nlint:\n\techo\n", "package.json": package,
        "AGENTS.md": "`make test` `make lnt` `npm run build` `npm run biuld` `cairn search` `cairn serch`\n",
    })  # fmt: skip
    assert verdicts(repo) == {
        "make test": ("alive", ""),
        "make lnt": ("dead", "make lint"),
        "npm run build": ("alive", ""),
        "npm run biuld": ("dead", "npm run build"),
        "cairn search": ("alive", ""),
        "cairn serch": ("dead", "cairn search"),
    }
    repo.commit("pattern", {"Makefile": "%: x\n\techo\n", "package.json": "{"})
    found = verdicts(repo)
    assert found["make lnt"][0] == found["npm run biuld"][0] == "unknown"


@pytest.mark.requirement("003/anchors/without-import")
def test_every_file_of_rules_is_checked_without_an_import(repo: Repo) -> None:
    files = [
        "AGENTS.md", "CLAUDE.md", "GEMINI.md", "src/AGENTS.md", ".cursor/rules/a.mdc",
        ".github/copilot-instructions.md", ".github/instructions/a.instructions.md", ".claude/rules/a.md",
        ".claude/CLAUDE.md",
    ]  # fmt: skip
    repo.commit("rules", dict.fromkeys(files, "See [x](gone-for-good.md).\n"))
    value = json.loads(check(repo, "--json").output)
    assert sorted(each["file"] for each in value["findings"]) == sorted(files)
    assert all(each["line"] == 1 for each in value["findings"])


@pytest.mark.requirement("003/anchors/sarif")
def test_findings_are_sarif(repo: Repo) -> None:
    repo.commit("rules", {"AGENTS.md": "\nSee [x](gone%20x.md).\n"})
    result = check(repo, "--sarif")
    assert result.exit_code == 1
    value: dict[str, Any] = json.loads(result.output)
    (run,) = value["runs"]
    (found,) = run["results"]
    assert value["version"] == "2.1.0"
    assert found["ruleId"] in {each["id"] for each in run["tool"]["driver"]["rules"]}
    assert found["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    assert "gone x.md" in found["message"]["text"]


def test_a_project_without_git_is_checked_as_far_as_it_goes(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "AGENTS.md").write_text("[x](none.md) `src/a.py` [y](b.md)\n")
    (root / "b.md").write_text("x")
    assert verdicts(Repo(root)) == {"none.md": ("dead", ""), "src/a.py": ("unknown", ""), "b.md": ("alive", "")}


@pytest.mark.requirement("003/anchors/entries")
def test_bodies_of_entries_are_checked_too(repo: Repo) -> None:
    own = entry("own", body="Use `src/settings.py`.")
    repo.commit("rules", {"instructions/own.json": json.dumps(own, indent=2)})
    (repo.path / "src/settings.py").unlink()
    repo.commit("gone")
    said = check(repo)
    assert said.exit_code == 1
    assert "instructions/own.json:4: dead: src/settings.py" in said.output


@pytest.mark.requirement("003/anchors/gate")
def test_a_gate_counts_dead_and_moved_anchors(repo: Repo) -> None:
    gates = [
        {
            "id": "none-dead",
            "type": "anchors",
            "where": {"status": "dead"},
            "op": "==",
            "value": 0,
            "severity": "error",
        },
        {"id": "few", "type": "anchors", "op": "<=", "value": 5, "severity": "warn"},
    ]
    repo.commit("rules", {"AGENTS.md": "[x](gone.md)\n", "instructions/gates.json": json.dumps({"gates": gates})})
    with client_of("memory", Catalogue(repo.path, repo.path.parent / "home")) as client:
        found = {each["id"]: (each["count"], each["passed"]) for each in client.ask("gates/evaluate")["results"]}
    assert found == {"none-dead": (1, False), "few": (1, True)}
    gates[0]["where"] = {"category": "x"}
    repo.commit("bad", {"instructions/gates.json": json.dumps({"gates": gates})})
    result = CliRunner().invoke(main, ["gates", "--root", str(repo.path)], env={"CAIRN_HOME": str(repo.path.parent)})
    assert result.exit_code == 2


@pytest.mark.requirement("003/anchors/binding")
def test_an_entry_that_names_code_says_how_it_stands(repo: Repo) -> None:
    repo.commit("rules", {
        "instructions/file.json": json.dumps(entry("file", appliesTo={"globs": ["/src/server.py"]})),
        "instructions/name.json": json.dumps(entry("name", appliesTo={"symbols": ["SettingsReader"]})),
    })  # fmt: skip
    with client_of("memory", Catalogue(repo.path, repo.path.parent / "home")) as client:
        assert binding(client, "file") == {"status": "fresh"}
        assert binding(client, "name") == {"status": "fresh"}
        changed = repo.commit("change", {"src/server.py": f"{OTHER}\nX = 1\n"})
        removed = repo.commit("remove", {"src/settings.py": "def load_settings():\n    return 1\n"})
        assert binding(client, "file") == {
            "status": "drifted", "reason": "src/server.py has changed since", "since": changed,
        }  # fmt: skip
        assert binding(client, "name") == {"status": "orphaned", "reason": "SettingsReader is gone", "since": removed}
    said = check(repo)
    assert f"note: instructions/file.json: drifted: src/server.py has changed since, since {changed[:9]}" in said.output
    assert "instructions/name.json: orphaned: SettingsReader is gone" in said.output
    assert said.exit_code == 1


def binding(client: Client, identity: str) -> dict[str, Any]:
    found: dict[str, Any] = client.ask("instructions/get", id=identity)["item"]["binding"]
    return found


def test_a_rule_file_that_is_too_large_is_said_not_to_be_looked_at(repo: Repo) -> None:
    repo.commit("rules", {"AGENTS.md": "Read `src/settings.py`.\n" * 100_000, "CLAUDE.md": "Read `docs/guide.md`.\n"})
    findings = json.loads(check(repo, "--json").output)["findings"]
    assert any(each["message"].startswith("AGENTS.md: not looked at (") for each in findings), findings
