"""cairn state: what a person sees, and that searches answer as before on the other side."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
import zstandard
from click.testing import CliRunner, Result

from codecairn.cli import main
from codecairn.config import Settings
from codecairn.project import Project
from tests.state.machines import Machine
from tests.support.doors import open_door, service

requirement = pytest.mark.requirement


def cairn(machine: Machine, *arguments: object) -> Result:
    environment = {"CAIRN_HOME": str(machine.home)}
    return CliRunner().invoke(main, [*map(str, arguments), "--workspace", str(machine.repo.path)], env=environment)


def searched(machine: Machine, door_name: str, query: str, ref: str | None) -> list[Any]:
    asked = {"path": str(machine.repo.path), "query": query, "ref": ref}
    with open_door(door_name, service(machine.repo.path, data=machine.home)) as door:
        return [
            {key: value for key, value in each.items() if key not in ("project_path", "root_path")}
            for each in door.call("search_code", asked).value["results"]
        ]


@requirement("ruling/cli/state-export-archive")
def test_export_writes_an_archive(here: Machine, tmp_path: Path) -> None:
    path = tmp_path / "state.tar.zst"
    ran = cairn(here, "state", "export", path)
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.startswith(f"Exported 2 refs to {path}: 0.")
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        data = io.BytesIO(stream.read())
    with tarfile.open(fileobj=data) as tar:
        assert tar.getnames()[:2] == ["manifest.json", "index.db"]
        manifest = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
    assert {ref["name"] for ref in manifest["refs"]} == {"main", "feature"}


@requirement("ruling/cli/state-import-restores")
def test_import_restores_what_searches_answer(here: Machine, there: Machine, exported: Path, door_name: str) -> None:
    ran = cairn(there, "state", "import", exported)
    assert ran.exit_code == 0, ran.output
    assert "; 0 files were read anew" in ran.stdout
    for ref in (None, "main", "feature"):
        found = searched(there, door_name, "halve the sum", ref)
        assert found == searched(here, door_name, "halve the sum", ref)
        assert ("discount.py" in json.dumps(found)) is (ref == "feature")


@requirement("ruling/cli/verbose-and-workspace")
def test_verbose_names_the_refs(here: Machine, there: Machine, tmp_path: Path) -> None:
    path = tmp_path / "state.tar.zst"
    for ran in (cairn(here, "state", "export", path, "-v"), cairn(there, "state", "import", path, "--verbose")):
        assert f"  {here.repo.git('rev-parse', 'main')[:10]}  main, the default branch\n" in ran.stdout
        assert f"  {here.repo.git('rev-parse', 'feature')[:10]}  feature\n" in ran.stdout
        assert "vectors by cairn-static-1" in ran.stdout


def test_what_goes_wrong_is_said_with_a_remedy(here: Machine, tmp_path: Path) -> None:
    (tmp_path / "text.tar.zst").write_text("no archive" * 10)
    ran = cairn(here, "state", "import", tmp_path / "text.tar.zst")
    assert ran.exit_code == 1
    assert "Not an archive that can be used" in ran.stderr
    assert "Nothing was changed" in ran.stderr
    ran = cairn(here, "state", "export", tmp_path / "nowhere" / "state.tar.zst")
    assert ran.exit_code == 1
    assert "cannot be written" in ran.stderr


def test_discoveries_travel_where_both_sides_ask_for_it(here: Machine, there: Machine, tmp_path: Path) -> None:
    path = tmp_path / "state.tar.zst"
    with open_door("memory", service(here.repo.path, data=here.home)) as door:
        said = "Weights are in grams everywhere"
        assert not door.call("remember", {"type": "rule", "content": said, "path": "basket.py"}).is_error
    assert cairn(here, "state", "export", path).exit_code == 0
    assert "iscoveries" not in cairn(there, "state", "import", path).stdout
    assert cairn(here, "state", "export", path, "--memory").exit_code == 0
    assert "It has discoveries too" in cairn(there, "state", "import", path).stdout
    assert remembered(there) == []
    assert "Discoveries: 1 added, 0 updated" in cairn(there, "state", "import", path, "--memory").stdout
    assert "Discoveries: 0 added, 0 updated, 1 known" in cairn(there, "state", "import", path, "--memory").stdout
    assert remembered(there) == remembered(here) == [("rule", said, "basket.py")]


def test_an_archive_whose_discoveries_are_none_is_refused_whole(here: Machine, there: Machine, tmp_path: Path) -> None:
    here.export(tmp_path / "state.tar.zst", notes={"notes/discoveries.jsonl": b"not a line of JSON\n"})
    there.index()
    before = there.listing()
    ran = cairn(there, "state", "import", tmp_path / "state.tar.zst")
    assert ran.exit_code == 1
    assert "Line 1" in ran.stderr
    assert there.listing() == before


def remembered(machine: Machine) -> list[tuple[str, str, str | None]]:
    project = Project(machine.repo.path, Settings(data=machine.home))
    return [(row.type, row.content, row.path) for row in project.discoveries.all()]
