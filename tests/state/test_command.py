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
