"""Loads of the SDK what a server on stdio uses: nearly all the time of a start is the SDK's.

Its two outer packages import an HTTP client, a high-level server and a second web stack, which nothing here calls;
they are put in place by path, without running their `__init__`. pydantic builds the validators of a model when it is
first used instead of those of all five hundred at once. And nothing that is imported is garbage, so the collector
waits until it is done. Measured: 1184 → 853 ms to the first answer, 69 → 56 MB.

Only for the process of `cairn serve`: in it `from mcp import …` finds nothing. Should the SDK's layout change so that
its parts no longer stand alone, all of it is loaded in the ordinary way.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

log = logging.getLogger("codecairn.sdk")

PACKAGES = ("mcp", "mcp.server")


def stdio_door() -> ModuleType:
    """The module of the stdio door, with as little of the SDK as it needs."""
    name = "codecairn.serve.stdio"
    try:
        with _lean():
            return importlib.import_module(name)
    except ImportError as error:
        log.info("loading the whole SDK: %s", error)
        _forget()
        return importlib.import_module(name)


@contextmanager
def _lean() -> Iterator[None]:
    gc.disable()
    try:
        for package in PACKAGES:
            _place(package)
        _defer_validators()
        yield
    finally:
        gc.freeze()
        gc.enable()


def _place(name: str) -> None:
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None or name in sys.modules:
        return
    package = ModuleType(name)
    package.__path__ = [str(Path(found.origin).parent)]
    package.__spec__ = found
    sys.modules[name] = package
    outer, _, inner = name.rpartition(".")
    if outer:
        setattr(sys.modules[outer], inner, package)


def _defer_validators() -> None:
    import pydantic

    pydantic.BaseModel.model_config["defer_build"] = True


def _forget() -> None:
    """Undo a lean load that failed half way."""
    for name in [each for each in sys.modules if each.split(".")[0] == "mcp" or each.startswith("codecairn.serve.")]:
        if name != __name__:
            del sys.modules[name]
