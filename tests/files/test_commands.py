"""cairn read and cairn grep, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from codecairn.cli.tool_call import translate_errors
from codecairn.errors import CairnError
from tests.support.repo import Repo


@pytest.fixture
def here(repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repo:
    monkeypatch.setenv("CAIRN_HOME", str(tmp_path / "home"))
    repo.commit(
        "one", {"src/a.py": "import src.b\nimport os\n\nold = 1\n", "src/b.py": "b = 1\n", "src/__init__.py": ""}
    )
    repo.write("src/a.py", "import src.b\nimport os\n\nnew = 1\n")
    monkeypatch.chdir(repo.path / "src")
    return repo


def cairn(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*arguments])


def test_a_file_is_read_from_where_one_stands(here: Repo) -> None:
    done = cairn("read", "a.py", "--lines", "3-4")
    assert done.exit_code == 0, done.output
    assert done.output == "src/a.py  python, 4 lines, core\n     3  \n     4  new = 1\n"
    assert cairn("read", "a.py", "--plain", "--lines", "4").output == "new = 1\n"
    assert "old = 1" in cairn("read", "a.py", "--ref", "HEAD").output
    assert json.loads(cairn("read", str(here.path / "src/a.py"), "--json").output)["file"]["path"] == "src/a.py"


def test_what_it_imports_is_named(here: Repo) -> None:
    done = cairn("read", "a.py", "--deps")
    assert done.exit_code == 0, done.output
    assert "imports  src/b.py  1 lines\n" in done.output
    assert "external  os\n" in done.output


def test_what_cannot_be_read_ends_with_the_reason(here: Repo) -> None:
    (here.path / ".env").write_text("SECRET")
    for arguments, reason in (
        (["gone.py"], "File not found"),
        (["../.env"], "Permission denied"),
        (["a.py", "--lines", "x"], "give 10-20"),
        (["a.py", "--lines", "0-1"], "give 10-20"),
        (["a.py", "--lines", "9-"], "Invalid line range"),
        (["a.py", "--ref", "nowhere"], "Invalid commit reference"),
    ):
        done = cairn("read", *arguments)
        assert done.exit_code != 0
        assert reason in done.output
        assert "SECRET" not in done.output


def test_a_project_is_searched_from_where_one_stands(here: Repo) -> None:
    done = cairn("grep", r"^(OLD|NEW) = \d")
    assert done.exit_code == 0, done.output
    assert done.stdout == "1 match in 3 files\nsrc/a.py\n    4: new = 1\n"
    assert cairn("grep", "old", "--ref", "HEAD").stdout.endswith("src/a.py\n    4: old = 1\n")
    assert cairn("grep", "NEW", "-s").exit_code == 1
    assert cairn("grep", "import", "--glob", "*.ts").exit_code == 1
    assert cairn("grep", "new", "-C").stdout.endswith("    3-\n    4: new = 1\n")
    assert json.loads(cairn("grep", "new", "--json").stdout)["totalMatches"] == 1
    assert "Invalid regex pattern: unclosed group" in cairn("grep", "(").output


def test_an_outline_may_be_of_a_ref(here: Repo) -> None:
    assert "new" in cairn("outline", "a.py").output
    done = cairn("outline", "a.py", "--ref", "main")
    assert done.exit_code == 0, done.output
    assert "old" in done.output


def test_a_terminal_is_sent_no_escapes_of_a_file_or_its_name(here: Repo) -> None:
    here.write("src/o\u202edd.py", "# \x1b]0;title\x07 \x1b[2J\nodd = 1\n")
    shown = cairn("read", "o\u202edd.py")
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines()[0].startswith("src/o\\u202edd.py  ")
    assert "# \\x1b]0;title\\x07 \\x1b[2J" in shown.output
    assert cairn("read", "o\u202edd.py", "--plain").output.startswith("# \x1b]0;title\x07")
    with pytest.raises(click.ClickException) as raised, translate_errors():
        raise CairnError("No such file", remedy="Did you mean o\u202edd.py?")
    assert raised.value.message == "No such file. Did you mean o\\u202edd.py?"
