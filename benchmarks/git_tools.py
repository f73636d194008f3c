"""The git tools against git itself: what does asking the server cost beyond running the command?

    python benchmarks/git_tools.py [--repo DIR] [--runs 25] [--json FILE]

Works in a throw-away clone of DIR (default: this repository; a repository with thousands of commits says more). Each
case is one call through a real stdio server and the plain git command that prints the same data, run in turn in the
same minutes so that a noisy machine disturbs both alike. A case passes when the tool's median is at most 1.3 times
git's plus 5 ms. Exits 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import Server, Spread, milliseconds, table

FACTOR, ALLOWANCE_MS = 1.3, 5.0
WARM_UP_RUNS = 2
FIELDS = "--format=%H%n%P%n%aN%n%aE%n%aI%n%B"
LOG = ("log", "--name-status", "--find-renames", "--diff-merges=first-parent", FIELDS)


@dataclass
class Case:
    name: str
    tool: str
    arguments: dict[str, Any]
    command: tuple[str, ...]
    by_tool: Spread = field(default_factory=Spread)
    by_git: Spread = field(default_factory=Spread)

    @property
    def bar(self) -> float:
        return FACTOR * self.by_git.median + ALLOWANCE_MS

    @property
    def passes(self) -> bool:
        return self.by_tool.median <= self.bar

    @property
    def ratio(self) -> float:
        return self.by_tool.median / self.by_git.median

    def row(self) -> list[str]:
        times = (self.by_git.median, self.by_git.p95, self.by_tool.median, self.by_tool.p95, self.bar)
        verdict = "ok" if self.passes else "OVER"
        return [f"{self.tool}: {self.name}", *(f"{each:.1f}" for each in times), f"{self.ratio:.2f}", verdict]

    def as_json(self) -> dict[str, Any]:
        return {
            "tool": self.tool, "case": self.name, "tool_ms": self.by_tool.as_json(), "git_ms": self.by_git.as_json(),
            "ratio": round(self.ratio, 3), "bar_ms": round(self.bar, 2), "passes": self.passes,
        }  # fmt: skip


@dataclass(frozen=True)
class Clone:
    """A throw-away clone, and the parts of its history that make interesting cases."""

    path: Path

    @classmethod
    def of(cls, source: Path, path: Path) -> Clone:
        subprocess.run(["git", "clone", "--quiet", "--local", str(source), str(path)], check=True)
        return cls(path)

    def git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.path, capture_output=True, check=True).stdout.decode(
            "utf-8", "replace"
        )

    @property
    def commits(self) -> int:
        return int(self.git("rev-list", "--count", "HEAD"))

    def files_by_length(self) -> list[tuple[int, str]]:
        """Lines and name of each file of source text."""
        counted = self.git("grep", "--count", "-I", "", "--", "*.py", "*.md", "*.txt", "*.c", "*.go", "*.rs", "*.js")
        pairs = (line.rsplit(":", 1) for line in counted.splitlines())
        return sorted((int(count), name) for name, count in pairs)

    def file_of(self, lines: int) -> tuple[int, str]:
        return min(self.files_by_length(), key=lambda each: abs(each[0] - lines))

    def back(self, commits: int) -> str:
        """The commit so far behind HEAD, or as far as history goes."""
        return self.git("rev-list", "--first-parent", f"--max-count={commits + 1}", "HEAD").split()[-1]

    def two_tags(self) -> tuple[str, str]:
        tags = self.git("tag", "--sort=-creatordate").split()[:2]
        return (tags[1], tags[0]) if len(tags) == 2 else (self.back(300), "HEAD")

    def most_frequent_author(self) -> str:
        ranked = self.git("shortlog", "--summary", "--numbered", "--no-merges", "HEAD")
        return ranked.splitlines()[0].split("\t")[1]

    def edit(self, files: int) -> None:
        """Change some files, then let git write down what it saw, as in a tree somebody works in."""
        names = [name for lines, name in self.files_by_length() if lines > 20]
        for name in names[:: max(1, len(names) // files)][:files]:
            path = self.path / name
            path.write_bytes(b"edited\n" + path.read_bytes() + b"edited\n")
        time.sleep(1.1)  # git takes a file as old as its index for possibly changed since, and reads it every time
        self.git("status", "--short")


def cases(clone: Clone) -> Iterator[Case]:
    (lines, file), (many_lines, long_file) = clone.file_of(800), clone.file_of(3000)
    date = clone.git("show", "--no-patch", "--format=%cs", clone.back(500)).strip()
    author = clone.most_frequent_author()
    yield Case("10 commits", "git_log", {}, (*LOG, "-n10"))
    yield Case("100 commits", "git_log", {"maxCount": 100}, (*LOG, "-n100"))
    yield Case("one file", "git_log", {"filePath": file}, (*LOG, "-n10", "--follow", "--", file))
    yield Case("since a date", "git_log", {"since": date}, (*LOG, "-n10", f"--since={date} 00:00:00"))
    yield Case("one author", "git_log", {"author": author}, (*LOG, "-n10", "-i", "-F", f"--author={author}"))

    blame = ("blame", "--porcelain", "-w", "-C", "-C60")
    page = "-L1,120"
    yield Case(f"page of {lines} lines", "git_blame", {"filePath": file}, (*blame, page, "--", file))
    yield Case(f"page of {many_lines} lines", "git_blame", {"filePath": long_file}, (*blame, page, "--", long_file))
    part = {"filePath": file, "startLine": 100, "endLine": 159}
    yield Case(f"60 of {lines} lines", "git_blame", part, (*blame, "-L100,159", "--", file))

    diff = ("diff", "--raw", "--numstat", "--find-renames")
    old, new = clone.two_tags()
    tags = {"ref1": old, "ref2": new}
    yield Case("two tags, summary", "git_diff", {**tags, "summary": True}, (*diff, old, new))
    near = clone.back(2)
    yield Case("two near commits", "git_diff", {"ref1": near, "ref2": "HEAD"}, (*diff, "--patch", near, "HEAD"))
    yield Case("working tree", "git_diff", {}, (*diff, "--patch"))
    then = clone.back(500)
    one = {"ref1": then, "ref2": "HEAD", "filePath": file}
    yield Case("one file, 500 commits apart", "git_diff", one, (*diff, "--patch", then, "HEAD", "--", file))


def check(server: Server, case: Case) -> None:
    """The tool answers, and with as much as git prints: neither an error nor an empty result may look fast."""
    result = json.loads(server.call(case.tool, case.arguments))["result"]
    value = result["structuredContent"]
    if result.get("isError") or not (value.get("commits") or value.get("lines") or value.get("files")):
        sys.exit(f"{case.tool} {case.arguments}: {result['content'][0]['text'][:500]}")


def measure(server: Server, clone: Clone, measured: list[Case], runs: int) -> None:
    for each in range(-WARM_UP_RUNS, runs):
        for case in measured:
            began = time.perf_counter()
            server.call(case.tool, case.arguments)
            by_tool = (time.perf_counter() - began) * 1000
            by_git = milliseconds(("git", "--no-pager", *case.command), clone.path)
            if each >= 0:
                case.by_tool.values.append(by_tool)
                case.by_git.values.append(by_git)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repo", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--runs", type=int, default=25)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        clone = Clone.of(given.repo, Path(scratch, "clone"))
        measured = list(cases(clone))
        clone.edit(20)
        command = [sys.executable, "-P", "-m", "codecairn", "serve", "--root", str(clone.path)]
        with Server(command, clone.path) as server:
            server.initialize()
            for case in measured:
                check(server, case)
            measure(server, clone, measured, given.runs)
        commits = clone.commits
    print(f"{given.repo.resolve().name}: {commits:,} commits, {given.runs} runs, milliseconds")
    head = ("case", "git", "p95", "tool", "p95", "bar", "ratio", "")
    print(table(head, [case.row() for case in measured]))
    if given.json:
        report = {"commits": commits, "runs": given.runs, "cases": [case.as_json() for case in measured]}
        given.json.write_text(json.dumps(report, indent=2) + "\n")
    sys.exit(0 if all(case.passes for case in measured) else 1)


if __name__ == "__main__":
    main()
