"""The shipped encoder: how fast it opens, encodes and answers, and what it holds in memory.

    python benchmarks/embed.py [--repo FOLDER] [--json FILE]

Chunks are those of the repository's own index (default: this one). Time is CPU time of one process; the ratio is to
splitting the same chunks into words and counting them, which every search by words pays too. A nearest-neighbour look
is measured over the repository's vectors, and over as many copies of them as make 100,000 and 1,000,000 rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import Spread, markdown

from codecairn.cancel import Cancel
from codecairn.config import Embeddings, Settings
from codecairn.embed.encoder import Passage
from codecairn.embed.token_table import DATA, TokenTable
from codecairn.index.run import Options
from codecairn.index.views import searching
from codecairn.project import Project
from codecairn.store.vector_segments import Placement, Segment
from codecairn.store.vectors import VectorField, VectorFiles
from codecairn.words import analyse

QUERIES = (
    "how are requests retried after a failure", "where is the cache invalidated", "parse command line arguments",
    "compute the difference between two trees", "architecture of the plugin system", "close the connection pool",
)  # fmt: skip
_BATCH = 512
_RUNS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = measured(options.repo.resolve())
    print(markdown(["what", "figure"], [[name, f"{value:,.3g}"] for name, value in found.items()]))
    if options.json:
        options.json.write_text(json.dumps(found, indent=2))


def measured(repo: Path) -> dict[str, float]:
    before = _resident_mb()
    opening = [_cpu(TokenTable) for _ in range(5)]
    encoder = TokenTable()
    encoder.query(QUERIES[0])
    held = _resident_mb() - before
    passages = _passages(repo)
    words = _cpu(lambda: [Counter(analyse(each.terms).split()) for each in passages])
    parts = [passages[at : at + _BATCH] for at in range(0, len(passages), _BATCH)]
    encoder.passages(parts[0])
    seconds = _cpu(lambda: [encoder.passages(part) for part in parts])
    rows = np.concatenate([encoder.passages(part) for part in parts])
    queries = Spread([_cpu(partial(encoder.query, each)) * 1000 for each in QUERIES * _RUNS])
    return {
        "files in the wheel, MB": sum(each.stat().st_size for each in DATA.iterdir()) / 1e6,
        "opening, CPU ms (best of 5)": min(opening) * 1000,
        "chunks": len(passages),
        "chunks a CPU second": len(passages) / seconds,
        "encoding over analysing the same text": seconds / words,
        "a query, CPU ms (median)": queries.median,
        "a query, CPU ms (p95)": queries.p95,
        "memory of the model in use, MB": held,
        **_looking(encoder, rows),
    }


def _passages(repo: Path) -> list[Passage]:
    with tempfile.TemporaryDirectory(prefix="cairn-embed-") as home:
        project = Project(repo, Settings(data=Path(home), embeddings=Embeddings(are_off=True)))
        project.index.index(Options(), force=False, cancel=Cancel())
        opened = project.index.open_index()
        assert opened is not None
        found = []
        for view in searching(project.index, opened):
            for file in view.files():
                terms = view.terms(file.id)
                for chunk in view.chunks(file.id):
                    symbol = view.symbol(file.id, chunk.symbol) if chunk.symbol >= 0 else None
                    found.append(Passage(file.path, symbol.path if symbol else chunk.title, terms[chunk.number]))
            break
        project.index.close()
    return found


def _looking(encoder: TokenTable, rows: Any) -> dict[str, float]:
    """The hundred nearest, CPU milliseconds, by how many rows are looked at."""
    found = {}
    for count in (len(rows), 100_000, 1_000_000):
        with tempfile.TemporaryDirectory(prefix="cairn-embed-") as folder:
            files = VectorFiles(Path(folder) / "vectors")
            repeated = np.resize(rows, (count, rows.shape[1]))
            files.write(Segment(1, encoder.name, rows.shape[1], 0), repeated)
            field = VectorField(files, Segment(1, encoder.name, rows.shape[1], count), [Placement(1, 0, count)])
            asked = [encoder.query(each) for each in QUERIES]
            times = [_cpu(partial(field.nearest, row, 100, list)) * 1000 for row in asked * 4]
            found[f"the nearest of {count:,}, CPU ms (median)"] = Spread(times).median
    return found


def _cpu(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _resident_mb() -> float:
    if sys.platform != "linux":
        return 0.0
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    main()
