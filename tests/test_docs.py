"""What the documents say is generated from, or checked against, what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from codecairn import tools
from codecairn.cli import main
from codecairn.commands import COMMANDS
from tests.support import architecture
from tests.support.layers import PACKAGE

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def test_the_reference_is_the_generated_one() -> None:
    """In a process of its own: a command that a test has run by itself remembers other options of help."""
    command = [sys.executable, "-m", "codecairn", "reference"]
    generated = subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == generated


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_readme_names_every_tool_and_both_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in tools.standard().tools if f"`{name}`" not in readme] == []
    assert "make demo" in readme
    assert "make test" in readme


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_that_says_what_it_does(name: str) -> None:
    shown = CliRunner().invoke(main, [name, "--help"])
    assert shown.exit_code == 0, shown.output
    assert len(shown.output.split("\n\n")[1].split()) > 4


def test_the_picture_of_the_layers_is_the_one_of_the_table() -> None:
    page = architecture.PAGE.read_text(encoding="utf-8")
    assert page == architecture.current(page), "run `python -m tests.support.architecture`"


MODULE = re.compile(r"`((?:codecairn/)?[a-z_]+(?:/[a-z_]+)+(?:\.py)?|codecairn/[a-z_]+\.py|[a-z_]+/)`")


@pytest.mark.parametrize("page", [architecture.PAGE, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.name)
def test_every_module_that_a_page_names_is_there(page: Path) -> None:
    named = MODULE.findall(page.read_text(encoding="utf-8"))
    places = {each: PACKAGE / each.removeprefix("codecairn/").removesuffix(".py") for each in named}
    assert len(places) > 10
    lost = [each for each, place in places.items() if not (place.is_dir() or place.with_suffix(".py").is_file())]
    assert [each for each in lost if not (ROOT / each).exists()] == []


def test_contributing_names_every_package() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = sorted(each.parent.name for each in PACKAGE.glob("*/__init__.py"))
    assert [name for name in packages if f"`{name}/`" not in page] == []
