"""Indexing: what it costs from nothing, after an edit and per line, beside the indexers of two other servers.

    python benchmarks/index.py [--repo DIR] [--peers] [--sizes] [--corpus DIR …] [--runs 3] [--cache DIR]
        [--json FILE]

DIR is cloned, once for each indexer, and indexed into an empty data directory; all take turns, so that a noisy machine
disturbs all alike, and medians are shown. CPU and memory are those of the whole process tree: PSS counts what processes
share once, RSS once for each. Then files are edited, one or ten at a time, and the index is brought up to date: by the
same command, and by a running `cairn serve` that watches (from the write until `get_status` says fresh and counts the
new symbols).

--peers   measures jcodemunch-mcp (PyPI) and codegraph (npm) too. They are installed into --cache, run with a home of
          their own there, and told to report nothing to anyone. jcodemunch-mcp is allowed more than its 2,000 files
--sizes   indexes 10k, 100k and 1M lines: whole files of the --corpus folders (default: DIR), with the same share of
          every language and the same lengths of files at each size. What a further line costs is told from one size
          to the next, so that starting processes and loading grammars is in none of them

Exits 1 if Cairn takes more CPU or memory than a peer, the cost per line is not flat within 1.3, or a saved file is seen
later than 100 ms after the watcher has found the tree quiet.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indexers import Indexer, cairn, codegraph, jcodemunch, output_of
from measure import Cost, markdown, shown, size_mb, spent
from sources import Edits, Source, repository, sample, sources_in
from watching import DEBOUNCE_MS, QUIET_MS, Watched, watched

ROOT = Path(__file__).resolve().parents[1]
SIZES = (10_000, 100_000, 1_000_000)
LONGEST_FILE = 2_000
FLAT, SEEN_MS = 1.3, 100.0


@dataclass
class Runs:
    """One command's costs, over several runs."""

    costs: list[Cost] = field(default_factory=list)

    def median(self, figure: str) -> float | None:
        values = [getattr(each, figure) for each in self.costs]
        return None if None in values else statistics.median(values)

    def as_json(self) -> dict[str, float | None]:
        figures = {each: self.median(each) for each in ("cpu_s", "wall_s", "rss_mb", "pss_mb")}
        return {each: None if value is None else round(value, 3) for each, value in figures.items()}


@dataclass
class Subject:
    """An indexer at work in a clone of its own."""

    indexer: Indexer
    clone: Path
    cold: Runs = field(default_factory=Runs)
    updates: dict[int, Runs] = field(default_factory=lambda: {0: Runs(), 1: Runs(), 10: Runs()})
    index_mb: float = 0.0
    files: int = 0
    symbols: int = 0

    def run(self, command: tuple[str, ...]) -> Cost:
        return spent(command, self.clone, self.indexer.environment)

    def index(self) -> None:
        self.indexer.forget()
        cost = self.run(self.indexer.index)
        self.cold.costs.append(cost)
        self.index_mb = size_mb(self.indexer.data)
        told = self.run(self.indexer.report).output if self.indexer.report else cost.output
        self.files, self.symbols = self.indexer.counts(told)

    def update(self, edits: Edits) -> None:
        for count, runs in self.updates.items():
            edits.make(self.clone, count)
            runs.costs.append(self.run(self.indexer.update))

    def row(self) -> list[str]:
        figures = [shown(self.cold.median(each)) for each in ("cpu_s", "wall_s", "rss_mb", "pss_mb")]
        counts = [f"{self.files:,}", f"{self.symbols:,}"]
        return [f"{self.indexer.name} {self.indexer.version}", *figures, f"{self.index_mb:.1f}", *counts]

    def update_row(self) -> list[str]:
        figures = [shown(runs.median(each)) for runs in self.updates.values() for each in ("cpu_s", "wall_s")]
        return [self.indexer.name, *figures]

    def as_json(self) -> dict[str, Any]:
        return {
            "version": self.indexer.version, "cold": self.cold.as_json(), "index_mb": round(self.index_mb, 2),
            "files": self.files, "symbols": self.symbols,
            "updates": {str(count): runs.as_json() for count, runs in self.updates.items()},
        }  # fmt: skip


