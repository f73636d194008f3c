"""How well search finds: NDCG@10 over annotated queries, through `cairn serve`, by language and by kind of query.

    python benchmarks/relevance.py --data FOLDER --repos FOLDER [--modes keyword,hybrid] [--only NAME,…] [--json FILE]

The data folder holds `search/repos.json` (name, language, benchmark_root) and `search/annotations/NAME.json` (query,
relevant, secondary, category), as the benchmark of the Semble project has them; the repositories lie checked out in
the other. A target is found at the rank of the first result that overlaps it. A repository counts as much as another,
however many queries it has. The halves are every second repository by name: constants were chosen on the even one.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from measure import Server, Spread, cairn, markdown

_DEPTH = 10
Target = tuple[str, int | None, int | None]


@dataclass(frozen=True)
class Asked:
    """One query in one mode: how well it was answered, and how soon."""

    repository: str
    language: str
    kind: str
    mode: str
    ndcg: float
    is_first: bool
    ms: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--modes", default="keyword,hybrid")
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    specs = json.loads((options.data / "search" / "repos.json").read_text())
    wanted = [each for each in specs if not options.only or each["name"] in options.only.split(",")]
    asked = [row for spec in wanted for row in _repository(options, spec)]
    if not asked:
        sys.exit("no repository of repos.json lies in --repos")
    _report(asked, options.modes.split(","))
    if options.json:
        options.json.write_text(json.dumps([vars(row) for row in asked], indent=1))


def _repository(options: argparse.Namespace, spec: dict[str, Any]) -> Iterator[Asked]:
    root = options.repos / spec["name"] / (spec.get("benchmark_root") or "")
    if not root.is_dir():
        return
    items = json.loads((options.data / "search" / "annotations" / f"{spec['name']}.json").read_text())
    with (
        tempfile.TemporaryDirectory(prefix="cairn-relevance-") as home,
        cairn(root, Path(home), "--no-index") as server,
    ):
        server.initialize()
        server.value("index_codebase", {"path": str(root.resolve())})
        for mode in options.modes.split(","):
            yield from (_asked(server, root, spec, mode, item) for item in items)
    print(f"{spec['name']} done", file=sys.stderr)


def _asked(server: Server, root: Path, spec: dict[str, Any], mode: str, item: dict[str, Any]) -> Asked:
    arguments = {"path": str(root.resolve()), "query": item["query"], "limit": _DEPTH, "search_mode": mode}
    began = time.perf_counter()
    answer = server.value("search_code", arguments)
    ms = (time.perf_counter() - began) * 1000
    hits = [(each["file"]["path"], each["file"]["start_line"], each["file"]["end_line"]) for each in answer["results"]]
    targets = list(_targets(item))
    ranks = [rank for target in targets if (rank := _rank(hits, target))]
    return Asked(
        spec["name"], spec["language"], _kind(item), mode, _ndcg(ranks, len(targets)),
        any(_overlaps(hits[0], target) for target in targets) if hits else False, ms,
    )  # fmt: skip


def _targets(item: dict[str, Any]) -> Iterator[Target]:
    for raw in [*item.get("relevant", []), *item.get("secondary", [])]:
        yield (raw, None, None) if isinstance(raw, str) else (raw["path"], raw.get("start_line"), raw.get("end_line"))


def _rank(hits: list[tuple[str, int, int]], target: Target) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if _overlaps(hit, target)), None)


def _overlaps(hit: tuple[str, int, int], target: Target) -> bool:
    path, first, last = hit
    if not (path == target[0] or path.endswith(f"/{target[0]}") or target[0].endswith(f"/{path}")):
        return False
    return target[1] is None or target[2] is None or not (last < target[1] or first > target[2])


def _ndcg(ranks: list[int], relevant: int) -> float:
    gain = sum(1 / math.log2(rank + 1) for rank in set(ranks) if rank <= _DEPTH)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(_DEPTH, relevant)))
    return gain / ideal if ideal else 0.0


def _kind(item: dict[str, Any]) -> str:
    query = item["query"].strip()
    return item.get("category") or ("symbol" if " " not in query else "semantic")


def _report(asked: list[Asked], modes: list[str]) -> None:
    names = sorted({row.repository for row in asked})
    halves = {"even half": names[::2], "odd half": names[1::2]}
    rows = [["all", *(_figure([row for row in asked if row.mode == mode]) for mode in modes)]]
    for label, members in halves.items():
        rows.append(
            [label, *(_figure([r for r in asked if r.mode == mode and r.repository in members]) for mode in modes)]
        )
    for attribute in ("kind", "language", "repository"):
        groups: defaultdict[str, list[Asked]] = defaultdict(list)
        for row in asked:
            groups[getattr(row, attribute)].append(row)
        for label, members_ in sorted(groups.items()):
            rows.append([f"{attribute} {label}", *(_figure([r for r in members_ if r.mode == mode]) for mode in modes)])
    print(markdown(["NDCG@10 (first place)", *modes], rows))
    print(f"\n{len(names)} repositories, p50 {Spread([row.ms for row in asked]).median:.1f} ms a query")


def _figure(rows: list[Asked]) -> str:
    groups: defaultdict[str, list[Asked]] = defaultdict(list)
    for row in rows:
        groups[row.repository].append(row)
    if not groups:
        return "–"
    ndcg = mean(mean(row.ndcg for row in members) for members in groups.values())
    return f"{ndcg:.3f} ({mean(row.is_first for row in rows):.2f})"


if __name__ == "__main__":
    main()
