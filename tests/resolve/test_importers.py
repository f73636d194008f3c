"""Who imports whom in small projects, one for each way of importing.

Each file under `importers/` is one project: `=== path` begins a file of it, and `<< path, …` after that are the files
that import it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.errors import Cancelled
from codecairn.resolve.file_imports import count_importers
from tests.resolve.test_projects import resolving

PROJECTS = sorted((Path(__file__).parent / "importers").glob("*.txt"))


def read(path: Path) -> tuple[dict[str, str], dict[str, set[str]]]:
    """The files of a project, and by whom each that is imported is."""
    files, importing = {}, {}
    for part in path.read_text(encoding="utf-8").split("=== ")[1:]:
        head, _, text = part.partition("\n")
        name, _, marks = head.partition(" << ")
        files[name] = text
        if marks:
            importing[name] = set(marks.split(", "))
    return files, importing


def counted(tmp_path: Path, files: dict[str, str]) -> dict[str, int]:
    with resolving(tmp_path / "project", tmp_path / "home", files) as engine:
        return count_importers(engine.view, Cancel())


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_each_file_is_counted_for_those_that_import_it(path: Path, tmp_path: Path) -> None:
    files, importing = read(path)
    assert set.union(*importing.values()) <= files.keys()
    assert counted(tmp_path, files) == {name: len(others) for name, others in importing.items()}


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.stem)
def test_a_file_that_is_gone_imports_nothing_and_is_not_counted(path: Path, tmp_path: Path) -> None:
    files, importing = read(path)
    gone = sorted(next(iter(importing.values())))[0]
    left = {name: others - {gone} for name, others in importing.items() if name != gone}
    found = counted(tmp_path, {name: text for name, text in files.items() if name != gone})
    assert found == {name: len(others) for name, others in left.items() if others}


def test_exports_nested_beyond_reason_name_nothing(tmp_path: Path) -> None:
    exports = '{"import": ' * 900 + '"./a.js"' + "}" * 900
    files = {
        "deep/package.json": f'{{"name": "deep", "exports": {exports}}}',
        "deep/a.js": "export const a = 1;\n",
        "main.js": 'import { a } from "deep";\n',
    }
    assert counted(tmp_path, files) == {}


def test_counting_can_be_given_up(tmp_path: Path) -> None:
    cancel = Cancel()
    cancel.set()
    with (
        resolving(tmp_path / "project", tmp_path / "home", {"a.py": "import b\n", "b.py": ""}) as engine,
        pytest.raises(Cancelled),
    ):
        count_importers(engine.view, cancel)
