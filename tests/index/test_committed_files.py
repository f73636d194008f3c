"""A working tree that is told from the base is the one that reading it gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index.committed_files import WORTH_ASKING
from codecairn.index.run import Options
from codecairn.index.state import adopt_state, export_state
from codecairn.project import Project
from codecairn.store.database import Entry
from tests.support.repo import Repo

FILES: dict[str, str | bytes] = {
    **{f"part{n}.py": f"def part_{n}():\n    return {n}\n" for n in range(WORTH_ASKING + 20)},
    "image.png": b"\x89PNG\r\n\x1a\n\0\0\0",
    "windows.py": b"def carriage():\r\n    return 1\r\n",
    "marked.py": "\ufeffdef mark():\n    return 1\n",
}


def manifest(project: Project) -> dict[str, Entry]:
    layer, opened = project.index.checkout(), project.index.open_index()
    assert layer is not None
    assert opened is not None
    return {path: each._replace(stat=each.stat._replace(mtime_ns=0)) for path, each in
            opened.store.manifest(layer.id).items()}  # fmt: skip


@pytest.mark.parametrize("at", ["its commit", "another commit"])
def test_it_is_as_if_every_file_had_been_read(tmp_path: Path, at: str) -> None:
    repo = Repo.create(tmp_path / "repo")
    repo.commit("first", FILES)
    archive = tmp_path / "state.tar.zst"
    export_state(Project(repo.path, Settings(data=tmp_path / "exporter")).index, archive, Cancel())
    repo.git("clone", "--quiet", str(repo.path), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    if at == "another commit":
        clone.commit("more", {"part3.py": "def other():\n    return 3\n", "fresh.py": "def fresh():\n    return 1\n"})
    clone.write("part5.py", "def edited():\n    return 5\n")
    clone.write("untracked.py", "def untracked():\n    return 5\n")
    (clone.path / "part6.py").unlink()
    clone.git("update-index", "--assume-unchanged", "part8.py")
    clone.write("part8.py", "def hidden():\n    return 8\n")
    told = Project(clone.path, Settings(data=tmp_path / "told"))
    adopt_state(told.index, archive, Cancel())
    report = told.index.index(Options(), force=False, cancel=Cancel())
    read = Project(clone.path, Settings(data=tmp_path / "read"))
    read.index.index(Options(), force=False, cancel=Cancel())
    assert manifest(told) == manifest(read)
    assert report.files_indexed == (5 if at == "another commit" else 3)
    for each in (told, read):
        each.close()