def subjects(repo: Path, scratch: Path, cache: Path | None) -> tuple[list[Subject], dict[str, str]]:
    """Cairn and the peers that install, each in its clone; and why another is not among them."""
    makers: dict[str, Callable[[Path], Indexer]] = {"cairn": lambda _: cairn(scratch / "cairn-data")}
    if cache is not None:
        makers["jcodemunch-mcp"] = lambda _: jcodemunch(cache, scratch / "jcodemunch-data")
        makers["codegraph"] = lambda clone: codegraph(cache, clone)
    found, missing = [], {}
    for name, maker in makers.items():
        clone = cloned(repo, scratch / name)
        try:
            found.append(Subject(maker(clone), clone))
        except subprocess.CalledProcessError as error:
            missing[name] = (error.stderr or b"").decode("utf-8", "replace").strip().rpartition("\n")[2] or str(error)
        except OSError as error:
            missing[name] = str(error)
    return found, missing


def cloned(repo: Path, place: Path) -> Path:
    subprocess.run(["git", "clone", "--quiet", "--local", str(repo), str(place)], check=True)
    return place


def warmed(subject: Subject, files: list[Source], scratch: Path) -> None:
    """One uncounted run over a file of each language: programs are read from the disk and caches filled."""
    sample = list({each.language.data.name: each for each in files}.values())
    tiny = repository(scratch / f"tiny-{subject.indexer.name}", {each.path: each.text for each in sample})
    spent(subject.indexer.index, tiny, subject.indexer.environment)


@dataclass
class Point:
    """Cairn over so many lines."""

    lines: int
    files: int
    runs: Runs
    before: Point | None
    """The next smaller one."""

    @property
    def cpu_s(self) -> float:
        return self.runs.median("cpu_s") or 0.0

    @property
    def gross(self) -> float:
        """CPU seconds for 100,000 lines."""
        return self.cpu_s / self.lines * 1e5

    @property
    def net(self) -> float | None:
        """The same for the lines that the next smaller one has not: starting processes and loading grammars aside."""
        if self.before is None:
            return None
        return (self.cpu_s - self.before.cpu_s) / (self.lines - self.before.lines) * 1e5

    def row(self) -> list[str]:
        figures = [shown(self.runs.median(each)) for each in ("cpu_s", "wall_s", "rss_mb", "pss_mb")]
        return [f"{self.lines:,} lines, {self.files:,} files", *figures, f"{self.gross:.2f}", shown(self.net)]

    def as_json(self) -> dict[str, Any]:
        per = {"cpu_s_per_100k": round(self.gross, 3), "further_cpu_s_per_100k": self.net and round(self.net, 3)}
        return {"lines": self.lines, "files": self.files, **self.runs.as_json(), **per}


def points(corpora: list[Path], scratch: Path, runs: int) -> Iterator[Point]:
    pool = [
        (f"{root.resolve().name}/{each.path}", each)
        for root in corpora
        for each in sources_in(root.resolve())
        if each.lines <= LONGEST_FILE
    ]
    held = sum(source.lines for _, source in pool)
    print(f"corpora of {held:,} lines")
    before: Point | None = None
    for lines in SIZES:
        if held < lines:
            print(f"{lines:,} lines: not measured: the corpora hold {held:,}; name more with --corpus")
            continue
        files = sample(pool, lines)
        subject = Subject(cairn(scratch / f"data-{lines}"), repository(scratch / f"lines-{lines}", files))
        for _ in range(runs):
            subject.index()
        before = Point(sum(text.count(b"\n") for text in files.values()), len(files), subject.cold, before)
        yield before


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repo", type=Path, default=ROOT)
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    parser.add_argument("--corpus", type=Path, action="append", default=[])
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "cairn-benchmarks")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    # Without compiled bytecode every process would compile what it imports, ours and the peers'.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as scratch:
        report, passes = measured(given, Path(scratch))
    if given.json:
        given.json.write_text(json.dumps({**report, "passes": passes}, indent=2) + "\n")
    sys.exit(0 if passes else 1)


