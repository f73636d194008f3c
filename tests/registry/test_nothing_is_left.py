"""A call that has ended leaves nothing behind that only a full collection would find: its memory is free at once.

The calls are made in a process of their own: what threads of other tests let go meanwhile would be found as well.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codecairn.connection import Connection
from codecairn.serve import Service
from codecairn.tools import Call
from codecairn.tools.families import ToolReply
from tests.crash.calls import project
from tests.support.doors import service

CALLS: list[tuple[str, dict[str, Any], bool]] = [
    ("find_references", {"symbol_name": "validate_token"}, True),
    ("find_references", {"symbol_name": "no_such_name"}, False),
    ("get_call_graph", {"symbol_name": "part4_1"}, True),
    ("find_symbol", {"symbol_name": "large_7"}, True),
    ("diff_context", {"base_ref": "main", "head_ref": "feature"}, True),
    ("diff_context", {"base_ref": "no-such-branch"}, False),
    ("explain_ranking", {"query": "sheep", "result_path": "pkg/auth.py", "result_line_start": 900}, False),
    ("build_context_pack", {"task": "who calls part4_1"}, True),
    ("search_code", {"query": "validate token"}, True),
    ("context_search", {"query": "validate token"}, True),
    ("remember", {"type": "rule", "content": "Tokens are validated.", "symbol": "validate_token"}, True),
    ("read_file", {"path": "pkg/none.py"}, False),
]


def ask(made: Service, tool: str, arguments: dict[str, Any]) -> ToolReply:
    found = made.registry.find(tool)
    assert found is not None
    call = Call(made.projects, Connection("one"), made.registry, "stdio", answers="both")
    return made.registry.call(found, call, arguments)


def ours_among(garbage: list[Any]) -> set[str]:
    return {type(each).__name__ for each in garbage if type(each).__module__.startswith("codecairn.")}


def left_by(made: Service, tool: str, arguments: dict[str, Any], is_answered: bool) -> set[str]:
    gc.collect()
    gc.disable()
    try:
        assert (ask(made, tool, arguments).error is None) == is_answered
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return ours_among(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


def left_by_each(root: Path) -> list[list[str]]:
    """For each of the calls, the classes of ours of which something is left."""
    made = service(root)
    assert ask(made, "index_codebase", {"path": str(root)}).error is None
    found = []
    for tool, arguments, is_answered in CALLS:
        given = {**arguments, "path": str(root)} if tool == "search_code" else arguments
        ask(made, tool, given)  # what stays for later calls is made by the first
        left = left_by(made, tool, given, is_answered)
        # A thread of an earlier call may have ended meanwhile. The call itself would leave the same once more.
        found.append(sorted(left and left & left_by(made, tool, given, is_answered)))
    return found


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    root = project(tmp_path_factory.mktemp("left") / "gate").path
    asked = subprocess.run([sys.executable, "-m", __name__, str(root)], stdout=subprocess.PIPE, check=True, timeout=300)
    found: list[list[str]] = json.loads(asked.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("number", range(len(CALLS)), ids=[f"{number}-{call[0]}" for number, call in enumerate(CALLS)])
def test_what_a_call_made_is_free_when_it_ends(left: list[list[str]], number: int) -> None:
    assert left[number] == []


if __name__ == "__main__":
    print(json.dumps(left_by_each(Path(sys.argv[1]))))
