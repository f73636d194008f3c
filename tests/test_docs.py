"""What the documents say is generated from, or checked against, what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from codecairn import tools
from codecairn.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def test_the_reference_is_the_generated_one() -> None:
    generated = CliRunner().invoke(main, ["reference"])
    assert generated.exit_code == 0, generated.output
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == generated.output


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
