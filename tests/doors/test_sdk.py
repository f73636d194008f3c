"""The stdio server loads only what it uses of the SDK, and all of it where that cannot be done."""

from __future__ import annotations

import subprocess
import sys

ALL = """
import sys
from codecairn.serve import sdk
{break_it}
door = sdk.stdio_door()
print(door.__name__, "mcp.client" in sys.modules, callable(door.serve))
"""


def loaded(break_it: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ALL.format(break_it=break_it)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_server_on_stdio_loads_no_client() -> None:
    assert loaded() == "codecairn.serve.stdio False True"


def test_an_sdk_of_another_layout_is_loaded_whole() -> None:
    broken = "sdk.PACKAGES = (*sdk.PACKAGES, 'mcp.server.lowlevel')"
    assert loaded(broken) == "codecairn.serve.stdio True True"
