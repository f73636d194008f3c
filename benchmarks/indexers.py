"""The indexers that are measured: Cairn's, and those of two other servers, installed where they can be."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Indexer:
    """A command that indexes the repository it stands in, anew or again, and where it keeps the index."""

    name: str
    version: str
    index: tuple[str, ...]
    update: tuple[str, ...]
    environment: dict[str, str]
    data: Path
    counts: Callable[[bytes], tuple[int, int]]
    """Files and symbols, from what `report` prints, or else from what `index` prints."""
    report: tuple[str, ...] = ()

    def forget(self) -> None:
        shutil.rmtree(self.data, ignore_errors=True)


def cairn(data: Path) -> Indexer:
    command = (sys.executable, "-P", "-m", "codecairn")
    return Indexer(
        "cairn", output_of(*command, "--version").split()[-1], (*command, "index", "--json"),
        (*command, "index", "--json"), {**os.environ, "CAIRN_HOME": str(data)}, data, _cairn_counts,
    )  # fmt: skip


def _cairn_counts(told: bytes) -> tuple[int, int]:
    statistics_ = json.loads(told)["statistics"]
    return statistics_["files_indexed"], statistics_["symbols_extracted"]


def jcodemunch(cache: Path, data: Path) -> Indexer:
    place = cache / "jcodemunch-mcp"
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        quietly = ("--quiet", "--disable-pip-version-check", "--compile")
        subprocess.run(
            [str(python), "-m", "pip", "install", *quietly, "jcodemunch-mcp"], capture_output=True, check=True
        )
    command = str(python.with_name("jcodemunch-mcp"))
    environment = {
        **_own_home(cache), "CODE_INDEX_PATH": str(data), "JCODEMUNCH_SHARE_SAVINGS": "0",
        "JCODEMUNCH_NO_VERSION_HINT": "1", "JCODEMUNCH_MAX_FOLDER_FILES": "1000000",
    }  # fmt: skip
    index = (command, "index", "--no-ai-summaries")
    version = output_of(command, "--version").split()[-1]
    return Indexer("jcodemunch-mcp", version, index, index, environment, data, _jcodemunch_counts)


def _jcodemunch_counts(told: bytes) -> tuple[int, int]:
    value = json.loads(told)
    return value["file_count"], value["symbol_count"]


def codegraph(cache: Path, clone: Path) -> Indexer:
    place = cache / "codegraph"
    program = place / "node_modules" / ".bin" / ("codegraph.cmd" if os.name == "nt" else "codegraph")
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise FileNotFoundError("npm is not installed")
        place.mkdir(parents=True, exist_ok=True)
        install = (npm, "install", "--silent", "--prefix", str(place), "@colbymchenry/codegraph")
        subprocess.run(install, cwd=place, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    environment = {
        **_own_home(cache), "DO_NOT_TRACK": "1", "CODEGRAPH_TELEMETRY": "0", "CODEGRAPH_NO_DAEMON": "1",
        "CODEGRAPH_NO_DOWNLOAD": "1", "NO_COLOR": "1",
    }  # fmt: skip
    command = str(program)
    return Indexer(
        "codegraph", output_of(command, "--version", environment=environment).split()[-1], (command, "init", "--yes"),
        (command, "sync", "--quiet"), environment, clone / ".codegraph", _codegraph_counts,
        (command, "status", "--json"),
    )  # fmt: skip


def _codegraph_counts(told: bytes) -> tuple[int, int]:
    value = json.loads(told)
    others = sum(value["nodesByKind"].get(kind, 0) for kind in ("file", "import"))
    return value["fileCount"], value["nodeCount"] - others


def _own_home(cache: Path) -> dict[str, str]:
    home = cache / "home"
    home.mkdir(parents=True, exist_ok=True)
    return {**os.environ, "HOME": str(home), "USERPROFILE": str(home), "XDG_CONFIG_HOME": str(home / ".config")}


def output_of(*command: str, environment: dict[str, str] | None = None) -> str:
    return subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True
    ).stdout.decode()
