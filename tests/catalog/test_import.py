"""cairn instructions import: files of rules become entries, a section each, and are themselves never touched."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cli import main
from tests.catalog.catalogue import Catalogue, Client, sha256
from tests.catalog.test_entries import problems

AGENTS = """\
Read this first.

# Rules

Always test.

## Style ##

Be short.

```sh
# not a heading
```

# Rules

Again.
"""
CURSOR = "---\ndescription: Web\nglobs: *.ts\n---\n\nPrefer functions.\n"


def run(catalogue: Catalogue, *arguments: str) -> Result:
    return CliRunner().invoke(
        main, ["instructions", *arguments, "--root", str(catalogue.root)], env={"CAIRN_HOME": str(catalogue.home)}
    )


def imported(catalogue: Catalogue, *arguments: str) -> list[str]:
    result = run(catalogue, "import", *arguments)
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


def said(lines: list[str]) -> dict[str, str]:
    """id → what was done about it."""
    return {line.split(": ", 1)[1].split("  ")[0]: line.split(": ", 1)[0] for line in lines}


def source(catalogue: Catalogue, name: str, text: str | bytes) -> Path:
    path = catalogue.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def entries(client: Client) -> dict[str, dict[str, Any]]:
    assert problems(client) == []
    return {item["id"]: item for item in client.ask("instructions/list")["items"]}


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_each_section_becomes_an_entry_with_its_source(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", AGENTS)
    source(catalogue, "CLAUDE.md", "## Claude\r\n\r\nThink.\r\n")
    source(catalogue, ".github/copilot-instructions.md", "# Pilot\nFly.")
    source(catalogue, ".cursor/rules/web.mdc", CURSOR)
    imported(catalogue)
    found = entries(client)
    assert {identity: item["body"] for identity, item in found.items()} == {
        "agents": "Read this first.",
        "agents-rules": "Always test.",
        "agents-rules-style": "Be short.\n\n```sh\n# not a heading\n```",
        "agents-rules-2": "Again.",
        "claude-claude": "Think.",
        "copilot-instructions-pilot": "Fly.",
        "cursor-web": "Prefer functions.",
    }
    assert found["agents-rules-style"]["title"] == "Style"
    assert found["agents-rules-style"]["source"] == "AGENTS.md#Style"
    assert found["cursor-web"]["source"] == ".cursor/rules/web.mdc#web.mdc"
    assert found["cursor-web"]["categories"] == ["cursor"]
    assert client.ask("integrity/verify")["issueCount"] == 0


def test_a_dry_run_shows_what_would_be_done_and_writes_nothing(catalogue: Catalogue) -> None:
    path = source(catalogue, "AGENTS.md", AGENTS)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    assert said(imported(catalogue, "--dry-run"))["agents-rules"] == "would add"
    assert not catalogue.folder.exists()
    assert said(imported(catalogue))["agents-rules"] == "added"
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_importing_again_changes_only_what_changed(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", AGENTS)
    imported(catalogue)
    before = snapshot(catalogue.folder)
    assert set(said(imported(catalogue)).values()) == {"unchanged"}
    assert snapshot(catalogue.folder) == before
    source(catalogue, "AGENTS.md", AGENTS.replace("Be short.", "Be brief."))
    assert said(imported(catalogue))["agents-rules-style"] == "updated"
    after = snapshot(catalogue.folder)
    assert {name for name in after if after[name] != before[name]} == {"agents-rules-style.json"}
    assert entries(client)["agents-rules-style"]["body"].startswith("Be brief.")
    assert client.ask("integrity/verify")["issueCount"] == 0


def test_what_people_set_on_an_entry_stays(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", AGENTS)
    imported(catalogue)
    path = catalogue.folder / "agents-rules.json"
    mine = {"priority": 3, "requirement": "mandatory", "categories": ["mine"], "rationale": "so", "title": "My title"}
    path.write_text(json.dumps({**json.loads(path.read_text()), **mine}))
    path.rename(path.with_name("renamed.json"))
    assert said(imported(catalogue))["agents-rules"] == "unchanged"
    source(catalogue, "AGENTS.md", AGENTS.replace("Always test.", "Test always."))
    assert said(imported(catalogue))["agents-rules"] == "updated"
    item = entries(client)["agents-rules"]
    assert item["body"] == "Test always."
    assert {name: item[name] for name in ("priority", "requirement", "categories", "rationale")} == {
        name: mine[name] for name in ("priority", "requirement", "categories", "rationale")
    }


def test_what_people_wrote_themselves_is_left_alone_and_said(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", AGENTS)
    imported(catalogue)
    edited = catalogue.folder / "agents-rules.json"
    edited.write_text(json.dumps({**json.loads(edited.read_text()), "body": "By hand."}))
    catalogue.add("agents-rules-style", body="Ours.", sourceHash=sha256("Ours."))
    broken = catalogue.write("agents.json", "{ half")
    other = catalogue.add("another", file="agents-rules-2.json")
    before = snapshot(catalogue.folder)
    source(catalogue, "AGENTS.md", AGENTS.replace("Always", "Never").replace("short", "long"))
    done = said(imported(catalogue))
    assert done["agents-rules"] == done["agents-rules-style"] == "edited by hand, left alone"
    assert done["agents"] == "does not load, left alone"
    assert done["agents-rules-2"] == "added"
    after = snapshot(catalogue.folder)
    assert {name: after[name] for name in before} == before
    assert json.loads((catalogue.folder / "agents-rules-2-2.json").read_text())["id"] == "agents-rules-2"
    assert broken.read_text() == "{ half"
    assert json.loads(other.read_text())["id"] == "another"


def test_a_section_that_is_gone_leaves_its_entry_and_is_said(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", AGENTS)
    imported(catalogue)
    catalogue.add("mine", source="the wiki")
    source(catalogue, "AGENTS.md", "# Rules\n\nAlways test.\n")
    done = said(imported(catalogue))
    assert done["agents-rules-style"] == "no longer in its source, left alone"
    assert "mine" not in done
    assert "agents-rules-style" in entries(client)


def test_a_file_under_two_names_is_imported_once(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", "# A\nOne.")
    (catalogue.root / "CLAUDE.md").symlink_to("AGENTS.md")
    imported(catalogue)
    assert list(entries(client)) == ["agents-a"]


@pytest.mark.parametrize("kind", ["outside", "nowhere", "pipe", "folder", "large"])
def test_what_cannot_be_imported_is_said(catalogue: Catalogue, kind: str) -> None:
    path = catalogue.root / "AGENTS.md"
    (catalogue.root.parent / "secret.md").write_text("# Secret\nvalue")
    if kind == "outside":
        path.symlink_to("../secret.md")
    elif kind == "nowhere":
        path.symlink_to("no-such-file")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.write_text("x" * ((1 << 20) + 1))
    source(catalogue, "CLAUDE.md", "Think.")
    done = said(imported(catalogue))
    assert done["claude"] == "added"
    if kind != "nowhere":
        assert done["AGENTS.md"] == "not read"


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        ("````md\n```\n# in\n```\n````\n# Out\nx", ["````md\n```\n# in\n```\n````", "x"]),
        ("~~~\n# in\n```\n# in\n~~~\n# Out\nx", ["~~~\n# in\n```\n# in\n~~~", "x"]),
        ("```sh\n# never closed", ["```sh\n# never closed"]),
        ("# \nno title\n#\nnone either", ["no title", "none either"]),
        ("#hashtag\n####### seven", ["#hashtag\n####### seven"]),
        ("\ufeff# Marked\nx", ["x"]),
        ("# C# and F#\nx", ["x"]),
        ("# Only headings\n## Nothing else", []),
        ("---\nnot: closed\n# A\nx", ["---\nnot: closed", "x"]),
        ("", []),
    ],
)
def test_markdown_is_split_at_its_headings_and_nowhere_else(
    client: Client, catalogue: Catalogue, text: str, bodies: list[str]
) -> None:
    source(catalogue, "AGENTS.md", text)
    imported(catalogue)
    assert sorted(item["body"] for item in entries(client).values()) == sorted(bodies)


def test_any_heading_makes_an_entry_that_loads(client: Client, catalogue: Catalogue) -> None:
    headings = [
        "漢" * 300,
        "x" * 2_000,
        "🎉",
        "../../etc/passwd",
        "a|b\tc",
        "CON",
        "#" * 50_000 + "x",
        " " * 50_000 + "y",
    ]
    began = time.monotonic()
    source(
        catalogue, "AGENTS.md", "".join(f"# {heading}\nbody {number}\n\n" for number, heading in enumerate(headings))
    )
    imported(catalogue)
    assert time.monotonic() - began < 20
    assert sorted(item["body"] for item in entries(client).values()) == [f"body {n}" for n in range(len(headings))]
    assert set(said(imported(catalogue)).values()) == {"unchanged"}


def test_invalid_utf8_is_imported_with_marks_in_its_place(client: Client, catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", b"# A\nbad \xff byte")
    imported(catalogue)
    assert entries(client)["agents-a"]["body"] == "bad \N{REPLACEMENT CHARACTER} byte"


def test_nothing_is_written_through_a_folder_that_leads_outside(catalogue: Catalogue) -> None:
    source(catalogue, "AGENTS.md", AGENTS)
    outside = catalogue.root.parent / "outside"
    outside.mkdir()
    catalogue.folder.symlink_to(outside)
    result = run(catalogue, "import")
    assert result.exit_code == 1
    assert list(outside.iterdir()) == []


def test_a_project_without_files_of_rules_says_so(catalogue: Catalogue) -> None:
    (line,) = imported(catalogue)
    assert line.startswith("Nothing to import")
    assert not catalogue.folder.exists()
