"""A fresh clone on a laptop: with a team server that has the repository, beside indexing from nothing in the same run.

    python benchmarks/team.py laptop REPOSITORY --symbol NAME [--rounds 3] [--json FILE] [--team URL]

With --team, the server at URL has the repository already, and CAIRN_TEAM_TOKEN opens it; REPOSITORY is its address.

A PostgreSQL and `cairn team up` take the repository first, and one laptop has asked before: the archive is there. Each
round clones the repository anew, starts `cairn serve` over stdio with an empty data directory, and asks `find_symbol`
until the index of the clone is whole and fresh. By the clock of the client, from the start of the process:

- the first right answer: the symbols are those that the whole local index gives, in their order;
- whole: the answer is the laptop's own, and says `fresh`;
- files parsed on the laptop, as its log says; processor seconds of it and its children; and the sizes that were sent.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from measure import Server, cpu_so_far_s, markdown

from codecairn.store.folders import normal_remote
from codecairn.team.embedded import stop_embedded

_CAIRN = [sys.executable, "-P", "-m", "codecairn"]
_LOOK_S = 0.1
_PARSED = re.compile(r"the files are indexed: (\d+) parsed")


class Round(NamedTuple):
    first_s: float
    right_s: float
    whole_s: float
    parsed: int
    cpu_s: float
    said: str
    """The warning that came with the first answer."""


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository")
    parser.add_argument("--team", metavar="URL")
    parser.add_argument("--symbol", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="cairn-laptop-"))
    try:
        figures = _measure(folder, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(markdown(["", "figure"], [[name, str(value)] for name, value in figures.items()]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


def _measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    if options.team:
        token = os.environ.get("CAIRN_TEAM_TOKEN", "")
        return _compare(folder, options, options.repository, options.team, token)
    forge = folder / "forge.git"
    source = f"file://{Path(options.repository).resolve()}"
    _git(folder, "clone", "--quiet", "--bare", "--single-branch", "--no-tags", source, str(forge))
    with _team(folder, forge) as (url, token):
        return _compare(folder, options, f"file://{forge}", url, token)


def _compare(folder: Path, options: argparse.Namespace, forge: str, url: str, token: str) -> dict[str, Any]:
    made_s, size = _archive(url, token, forge)
    bare, expected = _round(folder, forge, options.symbol, {}, None)
    access = {"CAIRN_TEAM": url, "CAIRN_TEAM_TOKEN": token}
    rounds = [_round(folder, forge, options.symbol, access, expected)[0] for _ in range(options.rounds)]
    return {
        "first archive s, MB": f"{made_s:.1f}, {size / 1e6:.0f}",
        "from nothing: first answer s": round(bare.first_s, 2),
        "from nothing: first right answer s": round(bare.right_s, 2),
        "from nothing: whole s": round(bare.whole_s, 2),
        "from nothing: files parsed, CPU s": f"{bare.parsed}, {bare.cpu_s:.1f}",
        "team: first answer s": _list(each.first_s for each in rounds),
        "team: first right answer s": _list(each.right_s for each in rounds),
        "team: whole s": _list(each.whole_s for each in rounds),
        "team: files parsed": [each.parsed for each in rounds],
        "team: CPU s": _list(each.cpu_s for each in rounds),
        "team: first answer says": rounds[0].said,
        "medians: right, whole": (
            f"{statistics.median(each.right_s for each in rounds):.2f}, "
            f"{statistics.median(each.whole_s for each in rounds):.2f}"
        ),
    }  # fmt: skip


def _archive(url: str, token: str, forge: str) -> tuple[float, int]:
    """Ask for the archive as the first laptop does; the seconds that it took, and its size."""
    query = urlencode({"remote": normal_remote(forge)})
    asked = urllib.request.Request(f"{url}/state?{query}", headers={"authorization": f"Bearer {token}"})
    began = time.perf_counter()
    with urllib.request.urlopen(asked) as answer:
        size = len(answer.read())
    return time.perf_counter() - began, size


def _list(values: Any) -> list[float]:
    return [round(value, 2) for value in values]


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@contextmanager
def _team(folder: Path, forge: Path) -> Iterator[tuple[str, str]]:
    """A team server in one process, once it has the repository; its address and a token."""
    environment = {**os.environ, "CAIRN_HOME": str(folder / "team")}

    def run(*arguments: str) -> str:
        ran = subprocess.run([*_CAIRN, "team", *arguments], env=environment, capture_output=True, text=True, check=True)
        return ran.stdout.strip()

    run("add", f"file://{forge}", "--name", "org/subject")
    token = run("token", "create", "laptop")
    command = [*_CAIRN, "team", "up", "--http", "127.0.0.1:0"]
    log = (folder / "team.log").open("w", encoding="utf-8")
    process = subprocess.Popen(command, env=environment, stderr=log)
    try:
        said = _await(folder / "team.log", r"team node at (\S+)", 60)
        _await(folder / "team.log", r"org/subject is ready", 600)
        yield said, token
    finally:
        process.terminate()
        process.wait(30)
        stop_embedded(folder / "team")


def _await(path: Path, pattern: str, seconds: float) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if found := re.search(pattern, path.read_text(encoding="utf-8")):
            return found[1] if found.groups() else found[0]
        time.sleep(_LOOK_S)
    raise TimeoutError(pattern)


def _round(
    folder: Path, forge: str, symbol: str, access: dict[str, str], expected: list[Any] | None
) -> tuple[Round, list[Any]]:
    """One clone, from the start of its server until its index is whole; and the symbols that it then gives."""
    clone, home = folder / "clone", folder / "home"
    for each in (clone, home):
        shutil.rmtree(each, ignore_errors=True)
    _git(folder, "clone", "--quiet", forge, str(clone))
    log = (folder / "laptop.log").open("w", encoding="utf-8")
    command = [*_CAIRN, "serve", "--root", str(clone)]
    times: list[tuple[float, list[Any]]] = []
    with Server(command, clone, {**os.environ, "CAIRN_HOME": str(home), **access}, stderr=log) as server:
        server.initialize()
        said = ""
        while True:
            value = server.value("find_symbol", {"symbol_name": symbol})
            metadata = value.get("metadata", {})
            said = said or "; ".join(metadata.get("warnings", ["nothing"]))
            times.append((time.perf_counter() - server.began, _symbols(value)))
            if metadata.get("freshness_status") == "fresh" and metadata.get("indexing_status") == "ready":
                break
            time.sleep(_LOOK_S)
        cpu = cpu_so_far_s(server.process.pid) or 0.0
        parsed = int(_await(folder / "laptop.log", _PARSED.pattern, 10))
    right = times[-1][1] if expected is None else expected
    first_right = next(at for at, symbols in times if symbols == right)
    return Round(times[0][0], first_right, times[-1][0], parsed, cpu, said), times[-1][1]


def _symbols(value: dict[str, Any]) -> list[Any]:
    return [[each["path"], each["line_start"], each["qualified_name"]] for each in value.get("symbols", [])]