def measured(given: argparse.Namespace, scratch: Path) -> tuple[dict[str, Any], bool]:
    found, missing = subjects(given.repo.resolve(), scratch, given.cache if given.peers else None)
    files = list(sources_in(found[0].clone))
    head = output_of("git", "-C", str(found[0].clone), "rev-parse", "--short=12", "HEAD").strip()
    lines = sum(each.lines for each in files)
    print(f"{given.repo.resolve().name} {head}: {len(files):,} source files, {lines:,} lines; {setting()}\n")
    compare(found, files, scratch, given.runs)
    print_comparison(found, missing)
    seen = watched(found[0].clone, found[0].indexer.environment, Edits(files), max(15, given.runs))
    print_watched(seen)
    taken = list(points(given.corpus or [given.repo], scratch, given.runs)) if given.sizes else []
    passes = all([*beats(found), judged_seen(seen), *judged_flat(taken)])
    print(f"\n{setting()}")
    return {
        "repository": given.repo.resolve().name, "commit": head, "files": len(files), "lines": lines,
        "runs": given.runs, "setting": setting(), "indexers": {each.indexer.name: each.as_json() for each in found},
        "not_measured": missing, "watched": seen.as_json(), "sizes": [each.as_json() for each in taken],
    }, passes  # fmt: skip


def setting() -> str:
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{platform.system()}, {os.cpu_count()} cores{load}"


def compare(found: list[Subject], files: list[Source], scratch: Path, runs: int) -> None:
    for subject in found:
        warmed(subject, files, scratch)
    for _ in range(runs):
        for subject in found:
            subject.index()
    edits = [Edits(files) for _ in found]
    for _ in range(runs):
        for subject, each in zip(found, edits, strict=True):
            subject.update(each)


def print_comparison(found: list[Subject], missing: dict[str, str]) -> None:
    head = ("from nothing", "CPU s", "wall s", "peak RSS MB", "PSS MB", "index MB", "files", "symbols")
    print(markdown(head, [each.row() for each in found]))
    for name, why in missing.items():
        print(f"{name}: not measured: {why}")
    updates = ("no change, CPU s", "wall s", "1 file, CPU s", "wall s", "10 files, CPU s", "wall s")
    print("\n" + markdown(("up to date, by command", *updates), [each.update_row() for each in found]))


def print_watched(seen: Watched) -> None:
    head = ("saved → seen, through cairn serve", "ms", "p95", "without the quiet waited for", "CPU ms")
    rows = [seen.row("1 file", seen.one), seen.row("10 files", seen.ten)]
    print("\n" + markdown(head, rows))
    print(
        f"The watcher waits until nothing has changed for {QUIET_MS:g} ms, at most {DEBOUNCE_MS:g} ms. "
        f"Asking alone takes {seen.asking.times.median:.1f} ms.\n"
    )


def beats(found: list[Subject]) -> Iterator[bool]:
    ours, *peers = found
    for peer in peers:
        for figure in ("cpu_s", "pss_mb"):
            mine, theirs = ours.cold.median(figure), peer.cold.median(figure)
            if mine is None or theirs is None:
                continue
            verdict = "ok" if mine <= theirs else "OVER"
            print(f"cairn / {peer.indexer.name}: {figure.replace('_', ' ')} {mine / theirs:.2f}: {verdict}")
            yield mine <= theirs


def judged_seen(seen: Watched) -> bool:
    passes = seen.beyond_ms <= SEEN_MS
    print(f"one saved file seen {seen.beyond_ms:.0f} ms after quiet, bar {SEEN_MS:g}: {'ok' if passes else 'OVER'}")
    return passes


def judged_flat(taken: list[Point]) -> Iterator[bool]:
    if not taken:
        return
    head = (
        "cairn, from nothing",
        "CPU s",
        "wall s",
        "peak RSS MB",
        "PSS MB",
        "per 100k lines",
        "per 100k further lines",
    )
    print("\n" + markdown(head, [each.row() for each in taken]))
    further = [each.net for each in taken if each.net is not None]
    if len(further) < 2:
        return
    ratio = max(further) / min(further) if min(further) > 0 else float("inf")
    print(f"dearest further line / cheapest: {ratio:.2f}, bar {FLAT}: {'ok' if ratio <= FLAT else 'OVER'}")
    yield ratio <= FLAT


if __name__ == "__main__":
    main()
