"""How long the rules of a file take to find in a catalogue of 5,000 entries with scopes, in process.

    python -m benchmarks.scopes [--entries 5000] [--paths 2000] [--general]

Scopes are of the kinds that rule files have: folders, endings, braces, single files, modules, languages. `--general`
gives every entry a glob of its own that needs an expression, the worst there is. The bar is 5 ms a file.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from codecairn.catalog.entries import CatalogFolder
from codecairn.catalog.scope import Subject

BAR_MS = 5.0
FOLDERS = [f"packages/p{number % 40}/src/f{number % 7}" for number in range(280)]


def scope(number: int, *, general: bool) -> dict[str, Any] | None:
    folder = FOLDERS[number % len(FOLDERS)]
    if general:
        return {"globs": [f"**/f{number % 7}/*n{number}*.[jt]s"]}
    kinds: list[dict[str, Any] | None] = [
        {"globs": [f"{folder}/**"]}, {"globs": [f"{folder}/**/*.{{ts,tsx}}"]}, {"globs": ["*.py"]},
        {"globs": [f"{folder}/file{number}.ts"]}, {"modules": [f"f{number % 7}"]}, {"languages": ["python"]},
        {"globs": [f"**/test_*{number}*.py"]}, {"globs": [f"packages/*/src/f{number % 7}/*.go"]}, None,
    ]  # fmt: skip
    return kinds[number % len(kinds)]


def write(root: Path, count: int, *, general: bool) -> None:
    folder = root / "instructions"
    folder.mkdir()
    for number in range(count):
        where = scope(number, general=general)
        fields = {
            "id": f"rule-{number}", "title": f"Rule {number}", "body": f"Body {number}.", "priority": 50,
            "audience": "all",
            "requirement": "recommended", "categories": [], "schemaVersion": "1", "createdAt": "2025-01-01T00:00:00Z",
            "updatedAt": "2025-01-01T00:00:00Z", **({"appliesTo": where} if where else {}),
        }  # fmt: skip
        (folder / f"rule-{number}.json").write_text(json.dumps(fields))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=5_000)
    parser.add_argument("--paths", type=int, default=2_000)
    parser.add_argument("--general", action="store_true")
    given = parser.parse_args()
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), given.entries, general=given.general)
        catalog = CatalogFolder(Path(folder)).current()
        assert not catalog.problems, catalog.problems[:3]
        began = time.process_time()
        table = catalog.scopes
        built = time.process_time() - began
        times, held = [], 0
        for _ in range(given.paths):
            path = f"{chance.choice(FOLDERS)}/file{chance.randrange(5_000)}.{chance.choice(['ts', 'py', 'go', 'md'])}"
            began = time.process_time()
            held += len(table.holding(Subject(path, "python" if path.endswith("py") else "", path.split("/")[-2])))
            times.append((time.process_time() - began) * 1000)
    times.sort()
    p95 = times[int(len(times) * 0.95)]
    print(f"{given.entries:,} entries, table built in {built * 1000:.0f} ms; {held / given.paths:.0f} rules a file")
    print(f"p50 {times[len(times) // 2]:.2f} ms, p95 {p95:.2f} ms, most {times[-1]:.2f} ms; the bar is {BAR_MS:g} ms")


if __name__ == "__main__":
    main()
