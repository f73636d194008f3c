"""Real bug reports: is every file that the fix changed among the first results? Beside plain BM25 in the same run.

    python benchmarks/reports.py --reports FILE --mirrors FOLDER [--only NAME,…] [--json FILE]

Each line of the reports file is JSON with repo ("owner/name"), commit (before the fix), text and files; the mirrors are
git directories named OWNER+NAME/repo. The query is the first 1,000 characters. Search is asked in process, on the index
of the commit; the floor is BM25 over whole files of code that are no tests, with the same words.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from measure import markdown

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.file_roles import PROSE, is_test
from codecairn.index.run import Options
from codecairn.index.views import searching
from codecairn.project import Project
from codecairn.rank.search import Mode, Question
from codecairn.store.view import View
from codecairn.words import query_words

DEPTHS = (1, 3, 5, 10)
MODES: tuple[Mode, ...] = ("keyword", "hybrid", "vector")
_RESULTS = 50
_SATURATION, _LENGTH_NORM = 1.2, 0.75
_NOT_FOUND = 999


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reports", type=Path, required=True)
    parser.add_argument("--mirrors", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    groups: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in options.reports.read_text().splitlines():
        report = json.loads(line)
        if not options.only or report["repo"].split("/")[1] in options.only.split(","):
            groups[report["repo"]].append(report)
    ranks = [pair for repo, reports in sorted(groups.items()) for pair in _repository(options.mirrors, repo, reports)]
    rows = [
        [name, *(_share(ranks, at, depth) for depth in DEPTHS)]
        for at, name in enumerate((*MODES, "BM25 over whole files"))
    ]
    print(markdown([f"{len(ranks)} reports", *(f"@{depth}" for depth in DEPTHS)], rows))
    if options.json:
        options.json.write_text(json.dumps(ranks))


def _share(ranks: list[tuple[int, ...]], at: int, depth: int) -> str:
    return f"{100 * sum(pair[at] <= depth for pair in ranks) / max(1, len(ranks)):.1f}"


def _repository(mirrors: Path, repo: str, reports: list[dict[str, Any]]) -> Iterator[tuple[int, ...]]:
    mirror = mirrors / repo.replace("/", "+") / "repo"
    if not mirror.is_dir():
        print(f"{repo}: no mirror", file=sys.stderr)
        return
    counts: dict[int, Counter[str]] = {}
    with tempfile.TemporaryDirectory(prefix="cairn-reports-") as folder:
        root = Path(folder) / repo.split("/")[1]
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", mirror, root], check=True)
        project = Project(root, Settings(data=Path(folder) / "home"))
        for report in reports:
            # A mirror may lack the largest files: all others are there all the same.
            subprocess.run(["git", "checkout", "--quiet", "--force", report["commit"]], cwd=root, check=False)
            project.index.index(Options(), force=False, cancel=Cancel())
            yield _ranks(project, report, counts)
        project.index.close()
    print(f"{repo} done", file=sys.stderr)


def _ranks(project: Project, report: dict[str, Any], counts: dict[int, Counter[str]]) -> tuple[int, ...]:
    opened, query = project.index.open_index(), report["text"][:1000]
    assert opened is not None
    for view in searching(project.index, opened):
        ours = [_searched(project, view, Question(query, mode)) for mode in MODES]
        return tuple(_worst(each, report["files"]) for each in (*ours, _plain(view, query, counts)))
    raise AssertionError("the index has no such checkout")


def _worst(files: list[str], wanted: list[str]) -> int:
    return max(files.index(each) + 1 if each in files else _NOT_FOUND for each in wanted)


def _searched(project: Project, view: View, question: Question) -> list[str]:
    found, _ = project.searcher.rank(view, question)
    return list(dict.fromkeys(each.candidate.path for each in found.results[:_RESULTS]))


def _plain(view: View, query: str, counts: dict[int, Counter[str]]) -> list[str]:
    files = [each for each in view.files() if each.language not in PROSE and not is_test(each.path)]
    for each in files:
        if each.id not in counts:
            counts[each.id] = Counter(word for terms in view.terms(each.id) for word in terms.split())
    lengths = {each.id: counts[each.id].total() for each in files}
    average = sum(lengths.values()) / max(1, len(files))
    scores: Counter[str] = Counter()
    for word in dict.fromkeys(query_words(query)):
        having = [each for each in files if word in counts[each.id]]
        rarity = math.log(1 + (len(files) - len(having) + 0.5) / (len(having) + 0.5))
        for each in having:
            times, share = counts[each.id][word], lengths[each.id] / average
            norm = _SATURATION * (1 - _LENGTH_NORM + _LENGTH_NORM * share)
            scores[each.path] += rarity * times * (_SATURATION + 1) / (times + norm)  # type: ignore[assignment]
    return [path for path, _ in scores.most_common(_RESULTS)]


if __name__ == "__main__":
    main()
