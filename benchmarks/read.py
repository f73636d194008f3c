"""read_file on real files: as it is, with what it imports, and out of a commit.

    python benchmarks/read.py [--repo DIR] [--files 200] [--json FILE]

Works in a throw-away clone of DIR (default: this repository), indexed and watched by a real stdio server; each figure
is one call seen from the client, over files of all lengths. Bars for the median: 20 ms for a file, 100 ms with its
dependencies; exits 1 if one is broken. A call that does nothing is measured beside them: on a machine that others use
too, it is what the clock charges before any work is done.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import Server, Spread, cairn, table
from sources import sources_in

BARS: dict[str, float | None] = {"nothing": None, "a file": 20.0, "with dependencies": 100.0, "in a commit": None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, default=Path(__file__).parent.parent)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cairn-read-") as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--local", str(options.repo), str(clone)], check=True)
        spreads, dependencies = _measured(clone, Path(folder) / "home", options.files)
    rows = [_row(what, spread) for what, spread in spreads.items()]
    print(f"{options.files} files, {dependencies} dependencies with their text", file=sys.stderr)
    print(table(["what", "p50 ms", "p95 ms", "bar", ""], [_shown(row) for row in rows]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    sys.exit(any(row["passes"] is False for row in rows))


def _measured(clone: Path, home: Path, count: int) -> tuple[dict[str, Spread], int]:
    by_length = sorted(sources_in(clone), key=lambda each: each.lines)
    paths = [each.path for each in by_length[:: max(1, len(by_length) // count)]][:count]
    spreads = {what: Spread() for what in BARS}
    dependencies = 0
    with cairn(clone, home) as server:
        server.initialize()
        server.value("index_codebase", {"path": str(clone)})
        while server.value("get_status", {"path": str(clone)})["metadata"]["freshness_status"] != "fresh":
            time.sleep(0.1)
        _took(server, "read_file", {"path": paths[0], "includeDeps": True})
    for start in range(0, len(paths), 30):  # a connection may make a hundred calls a minute
        with cairn(clone, home) as server:
            server.initialize()
            _took(server, "read_file", {"path": paths[0], "includeDeps": True})
            for path in paths[start : start + 30]:
                asked = {"path": path}
                spreads["nothing"].values.append(_took(server, "health_check", {})[0])
                spreads["a file"].values.append(_took(server, "read_file", asked)[0])
                took, answer = _took(server, "read_file", {**asked, "includeDeps": True})
                spreads["with dependencies"].values.append(took)
                spreads["in a commit"].values.append(_took(server, "read_file", {**asked, "ref": "HEAD"})[0])
                said = answer.get("result", {}).get("structuredContent", {})
                dependencies += sum("content" in each for each in said.get("dependencies", ()))
    return spreads, dependencies


def _took(server: Server, tool: str, arguments: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Milliseconds, and the answer, which may be that the imports cannot be parsed."""
    began = time.perf_counter()
    line = server.call(tool, arguments)
    elapsed = (time.perf_counter() - began) * 1000
    return elapsed, json.loads(line)


def _row(what: str, spread: Spread) -> dict[str, Any]:
    bar = BARS[what]
    return {"what": what, **spread.as_json(), "bar_ms": bar, "passes": None if bar is None else spread.median <= bar}


def _shown(row: dict[str, Any]) -> list[str]:
    verdict = "" if row["passes"] is None else "ok" if row["passes"] else "OVER"
    bar = "" if row["bar_ms"] is None else f"{row['bar_ms']:.0f}"
    return [row["what"], f"{row['median']:.1f}", f"{row['p95']:.1f}", bar, verdict]


if __name__ == "__main__":
    main()
