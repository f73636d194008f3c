"""cairn memory: the commands a person has, and harvesting what a project has written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from codecairn.cancel import Cancel
from codecairn.cli import main
from codecairn.cli import memory as commands
from codecairn.memory.harvest import accept, proposals
from codecairn.store.discoveries import DiscoveryRow
from tests.support.memory import HOUSE, value_of
from tests.support.repo import Repo
from tests.support.search import Asking

Own = Callable[..., Asking]
COOKIES = "Refresh tokens live in httpOnly cookies, never in local storage."

WRITTEN: dict[str, str | bytes] = {
    **HOUSE,
    "docs/adr/0001-money.md": """\
# 1. Money as whole cents

Date: 2024-02-01

## Status

Accepted

## Context

Floats lose cents.

## Decision

We keep every amount as a whole number of cents, and
format it at the edge.

## Consequences

None.
""",
    "docs/adr/0002-old.md": "# 2. Floats\n\n## Status\n\nSuperseded by 1\n\n## Decision\n\nWe use floats for it.\n",
    "docs/decisions/use-go.md": (
        "# Use Go for the store\n\n* Status: accepted\n\n## Decision Outcome\n\nGo starts fast enough.\n"
    ),
    "AGENTS.md": """\
# Agents

Read this first.

## Style

- Functions have at most fifteen lines,
  and one return where they can.
- Short.

```text
- Never a rule, this is inside a fence of code.
```

## Secrets

