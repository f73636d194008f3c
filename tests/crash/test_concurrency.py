"""Many read while one writes, and of two who want to write one waits."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codecairn.cancel import Cancel
from codecairn.index import batch
from codecairn.index.digest import blob_id
from codecairn.index.project_index import ProjectIndex
from codecairn.index.run import Options
from tests.crash import rival
from tests.crash.doomed import SMALL_BATCH
from tests.crash.scene import PROBES, Scene, become, changed
from tests.support.indexes import LastingWorkers, index_once, project_index, snapshot_of
from tests.support.repo import Repo

FILES = 300
Seen = frozenset[tuple[str, bytes]]


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingWorkers]:
    pool = LastingWorkers(tmp_path_factory.mktemp("workers"), most=2)
    yield pool
    pool.end()


def branch(name: str) -> dict[str, str]:
    return {f"pkg{number % 7}/m{number}.py": f"def {name}_{number}():\n    pass\n" for number in range(FILES)}


def content(files: dict[str, str]) -> Seen:
    return frozenset((path, blob_id(text.encode(), "sha1")) for path, text in files.items())


def visible(index: ProjectIndex) -> Seen:
    opened = index.open_index()
    assert opened is not None
    with opened.store.reading() as database:
        ask = "SELECT manifest.path, file.blob FROM manifest JOIN file ON file.id = manifest.file"
        return frozenset(database.execute(ask).fetchall())


@dataclass
class Reader:
    """Reads as fast as it can, in a thread, with an index of its own."""

    root: Path
    home: Path
    seen: set[Seen] = field(default_factory=set)
    failure: BaseException | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        try:
            with project_index(self.root, self.home) as index:
                while not self.ended.is_set():
                    self.seen.add(visible(index))
        except BaseException as error:  # noqa: BLE001 - told by who started the thread
            self.failure = error

    @contextmanager
    def reading(self) -> Iterator[None]:
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self.ended.set()
            thread.join()
        if self.failure is not None:
            raise self.failure


def test_a_reader_sees_one_branch_or_the_other_and_never_half_of_each(
    tmp_path: Path, workers: LastingWorkers, trials: Callable[[int], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "_BATCH_BYTES", SMALL_BATCH)
    root, home = Repo.create(tmp_path / "project").path, tmp_path / "home"
    branches = branch("one"), branch("two") | {"extra.md": "# Extra\n"}
    become(root, branches[0])
    index_once(root, home, workers)
    reader = Reader(root, home)
    with reader.reading(), project_index(root, home, workers) as index:
        for number in range(1, trials(60) + 1):
            become(root, branches[number % 2])
            index.index(Options(), force=number % 3 == 0, cancel=Cancel())
    assert reader.seen == {content(each) for each in branches}


def test_reading_does_not_wait_for_a_writer_in_the_middle_of_its_transaction(
    tmp_path: Path, workers: LastingWorkers
) -> None:
    root, home = Repo.create(tmp_path / "project").path, tmp_path / "home"
    become(root, branch("one"))
    index_once(root, home, workers)
    with project_index(root, home) as writing, project_index(root, home) as reading:
        opened = writing.open_index()
        assert opened is not None
        with opened.store.writing() as database:
            database.execute("DELETE FROM manifest")
            assert visible(reading) == content(branch("one"))
        assert visible(reading) == frozenset()


def start_rival(scene: Scene, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", rival.__name__, str(scene.root), str(scene.home), str(seed)]
    folder = Path(__file__).parents[2]
    return subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_two_processes_that_index_the_same_project_end_in_the_index_of_one(
    tmp_path: Path, workers: LastingWorkers, seeded: random.Random, trials: Callable[[int], int]
) -> None:
    scene = Scene(tmp_path, workers, seeded).begin()
    files = scene.states[0]
    said: list[str] = []
    with ExitStack() as stack:
        rivals = [stack.enter_context(start_rival(scene, seed)) for seed in (1, 2)]
        for number in range(trials(100)):
            files = changed(seeded, files)
            become(scene.root, files)
            lines = rivals[number % 2].stdout
            assert lines is not None
            said.append(lines.readline())
        for each in rivals:
            said += each.communicate()[0].splitlines(keepends=True)
    assert {each.returncode for each in rivals} == {0}
    assert set(said) <= {"done\n", "busy\n"}
    index_once(scene.root, scene.home, workers)
    index_once(scene.root, tmp_path / "scratch", workers)
    wanted = snapshot_of(scene.root, tmp_path / "scratch", PROBES)
    assert snapshot_of(scene.root, scene.home, PROBES) == wanted
    scene.check_at_rest()
