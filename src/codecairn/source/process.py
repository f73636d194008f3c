"""The owner of the verb "run a program": argument lists only, bounded in time and bytes, never left behind."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal

from msgspec import Struct

from codecairn import config
from codecairn.cancel import Cancel
from codecairn.errors import Cancelled, TimedOut

Child = subprocess.Popen[bytes]
ProgramFailed = subprocess.SubprocessError
"""Raised by packages that start a program of their own."""

_CHUNK = 1 << 16
_SCHEDULED = 2
"""Linux numbers the clock of another process by its id and what it counts: here the time it ran."""
# A process group of its own, so that what a program starts can be stopped with it.
_APART: dict[str, Any] = {"creationflags": 0x00000200} if sys.platform == "win32" else {"process_group": 0}
_running: set[Child] = set()
# Reentrant: a signal may end the process while its main thread is starting a child.
_running_lock = threading.RLock()
_leaving = threading.Event()


class Finished(Struct, frozen=True):
    status: int
    output: bytes
    complaint: str
    stopped_early: bool = False
    timed_out: bool = False


def find(name: str, *, outside: Path) -> str | None:
    """The absolute path of a program on PATH, or beside our own interpreter, where packages put theirs; never one that
    lies inside the project it will look at."""
    file = f"{name}.exe" if sys.platform == "win32" else name
    for folder in map(Path, [*config.program_path(), str(Path(sys.executable).parent)]):
        place = folder / file
        is_program = folder.is_absolute() and os.access(place, os.X_OK) and place.is_file()
        if is_program and not place.resolve().is_relative_to(outside):
            return str(place)
    return None


def run(
    arguments: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    timeout: float,
    cancel: Cancel,
    enough: Callable[[bytearray], bool] | None = None,
    stdin: bytes | None = None,
    partial: bool = False,
    spool: IO[bytes] | None = None,
) -> Finished:
    """Run to the end, or until `enough` says that the output so far suffices. A program that takes too long raises,
    or its output so far is handed back where `partial` output is of use. Output in a thousand small pieces goes better
    into a `spool`, which is read at the end: waking up for each piece costs more than the program itself."""
    child = _spawn(
        arguments,
        folder,
        environment,
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE if spool is None else spool,
        stderr=subprocess.PIPE,
    )
    try:
        with cancel.stopping(lambda: kill(child)):
            if child.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    child.stdin.write(stdin or b"")
                    child.stdin.close()
            output, complaint, ending = drain(child, enough, time.monotonic() + timeout)
        cancel.check()
    finally:
        end(child)
    if spool is not None:
        spool.seek(0)
        output = spool.read()
    if ending == "late" and not partial:
        raise TimedOut(f"{Path(arguments[0]).stem} did not finish within {timeout:g} seconds", seconds=timeout)
    said = complaint.decode("utf-8", "replace").strip()
    return Finished(child.returncode, output, said, ending == "enough", ending == "late")


def start(arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str]) -> Child:
    """A program to talk with over its pipes, until `end`; what it complains of goes where our own complaints go."""
    if _leaving.is_set():
        raise Cancelled("The server is leaving")
    return _spawn(arguments, folder, environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _spawn(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], **pipes: Any) -> Child:
    with _running_lock:
        child = subprocess.Popen(list(arguments), cwd=folder, env=dict(environment), **pipes, **_APART)
        _running.add(child)
    return child


def end(child: Child) -> None:
    kill(child)
    child.wait()
    with _running_lock:
        _running.discard(child)
    for pipe in (child.stdin, child.stdout, child.stderr):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


Enough = Callable[[bytearray], bool]
Ending = Literal["whole", "enough", "late"]
Drained = tuple[bytes, bytes, Ending]


def drain_selecting(child: Child, enough: Enough | None, deadline: float) -> Drained:
    """Both pipes to their end, in this thread: starting two others costs a millisecond, a fifth of a small command."""
    output, complaint = bytearray(), bytearray()
    ending: Ending = "whole"
    with selectors.DefaultSelector() as pipes:
        if child.stdout is not None:
            pipes.register(child.stdout, selectors.EVENT_READ, output)
        pipes.register(_pipe(child.stderr), selectors.EVENT_READ, complaint)
        while ending == "whole" and pipes.get_map():
            ready = pipes.select(max(0.0, deadline - time.monotonic()))
            if not ready or time.monotonic() > deadline:  # the latter of one that never stops talking
                ending = "late"
                break
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    pipes.unregister(key.fileobj)
            if enough is not None and enough(output):
                ending = "enough"
    if ending != "whole":
        kill(child)
    child.wait()
    return bytes(output), bytes(complaint), ending


def drain_threaded(child: Child, enough: Enough | None, deadline: float) -> Drained:
    """The same where pipes cannot be selected on: Windows."""
    stdout, stderr = child.stdout, _pipe(child.stderr)
    expired = threading.Event()
    complaint: list[bytes] = []

    def expire() -> None:
        expired.set()
        kill(child)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), expire)
    timer.daemon = True
    timer.start()
    listener = threading.Thread(target=lambda: complaint.append(stderr.read()), daemon=True)
    listener.start()
    output, early = bytearray(), False
    while stdout is not None and not early and (chunk := os.read(stdout.fileno(), _CHUNK)):
        output += chunk
        if enough is not None and enough(output):
            early = True
            kill(child)
    child.wait()
    timer.cancel()
    listener.join()
    return bytes(output), b"".join(complaint), "late" if expired.is_set() else "enough" if early else "whole"


drain = drain_threaded if sys.platform == "win32" else drain_selecting


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def kill(child: Child) -> None:
    if child.poll() is not None:
        return
    try:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, 9)
    except (ProcessLookupError, PermissionError):
        child.kill()


def cpu_seconds(child: Child) -> float | None:
    """The processor time that a child has taken so far; None where the system does not tell."""
    if sys.platform != "linux":
        return None
    try:
        return time.clock_gettime(~child.pid << 3 | _SCHEDULED)
    except OSError:  # it is gone
        return None


def is_leaving() -> bool:
    """Whether children were killed because this process ends, and not through any fault of theirs."""
    return _leaving.is_set()


def leave() -> None:
    """On the way out: no child survives the server, and no other is started."""
    _leaving.set()
    kill_all()


def running() -> set[Child]:
    """The children that run now."""
    with _running_lock:
        return set(_running)


def kill_all() -> None:
    for child in running():
        kill(child)
