from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.doors import Answer, Door
from tests.support.git import Ask, FailOnce


@pytest.fixture
def ask(tmp_path: Path, connect: Callable[..., Door]) -> Ask:
    """Call a git tool over the stdio door as a client of the first protocol version, which gets the Markdown as drawn:
    `ask("git_log", maxCount=1)`; about `repo` unless a root is given."""
    doors: dict[Path, Door] = {}

    def call(tool: str, root: Path | None = None, /, **arguments: Any) -> Answer:
        served = root or tmp_path / "repo"
        if served not in doors:
            doors[served] = connect("first", served)
        return doors[served].call(tool, arguments)

    return call


@pytest.fixture
def fail_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FailOnce:
    """`fail_once("diff", "fatal: …")`: the next `git diff` says so and ends; the file that comes then is returned."""

    def stand_in(verb: str, complaint: str) -> Path:
        folder = tmp_path / "failing"
        folder.mkdir()
        failed, program = folder / "failed", folder / "git"
        program.write_text(
            f'#!/bin/sh\ncase " $* " in *" {verb} "*) if mkdir "{failed}" 2>/dev/null; then '
            f'echo "{complaint}" >&2; exit 128; fi;; esac\n'
            f'exec "{shutil.which("git")}" "$@"\n'
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return failed

    return stand_in
