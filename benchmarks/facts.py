"""What is read out of files, as one hash a language: two revisions that agree here keep the same facts.

    python benchmarks/facts.py FOLDER … [--most 4000]

Every file of the folders is taken apart as a worker does it. Symbols, sites, imports, bindings, chunks, terms and texts
are all in the hash. Run it before and after a change that is to alter nothing.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec
from blake3 import blake3

from codecairn.index.digest import digest


def files_in(folder: Path, most: int) -> Iterator[str]:
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if each != ".git")
        found += [str(Path(place, name).relative_to(folder)) for name in names]
    found.sort()
    yield from found[:: max(1, len(found) // most)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=4000, help="files of each folder, evenly chosen")
    given = parser.parse_args()
    hashes: defaultdict[str, blake3] = defaultdict(blake3)
    counts: Counter[str] = Counter()
    for folder in given.folders:
        for path in files_in(folder, given.most):
            outcome = digest(folder, "", path)
            language = outcome.version.language if outcome.version else f"left out: {outcome.reason}"
            hashes[language].update(msgspec.msgpack.encode((path, outcome.reason, outcome.version)))
            counts[language] += 1
    for language in sorted(hashes):
        print(f"{hashes[language].hexdigest(8)}  {counts[language]:6}  {language}")


if __name__ == "__main__":
    main()
