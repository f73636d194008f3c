"""An oracle with overloads taken for one symbol, as `find_references` takes them.

    python benchmarks/oracles/overloads.py java_NAME.json > FOLDER/java_NAME.json

Whoever asks for one of several methods of a type that share a name is shown the uses of all of them, and where the
others are declared. A compiler tells them apart, so its own list is the stricter measure.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any


def merged(symbols: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for each in symbols:
        if each["kind"] != "class":
            groups[each["path"], each["owner"], each["symbol"]].append(each)
    for group in groups.values():
        uses = {(path, line) for each in group for path, line in each["refs"]}
        uses |= {(each["path"], each["line"]) for each in group}
        for each in group:
            each["refs"] = sorted(uses)
    return symbols


if __name__ == "__main__":
    told = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    json.dump(merged(told) if isinstance(told, list) else told | {"symbols": merged(told["symbols"])}, sys.stdout)
