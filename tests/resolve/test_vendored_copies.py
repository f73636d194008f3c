"""A library that lies in the repository twice: calls mean the copy beside them."""

from __future__ import annotations

from pathlib import Path

from tests.support.doors import MemoryDoor, service
from tests.support.repo import Repo

DICT = "int dictAdd(int key) {\n    return key;\n}\n"
USE = "int fill(void) {\n    return dictAdd(1);\n}\n"


def callers(door: MemoryDoor, definition: str) -> set[str]:
    answer = door.call("find_references", {"symbol_name": "dictAdd", "path": definition})
    assert not answer.is_error, answer.text
    return {each["path"] for each in answer.value["references"]}


def test_a_call_means_the_definition_that_lies_nearest(repo: Repo, tmp_path: Path) -> None:
    repo.commit(
        "two copies", {"deps/lib/dict.c": DICT, "deps/lib/use.c": USE, "src/dict.c": DICT, "src/use.c": USE}
    )  # fmt: skip
    served = service(repo.path, data=tmp_path / "home")
    door = MemoryDoor(served)
    assert not door.call("index_codebase", {"path": str(repo.path)}).is_error
    assert callers(door, "src/dict.c") == {"src/use.c"}
    assert callers(door, "deps/lib/dict.c") == {"deps/lib/use.c"}
    served.projects.open(repo.path).index.close()
