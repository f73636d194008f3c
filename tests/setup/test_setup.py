"""`cairn setup` as a user runs it, in a home of its own."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from codecairn.clients import known_clients
from codecairn.setup.plan import GUIDE, invocation
from tests.support.repo import Repo

COMMAND = invocation()[0]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repo: Repo) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    repo.commit("one", {"a.py": "def one():\n    return 1\n"})
    for name, value in {"HOME": home, "XDG_CONFIG_HOME": home / ".config", "CAIRN_HOME": tmp_path / "data"}.items():
        monkeypatch.setenv(name, str(value))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.chdir(repo.path)
    return home


def setup(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["setup", *arguments])


def picture(*folders: Path) -> dict[str, tuple[int, bytes]]:
    paths = [path for folder in folders for path in folder.rglob("*") if ".git" not in path.parts]
    return {str(path): (path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths}


def every_client() -> list[str]:
    return [part for name in known_clients() for part in ("--client", name)]


@pytest.mark.parametrize("scope", [[], ["--project"]], ids=["user", "project"])
def test_every_client_is_set_up_and_taken_back(home: Path, repo: Repo, scope: list[str]) -> None:
    before = picture(home, repo.path)
    done = setup("--yes", "--no-index", *scope, *every_client())
    assert ("✗" in done.output) is bool(scope)  # two have no files of a project
    written = picture(home, repo.path)
    assert len(written) > len(before) + 6
    assert "needs no change" in setup("--yes", "--no-index", *scope, *every_client()).output
    assert picture(home, repo.path) == written
    assert setup("--remove", "--yes").exit_code == 0
    assert picture(home, repo.path) == before


def test_entries_are_as_the_clients_document_them(home: Path) -> None:
    setup("--yes", "--no-index", *every_client())
    claude = json.loads((home / ".claude.json").read_text())["mcpServers"]["cairn"]
    assert claude == {"type": "stdio", "command": COMMAND, "args": ["serve"]}
    codex = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["cairn"]
    assert codex == {"command": COMMAND, "args": ["serve"]}
    vscode = json.loads((home / ".config/Code/User/mcp.json").read_text())["servers"]["cairn"]
    assert vscode["type"] == "stdio"
    opencode = json.loads((home / ".config/opencode/opencode.json").read_text())["mcp"]["cairn"]
    assert opencode == {"type": "local", "command": [COMMAND, "serve"]}
    assert "cairn" in json.loads((home / ".config/zed/settings.json").read_text())["context_servers"]
    desktop = json.loads((home / ".config/Claude/claude_desktop_config.json").read_text())["mcpServers"]["cairn"]
    assert desktop["args"][:2] == ["serve", "--root"]


def test_a_server_by_its_url(home: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_TOKEN", "s3cret")
    names = ["--client", "claude-code", "--client", "codex", "--client", "windsurf", "--client", "claude-desktop"]
    done = setup("--yes", "--url", "http://127.0.0.1:9/mcp", *names)
    assert "takes no server by its URL" in done.output
    assert "s3cret" not in done.output
    claude = json.loads((home / ".claude.json").read_text())["mcpServers"]["cairn"]
    assert claude["headers"] == {"Authorization": "Bearer s3cret"}
    assert stat.S_IMODE((home / ".claude.json").stat().st_mode) == 0o600
    codex = tomllib.loads((home / ".codex/config.toml").read_text())["mcp_servers"]["cairn"]
    assert codex == {"url": "http://127.0.0.1:9/mcp", "bearer_token_env_var": "CAIRN_TOKEN"}
    assert "serverUrl" in (home / ".codeium/windsurf/mcp_config.json").read_text()
    setup("--yes", "--project", "--url", "http://127.0.0.1:9/mcp", "--client", "claude-code")
    assert "s3cret" not in (repo.path / ".mcp.json").read_text()
    assert "${CAIRN_TOKEN}" in (repo.path / ".mcp.json").read_text()
    assert setup("--url", "ftp://x").exit_code == 2


def test_nothing_is_written_on_a_dry_run_nor_without_a_yes(home: Path, repo: Repo, tmp_path: Path) -> None:
    before = picture(tmp_path)
    for arguments in (["--dry-run"], []):
        said = setup("--client", "cursor", *arguments)
        assert "Nothing was written" in said.output
        assert f'+      "command": "{COMMAND}"' in said.output
        assert picture(tmp_path) == before


def test_a_file_that_cannot_be_parsed_is_left_alone(home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    for broken in (b'{"a": ', b"\xff\xfe{\0}\0", b"[]"):
        path.write_bytes(broken)
        said = setup("--yes", "--no-index")
        assert said.exit_code == 1
        assert "left alone" in said.output
        assert path.read_bytes() == broken


def test_links_are_followed_and_modes_kept(home: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_bytes(b'{\r\n  "mcpServers": {}\r\n}')
    real.chmod(0o640)
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").symlink_to(real)
    before = picture(tmp_path / "dotfiles", home)
    setup("--yes", "--no-index")
    assert (home / ".cursor" / "mcp.json").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert b"cairn" in real.read_bytes()
    setup("--remove", "--yes")
    assert picture(tmp_path / "dotfiles", home) == before


def test_an_entry_that_works_already_stays_as_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(COMMAND).parent))
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    mine = '{"mcpServers": {"cairn": {"command": "cairn", "args": ["serve", "--no-watch"]}}}'
    path.write_text(mine)
    assert "needs no change" in setup("--yes", "--no-index").output
    assert path.read_text() == mine


def test_an_entry_of_another_installation_is_replaced_and_comes_back(home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    old = '{"mcpServers": {"cairn": {"command": "/old/cairn", "args": ["serve"], "env": {"CAIRN_BLOCK": "x"}}}}'
    path.write_text(old)
    setup("--yes", "--no-index")
    entry = json.loads(path.read_text())["mcpServers"]["cairn"]
    assert entry == {"command": COMMAND, "args": ["serve"], "env": {"CAIRN_BLOCK": "x"}}
    setup("--remove", "--yes")
    assert path.read_text() == old


def test_instructions_are_written_only_when_asked_for(home: Path, repo: Repo) -> None:
    guide = repo.path / "AGENTS.md"
    guide.write_text("# Ours\n")
    assert "--instructions" in setup("--yes", "--no-index", "--client", "cursor").output
    assert guide.read_text() == "# Ours\n"
    setup("--yes", "--no-index", "--client", "cursor", "--instructions")
    assert GUIDE in guide.read_text()
    assert "cairn search" in GUIDE
    setup("--remove", "--yes")
    assert guide.read_text() == "# Ours\n"


def test_the_project_is_indexed_and_the_server_proven(home: Path, repo: Repo) -> None:
    done = setup("--yes", "--client", "cursor")
    assert done.exit_code == 0, done.output
    assert "✓ Index" in done.output
    assert "✓ Server" in done.output
    assert CliRunner().invoke(main, ["search", "one"]).exit_code == 0


def test_no_client_here(home: Path) -> None:
    said = setup("--yes")
    assert said.exit_code == 1
    assert "--client" in said.output
    assert setup("--client", "cursr").exit_code == 2
    assert "cursor" in setup("--client", "cursr").output


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_client_has_a_place_on_every_system(home: Path, platform: str) -> None:
    places = [client.user_file() for client in known_clients(platform).values()]
    assert len(set(places)) == len(places)
    assert all(place.is_absolute() for place in places)


@pytest.mark.skipif(sys.platform == "win32", reason="bash")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_completed(shell: str) -> None:
    said = CliRunner().invoke(main, ["completion", shell])
    assert said.exit_code == 0
    assert "_CAIRN_COMPLETE" in said.output


def test_no_color_is_obeyed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = CliRunner().invoke(main, ["setup", "--dry-run", "--client", "cursor"], color=True)
    assert "\x1b[" in coloured.output
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in CliRunner().invoke(main, ["setup", "--dry-run", "--client", "cursor"], color=True).output


def test_a_team_server_is_called_with_its_token(home: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAIRN_TOKEN", "s3cret")
    command = [COMMAND, "serve", "--http", "127.0.0.1:0", "--root", str(repo.path), "--no-index"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]
        good = setup("--yes", "--client", "cursor", "--url", url)
        monkeypatch.setenv("CAIRN_TOKEN", "wrong")
        bad = setup("--yes", "--client", "cursor", "--url", url)
        server.terminate()
    assert (good.exit_code, bad.exit_code) == (0, 1), good.output + bad.output
    assert "✓ Server" in good.output
    assert "401" in bad.output


def test_outside_of_a_project_clients_are_set_up_all_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    assert setup("--yes", "--client", "cursor").exit_code == 0
    assert "which project" in setup("--yes", "--client", "windsurf").output
