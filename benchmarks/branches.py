"""Branches: what forty of them cost beside one index, and how fast they are asked.

    python benchmarks/branches.py --repo DIR [--branches 40] [--files 20] [--diff-files 50] [--json FILE]

DIR is cloned and indexed into an empty data directory; then branches are made from its tip, each with so many files
edited (a line changed, a function added) and a new one, and are indexed one after the other: the first by a command
of its own, where most of the figure is Python and a worker being started, the others by a running server, as an agent
would. Sizes are those of the index folder with nobody at work on it; CPU is that of all processes. Latencies are
those of calls over stdio; diff_context is left out where there is no such tool. Exits 1 if a branch takes more than
1 % of one index's size, or in a server more than 2 % of its CPU, switch_ref more than 50 ms or a warm diff_context of
--diff-files more than 300 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import Server, Spread, cairn, cpu_so_far_s, size_mb, spent

SEED = 20250101
SIZE, CPU, SWITCH_MS, DIFF_MS = 0.01, 0.02, 50.0, 300.0
QUERIES = ("where are migrations applied", "QuerySet filter", "csrf token check", "render a template to a response")
SUFFIXES = (".py", ".ts", ".js", ".go", ".java", ".rs")


class Clone:
    """A repository to make branches in, without a checkout of any."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.path = folder / "repo"
        subprocess.run(["git", "clone", "--quiet", "--local", str(source), str(self.path)], check=True)
        self.base = self.git("rev-parse", "HEAD")
        listed = self.git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
        self.sources = [path for path in listed if path.endswith(SUFFIXES) and '"' not in path]

    def git(self, *arguments: str, stdin: str | None = None, index: Path | None = None) -> str:
        who = {
            f"GIT_{role}_{what}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        environment = {**os.environ, **who, **({"GIT_INDEX_FILE": str(index)} if index else {})}
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=environment, input=stdin, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def branch(self, name: str, files: int, seed: int) -> None:
        chosen = random.Random(seed).sample(self.sources, files)
        index = self.path / ".git" / "bench-index"
        self.git("read-tree", self.base, index=index)
        entries = [(path, self._edited(path, name)) for path in chosen]
        entries.append((f"{chosen[0].rpartition('/')[0] or '.'}/added_{seed}.py".removeprefix("./"), _added(name)))
        lines = [f"100644 {self.git('hash-object', '-w', '--stdin', stdin=text)}\t{path}" for path, text in entries]
        self.git("update-index", "--add", "--index-info", stdin="\n".join(lines) + "\n", index=index)
        commit = self.git("commit-tree", "-p", self.base, "-m", name, self.git("write-tree", index=index))
        self.git("update-ref", f"refs/heads/{name}", commit)

    def _edited(self, path: str, name: str) -> str:
        text = (self.path / path).read_text("utf-8", "replace")
        lines = text.splitlines()
        place = len(lines) // 2
        lines[place:place] = [f"# changed on {name}" if path.endswith(".py") else f"// changed on {name}"]
        return "\n".join([*lines, *(_added(name).splitlines() if path.endswith(".py") else [])]) + "\n"


def _added(name: str) -> str:
    word = name.replace("-", "_")
    return f'\n\ndef only_on_{word}(value):\n    """Added on {name}."""\n    return str(value) + {word!r}\n'


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--branches", type=int, default=40)
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--diff-files", type=int, default=50)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-branches-") as folder:
        figures = measured(options, Path(folder))
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))
    return 0 if is_met(figures) else 1


def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    clone = Clone(options.repo, folder)
    home = folder / "home"
    environment = {**os.environ, "CAIRN_HOME": str(home)}
    command = (sys.executable, "-P", "-m", "codecairn")
    path = str(clone.path)
    whole = spent((*command, "index", path), clone.path, environment)
    one_mb = size_mb(home / "indexes")
    for number in range(options.branches):
        clone.branch(f"work-{number}", options.files, SEED + number)
    clone.branch("large", options.diff_files - 1, SEED - 1)
    first = spent(
        (*command, "call", "index_codebase", json.dumps({"path": path, "ref": "work-0"})), clone.path, environment
    )
    server = cairn(clone.path, home, "--no-watch")
    server.initialize()
    server.value("search_code", {"path": path, "query": "warm up"})
    before = asked(server, path, None)
    began = cpu_so_far_s(server.process.pid) or 0.0
    added = Spread()
    for number in range(1, options.branches):
        start = time.perf_counter()
        server.value("index_codebase", {"path": path, "ref": f"work-{number}"})
        added.values.append((time.perf_counter() - start) * 1000)
    all_cpu = (cpu_so_far_s(server.process.pid) or 0.0) - began
    figures: dict[str, Any] = {
        "branches": options.branches, "full_index_cpu_s": round(whole.cpu_s or 0.0, 2),
        "one_index_mb": round(one_mb, 1),
        "first_branch_cpu_s": round(first.cpu_s or 0.0, 3),
        "branch_cpu_s": round(all_cpu / max(1, options.branches - 1), 3), "branch_ms": added.as_json(),
        "search_ms_before": before.as_json(), "search_ms_after": asked(server, path, None).as_json(),
        "search_ms_on_a_branch": asked(server, path, "work-7").as_json(),
    }  # fmt: skip
    switches = Spread()
    for number in range(40):
        start = time.perf_counter()
        server.value("switch_ref", {"ref": f"work-{number % options.branches}", "workspace": path})
        switches.values.append((time.perf_counter() - start) * 1000)
    figures["switch_ms"] = switches.as_json()
    if "diff_context" in tools(server):
        figures |= compared(server, path)
    server.end()
    spent((*command, "status", path), clone.path, environment)  # the last one to close the database tidies its log
    figures["all_mb"] = round(size_mb(home / "indexes"), 1)
    figures["size_ratio"] = round(figures["all_mb"] / figures["one_index_mb"], 3)
    figures["share_as_a_command"] = round(figures["first_branch_cpu_s"] / figures["full_index_cpu_s"], 4)
    figures["share_in_a_server"] = round(figures["branch_cpu_s"] / figures["full_index_cpu_s"], 4)
    return figures


def tools(server: Server) -> set[str]:
    listed = json.loads(server.request("tools/list", {}))["result"]["tools"]
    return {each["name"] for each in listed}


def compared(server: Server, path: str) -> dict[str, Any]:
    """diff_context of the larger branch, once it is warm."""
    server.value("index_codebase", {"path": path, "ref": "large"})
    diffs = Spread()
    for _ in range(12):
        start = time.perf_counter()
        answer = server.value("diff_context", {"workspace": path, "base_ref": "main", "head_ref": "large"})
        diffs.values.append((time.perf_counter() - start) * 1000)
    return {"diff_ms": Spread(diffs.values[2:]).as_json(), "diff_files": answer["affected_files"]}


def asked(server: Server, path: str, ref: str | None) -> Spread:
    found = Spread()
    for turn in range(6):
        for query in QUERIES:
            arguments = {"path": path, "query": f"{query} {turn}", **({"ref": ref} if ref else {})}
            start = time.perf_counter()
            server.value("search_code", arguments)
            found.values.append((time.perf_counter() - start) * 1000)
    return Spread(found.values[len(QUERIES) :])


def is_met(figures: dict[str, Any]) -> bool:
    return bool(
        figures["size_ratio"] <= 1 + SIZE * figures["branches"]
        and figures["share_in_a_server"] <= CPU
        and figures["switch_ms"]["median"] <= SWITCH_MS
        and ("diff_ms" not in figures or figures["diff_ms"]["median"] <= DIFF_MS)
    )


if __name__ == "__main__":
    sys.exit(main())
