"""The owner of the verb "run a program": argument lists only, bounded in time and bytes, never left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codecairn import config
from codecairn.cancel import Cancel
from codecairn.errors import TimedOut

_CHUNK = 1 << 16
# A process group of its own, so that what a program starts can be stopped with it.
_APART: dict[str, Any] = {"creationflags": 0x00000200} if sys.platform == "win32" else {"process_group": 0}
_running: set[subprocess.Popen[bytes]] = set()
# Reentrant: a signal may end the process while its main thread is starting a child.
_running_lock = threading.RLock()


@dataclass(frozen=True)
class Finished:
    status: int
    output: bytes
    complaint: str
    stopped_early: bool = False


def find(name: str, *, outside: Path) -> str | None:
    """The absolute path of a program on PATH, never one that lies inside the project it will look at."""
    suffixes = [".exe"] if sys.platform == "win32" else [""]
    for folder in config.program_path():
        if not Path(folder).is_absolute():
            continue
        for suffix in suffixes:
            candidate = Path(folder) / f"{name}{suffix}"
            if (
                os.access(candidate, os.X_OK)
                and candidate.is_file()
                and not candidate.resolve().is_relative_to(outside)
            ):
                return str(candidate)
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
) -> Finished:
    """Run to the end, or until `enough` says that what has been read suffices; raises if it takes too long."""
    with _child(arguments, folder, environment, wants_input=stdin is not None) as child:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            kill(child)

        timer = threading.Timer(timeout, expire)
        timer.daemon = True
        timer.start()
        try:
            with cancel.stopping(lambda: kill(child)):
                output, complaint, early = _drain(child, enough, stdin)
        finally:
            timer.cancel()
        cancel.check()
        if expired.is_set():
            raise TimedOut(f"{Path(arguments[0]).stem} did not finish within {timeout:g} seconds", seconds=timeout)
        return Finished(child.returncode, output, complaint.decode("utf-8", "replace").strip(), early)


def _drain(
    child: subprocess.Popen[bytes], enough: Callable[[bytearray], bool] | None, stdin: bytes | None
) -> tuple[bytes, bytes, bool]:
    assert child.stdout is not None
    assert child.stderr is not None
    stderr = child.stderr
    complaint: list[bytes] = []
    listener = threading.Thread(target=lambda: complaint.append(stderr.read()), daemon=True)
    listener.start()
    if stdin is not None and child.stdin:
        try:
            child.stdin.write(stdin)
            child.stdin.close()
        except BrokenPipeError:
            pass
    output, early = bytearray(), False
    while chunk := child.stdout.read1(_CHUNK):  # type: ignore[attr-defined]
        output += chunk
        if enough is not None and enough(output):
            early = True
            kill(child)
            break
    child.wait()
    listener.join()
    return bytes(output), b"".join(complaint), early


@contextmanager
def _child(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], *, wants_input: bool
) -> Iterator[subprocess.Popen[bytes]]:
    with _running_lock:
        child = subprocess.Popen(
            list(arguments),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.PIPE if wants_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_APART,
        )
        _running.add(child)
    try:
        yield child
    finally:
        if child.poll() is None:
            kill(child)
            child.wait()
        with _running_lock:
            _running.discard(child)
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe:
                pipe.close()


def kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is not None:
        return
    try:
        if sys.platform == "win32":
            child.kill()
        else:
            os.killpg(child.pid, 9)
    except (ProcessLookupError, PermissionError):
        child.kill()


def kill_all() -> None:
    """On the way out: no child survives the server."""
    with _running_lock:
        children = list(_running)
    for child in children:
        kill(child)
