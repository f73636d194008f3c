"""Tools that only tests have: each does one thing a door must cope with.

In this process a test reaches into a running `hold` through its gate; a server in a process of its own offers the same
tools when it is started from `serve_samples.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta, Struct

from codecairn import tools
from codecairn.tools import Call, Registry, Tool, tool

SAMPLES: list[Tool] = []
GRACE_S = 30.0


@dataclass
class Gate:
    """What a test and a `hold` under way tell each other."""

    started: threading.Event = field(default_factory=threading.Event)
    release: threading.Event = field(default_factory=threading.Event)
    cancelled: threading.Event = field(default_factory=threading.Event)


class Gates(dict[str, Gate]):
    """By name, made by whoever asks first: the test, or the call in another thread."""

    _lock = threading.Lock()

    def __missing__(self, name: str) -> Gate:
        with self._lock:
            return self.setdefault(name, Gate())


GATES = Gates()


class Said(Struct, frozen=True, kw_only=True):
    text: str


@tool(family="catalog", method="sample/echo", into=SAMPLES)
def sample_echo(call: Call, *, text: str = "", times: Annotated[int, Meta(ge=1, le=3)] = 1) -> Said:
    """Say it again. Use it rather than grep to hear yourself."""
    del call
    return Said(text=text * times)


@tool(family="catalog", method="sample/hold", into=SAMPLES)
def sample_hold(call: Call, *, gate: str) -> Said:
    """Wait until the test opens the gate or the client withdraws. Use it rather than grep to take long."""
    held = GATES[gate]
    with call.cancel.stopping(held.cancelled.set):
        held.started.set()
        for _ in range(int(GRACE_S * 100)):
            call.cancel.check()
            if held.release.wait(0.01):
                return Said(text=gate)
    raise TimeoutError(gate)


@tool(family="catalog", into=SAMPLES)
def sample_progress(call: Call, *, steps: Annotated[int, Meta(ge=0, le=9)] = 3) -> Said:
    """Report each step. Use it rather than grep to be watched."""
    for step in range(1, steps + 1):
        call.progress(step, steps, f"step {step}")
    return Said(text="done")


@tool(family="catalog", method="sample/limited", per_minute=2, into=SAMPLES)
def sample_limited(call: Call) -> Said:
    """Twice a minute. Use it rather than grep to be refused."""
    del call
    return Said(text="allowed")


@tool(family="catalog", method="sample/bug", into=SAMPLES)
def sample_bug(call: Call) -> Said:
    """Fail in a way nobody foresaw. Use it rather than grep to see that."""
    del call
    raise RuntimeError("the sample is broken")


@tool(family="catalog", method="sample/where", into=SAMPLES)
def sample_where(call: Call) -> Said:
    """The project this call is about. Use it rather than grep to learn it."""
    return Said(text=str(call.project.root))


@tool(family="catalog", method="sample/noise", into=SAMPLES)
def sample_noise(call: Call) -> Said:
    """Write to stdout in every way a careless library might. Use it rather than grep to be loud."""
    del call
    print("printed noise", flush=True)
    sys.stdout.write("written noise\n")
    sys.stdout.flush()
    os.write(1, b"raw noise\n")
    subprocess.run([sys.executable, "-c", "print('child noise')"], check=True)
    return Said(text="loud")


def sampled_registry() -> Registry:
    """The standard tools and the samples."""
    registry = tools.standard()
    for each in SAMPLES:
        registry.add(each)
    return registry
