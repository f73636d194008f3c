"""Running a program: both ways of reading its pipes give the same, on every system that has either."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from codecairn.cancel import Cancel
from codecairn.errors import Cancelled, TimedOut
from codecairn.source import process
from codecairn.source.process import Finished


@pytest.fixture(params=["drain_selecting", "drain_threaded"], autouse=True)
def _each_way_of_reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "drain", getattr(process, request.param))


def python(code: str, tmp_path: Path, *, timeout: float = 30, cancel: Cancel | None = None, **more: Any) -> Finished:
    cancel = Cancel() if cancel is None else cancel
    command = [sys.executable, "-c", code]
    return process.run(command, folder=tmp_path, environment=os.environ, timeout=timeout, cancel=cancel, **more)


def test_both_pipes_are_read_to_their_end(tmp_path: Path) -> None:
    done = python("import sys; sys.stdout.write('o' * 300000); sys.stderr.write('e' * 300000); sys.exit(3)", tmp_path)
    assert (done.status, len(done.output), len(done.complaint)) == (3, 300000, 300000)


def test_input_is_handed_over(tmp_path: Path) -> None:
    assert python("print(input()[::-1])", tmp_path, stdin=b"abc\n").output.strip() == b"cba"


def test_a_program_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(TimedOut):
        python("import time; time.sleep(60)", tmp_path, timeout=0.3)


def test_a_program_that_never_stops_talking_is_stopped_too(tmp_path: Path) -> None:
    with pytest.raises(TimedOut):
        python("while True: print('x' * 1000, flush=True)", tmp_path, timeout=0.3)


def test_what_a_program_said_in_time_is_handed_back_to_who_can_use_it(tmp_path: Path) -> None:
    code = "print('said', flush=True); import time; time.sleep(60)"
    done = python(code, tmp_path, timeout=5, partial=True)
    assert (done.output.strip(), done.timed_out) == (b"said", True)


def test_a_program_with_enough_said_is_stopped(tmp_path: Path) -> None:
    done = python("while True: print('x' * 1000, flush=True)", tmp_path, enough=lambda output: len(output) > 5000)
    assert done.stopped_early
    assert len(done.output) > 5000


def test_a_withdrawn_call_stops_its_program(tmp_path: Path) -> None:
    cancel = Cancel()

    def withdraw(_output: bytearray) -> bool:
        cancel.set()
        return False

    with pytest.raises(Cancelled):
        python("print('ready', flush=True); import time; time.sleep(60)", tmp_path, cancel=cancel, enough=withdraw)