- The key is AKIAIOSFODNN7EXAMPLE, keep it quiet please.
""",
    "app/late.py": (
        "# FIXME: refreshing twice signs the user out, see the mutex\n"
        "X = 'TODO is only a string in this line of code'\n"
    ),
}


@pytest.fixture
def written(own: Own) -> Asking:
    asked = own(WRITTEN)
    repo = Repo(asked.root, day=1)
    repo.commit(
        "fix(auth): refresh one at a time\n\nTwo tabs refreshed at once and signed each other out, because the store "
        "hands a token out once.\n\nSigned-off-by: Ada Lovelace <ada@example.org>",
        {"app/auth/lock.py": "LOCK = 1\n"},
    )
    repo.commit(
        "store: shelves are read whole\n\nReading a shelf line by line took longer than all else, so that it is read "
        "at once instead of in parts.",
        {"store/more.go": "package store\n"},
    )
    repo.commit("docs: no reason given\n\nJust words.", {"docs/more.md": "# More\n"})
    return asked


def run(asking: Asking, *arguments: str, **options: Any) -> Result:
    settings = {"CAIRN_HOME": str(asking.project.settings.data), "CAIRN_ROOT": str(asking.root)}
    return CliRunner().invoke(main, ["memory", *arguments], env=settings, **options)


def remember(asking: Asking, content: str = COOKIES, **about: Any) -> str:
    found = value_of(asking.answer("remember", type="rule", content=content, **about))
    return str(found["discovery"]["id"])


def rows(asking: Asking) -> list[DiscoveryRow]:
    return sorted(asking.project.discoveries.all(), key=lambda row: row.id)


def test_discoveries_are_listed_and_shown_with_how_they_stand(own: Own) -> None:
    asked = own(HOUSE)
    bound, plain = remember(asked, symbol="TokenStore.refresh"), remember(asked, "Invoices are written when paid.")
    listed = run(asked, "list")
    assert listed.exit_code == 0, listed.output
    assert f"{bound}  rule      fresh  {COOKIES}" in listed.output
    assert f"{plain}  rule      Invoices are written when paid." in listed.output
    shown = run(asked, "show", bound)
    assert "status: fresh" in shown.output
    assert shown.output.endswith(f"\n{COOKIES}\n")
    assert [each["id"] for each in json.loads(run(asked, "list", "--json", "--module", "auth").stdout)] == [bound]
    assert run(asked, "show", "d-none").exit_code == 1


def test_forgetting_names_what_is_gone(own: Own) -> None:
    asked = own(HOUSE)
    identity = remember(asked)
    assert f"forgotten: {identity}  {COOKIES}" in run(asked, "forget", identity).output
    again = run(asked, "forget", identity)
    assert again.exit_code == 1
    assert "No discovery" in again.output
    assert rows(asked) == []


def test_what_is_exported_imports_as_it_was_and_twice_is_once(own: Own, tmp_path: Path) -> None:
    asked, other = own(HOUSE), own({"other.py": ""}, indexed=False)
    remember(asked, symbol="TokenStore.refresh")
    remember(asked, "Invoices are written\nwhen paid: äöü.", path="main.py")
    file = tmp_path / "kept.jsonl"
    assert run(asked, "export", str(file)).exit_code == 0
    assert run(asked, "export").stdout == file.read_text(encoding="utf-8")
    assert "2 added, 0 updated, 0 known already" in run(other, "import", str(file)).output
    assert rows(other) == rows(asked)
    assert "0 added, 0 updated, 2 known already" in run(other, "import", str(file)).output
    assert "0 added, 0 updated, 2 known already" in run(asked, "import", "-", input=file.read_text("utf-8")).output


def test_the_later_of_two_is_kept(own: Own) -> None:
    asked = own(HOUSE)
    remember(asked)
    line = json.loads(run(asked, "export").stdout)
    later = {
        **line,
        "content": "Refresh tokens live in the key store of the system.",
        "updated": "2999-01-01T00:00:00Z",
    }
    assert "1 updated" in run(asked, "import", "-", input=json.dumps(later)).output
    assert "1 known already" in run(asked, "import", "-", input=json.dumps(line)).output
    assert [row.content for row in rows(asked)] == [later["content"]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "hunch"}, {"content": "short"}, {"content": "The password=hunter2 is for everyone."},
        {"path": "../../etc/passwd"}, {"path": ".env"}, {"created": "yesterday"}, {"id": "a b"}, {"id": 3},
        {"content_hash": "xyz"}, {"symbol": "a\nb"},
    ],
    ids=str,
)  # fmt: skip
def test_one_bad_line_imports_nothing(own: Own, wrong: dict[str, Any]) -> None:
    asked = own(HOUSE, indexed=False)
    good = {"id": "d-1", "type": "rule", "content": COOKIES, "created": "2025-01-01T00:00:00Z"}
    good["updated"] = good["created"]
    lines = [json.dumps(good), json.dumps({**good, "id": "d-2", "content": "Another rule of this house.", **wrong})]
    found = run(asked, "import", "-", input="\n".join(lines))
    assert found.exit_code == 1
    assert "Line 2" in found.output
    assert "nothing was imported" in found.output
    assert rows(asked) == []


def test_harvest_proposes_what_is_written_and_stores_nothing(written: Asking) -> None:
    found = {each.where.split(":")[0] + ":" + each.type: each for each in _proposed(written).values()}
    adr = found["adr:decision"]
    assert adr.content in (
        "Money as whole cents: We keep every amount as a whole number of cents, and format it at the edge.",
        "Use Go for the store: Go starts fast enough.",
    )
    contents = [each.content for each in _proposed(written).values()]
    assert "Style: Functions have at most fifteen lines, and one return where they can." in contents
    assert found["commit:issue"].content.startswith("fix(auth): refresh one at a time. Two tabs refreshed at once")
    assert found["commit:issue"].module == "auth"
    assert found["commit:decision"].content.startswith("store: shelves are read whole. Reading a shelf")
    assert "Signed-off-by" not in str(contents)
    assert found["todo:issue"].content == (
        "FIXME in app/late.py (since 2025-03-01, Ada Lovelace): refreshing twice signs the user out, see the mutex"
    )
    assert not any(word in str(contents) for word in ("floats", "AKIA", "fence", "only a string", "no reason"))
    listed = run(written, "harvest")
    assert "nothing stored" in listed.output
    assert rows(written) == []


def _proposed(asking: Asking) -> dict[str, Any]:
    return dict(proposals(asking.project, Cancel()))


def test_accepting_stores_what_was_named_and_proposes_it_no_more(written: Asking) -> None:
    before = _proposed(written)
    first = next(iter(before))
    assert run(written, "harvest", "--accept", first).exit_code == 0
    (row,) = rows(written)
    assert row.content == before[first].content
    assert row.path == before[first].path
    assert _proposed(written).keys() == before.keys() - {first}
    assert run(written, "harvest", "--all").exit_code == 0
    assert len(rows(written)) == len(before)
    assert _proposed(written) == {}
    assert run(written, "harvest", "--accept", "00000000").exit_code == 2


def test_what_somebody_said_already_is_not_proposed(written: Asking) -> None:
    remember(written, "Style: functions have at most fifteen lines and one return where they can")
    assert not any(each.where == "rules:AGENTS.md" for each in _proposed(written).values())


def test_a_person_is_asked_one_by_one(written: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _proposed(written)
    answers = iter(["y", "n", "q"])
    monkeypatch.setattr("click.prompt", lambda *_, **__: next(answers))
    commands.ask_one_by_one(written.project, found)
    assert [row.content for row in rows(written)] == [next(iter(found.values())).content]


def test_one_source_may_be_named(written: Asking) -> None:
    listed = json.loads(run(written, "harvest", "--from", "adr", "--json").stdout)
    assert {each["where"] for each in listed} == {"adr:docs/adr/0001-money.md", "adr:docs/decisions/use-go.md"}


def test_outside_a_repository_files_are_still_read(tmp_path: Path) -> None:
    from codecairn.config import Settings
    from codecairn.project import Project

    root = tmp_path / "plain"
    (root / "docs/adr").mkdir(parents=True)
    (root / "docs/adr/1.md").write_text(
        "# Keep it plain\n\n## Decision\n\nNo repository is needed.\n", encoding="utf-8"
    )
    project = Project(root.resolve(), Settings(data=tmp_path / "home"))
    ((_, found),) = proposals(project, Cancel()).items()
    assert accept(project, found).row.content == "Keep it plain: No repository is needed."
