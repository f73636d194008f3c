"""Anchors of real rule files: how many there are, how many died, and whether planted faults are found.

    python -m benchmarks.anchors FOLDER … [--old] [--planted N] [--out FILE]

Each folder is a clone with its history. Three questions:

- as it is: the rule files of the checkout against the checkout;
- `--old`: each rule file as its oldest commits wrote it, against the checkout: what would have rotted if nobody had
  kept the rules up to date. This gives enough verdicts to read by hand; `--out` writes them with the lines they are of;
- `--planted N`: for N commits of the history that delete or rename files, a rule that names those files (and the
  functions and types that only they define) is committed before, and checked after. Of a rename the new place must be
  said. Nothing is written into the folder but loose objects and a worktree that is removed again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from codecairn.anchors.check import AnchorReport, Repository, RuleText, check_anchors, check_texts
from codecairn.anchors.code_names import defined_at
from codecairn.cancel import Cancel
from codecairn.catalog.rule_files import rule_file
from codecairn.file_roles import is_product
from codecairn.parse.language import language_of
from codecairn.paths import Guard
from codecairn.source.git import Git

_OLD_VERSIONS, _OLD_FILES = 6, 12
_PLANTED_FILES = 5


def git(root: Path, *arguments: str, stdin: str | None = None) -> str:
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", input=stdin, check=False)
    return done.stdout


def repository(root: Path) -> Repository:
    return Repository(root, Git(root), Guard(root), Cancel())


def print_row(name: str, what: str, report: AnchorReport, began: float) -> None:
    counts = report.counts
    said = ", ".join(f"{status} {counts[status]}" for status in ("alive", "moved", "dead", "unknown"))
    print(f"{name:<36} {what:<8} {len(report.verdicts):>5} anchors: {said}; {time.process_time() - began:.1f} s CPU")


def rows(root: Path, report: AnchorReport, commit: str = "") -> list[dict[str, Any]]:
    found = []
    for each in report.verdicts:
        place = root / each.file
        text = git(root, "show", f"{commit}:{each.file}") if commit else place.read_text("utf-8", "replace")
        line = text.split("\n")[each.line - 1] if each.status in ("dead", "moved") else ""
        found.append({"repository": root.name, "at": commit[:9], "text": line, **msgspec.to_builtins(each)})
    return found


def present(root: Path) -> list[dict[str, Any]]:
    began = time.process_time()
    report = check_anchors(repository(root))
    print_row(root.name, "now", report, began)
    return rows(root, report)


def old(root: Path) -> list[dict[str, Any]]:
    """Versions of each rule file from its first to its last but one; an anchor counts once a file."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    files = [each for each in git(root, "ls-files").split("\n") if rule_file(each) and not (root / each).is_symlink()]
    for file in files[:_OLD_FILES]:
        commits = git(root, "log", "--reverse", "--format=%H", "--", file).split()[:-1]
        for commit in commits[:: max(1, len(commits) // _OLD_VERSIONS)]:
            text = git(root, "show", f"{commit}:{file}")
            report = check_texts(repository(root), [RuleText(file, text)], commit)
            for each in rows(root, report, commit):
                found.setdefault((file, each["anchor"], each["status"]), each)
    counts = Counter(each["status"] for each in found.values())
    print(f"{root.name:<36} old      {sum(counts.values()):>5} anchors: {dict(counts)}")
    return list(found.values())


def planted(root: Path, count: int, seed: int = 1) -> Counter[str]:
    """Replays deletions and renames; returns how many were planted and found, by kind."""
    tally: Counter[str] = Counter()
    log = git(root, "log", "--no-merges", "--diff-filter=DR", "--format=%H", "-n", "4000").split()
    random.Random(seed).shuffle(log)
    for commit in log:
        if count <= 0:
            break
        faults = _faults(root, commit)
        if faults:
            count -= 1
            tally += _replay(root, commit, faults)
    print(f"{root.name:<36} planted  {dict(sorted(tally.items()))}")
    return tally


def _faults(root: Path, commit: str) -> dict[str, tuple[str, str]]:
    """Anchors that a commit breaks: path or name → its kind, and the new place of a renamed file."""
    listed = git(root, "diff-tree", "-r", "-M", "--name-status", "--no-commit-id", "--diff-filter=DR", commit)
    found: dict[str, tuple[str, str]] = {}
    for row in listed.split("\n"):
        status, _, names = row.partition("\t")
        before, _, after = names.partition("\t")
        if not status or not language_of(before) or not is_product(before, ""):
            continue
        kind = "moved" if status.startswith("R") else "deleted"
        if len([each for each in found.values() if each[0] != "symbol"]) < _PLANTED_FILES:
            found[before] = (kind, after)
        if kind == "deleted":
            found |= _lost_names(root, commit, before)
    return found


def _lost_names(root: Path, commit: str, path: str) -> dict[str, tuple[str, str]]:
    """Functions and types of a deleted file that no line of the code spells afterwards."""
    words = set(git(root, "show", f"{commit}~:{path}").replace("(", " ").split())
    names = [each for each in sorted(words) if "_" in each.strip("_") and each.isidentifier() and len(each) > 7][:6]
    known = defined_at(Git(root), f"{commit}~", names, Cancel())
    lost = [name for name, place in known.items() if place == path and not git(root, "grep", "-l", "-w", name, commit)]
    return dict.fromkeys(lost[:2], ("symbol", ""))


def _replay(root: Path, commit: str, faults: dict[str, tuple[str, str]]) -> Counter[str]:
    rule = "# Rules\n\n" + "".join(f"- See `{each}` for how it is done here.\n" for each in faults)
    before = _with_rule(root, f"{commit}~", rule, [f"{commit}~"])
    after = _with_rule(root, commit, rule, [before])
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "replay"
        git(root, "worktree", "add", "-q", "--detach", str(place), after)
        if not place.is_dir():  # a clone that lacks some contents
            return Counter()
        report = check_texts(repository(place), [RuleText("AGENTS.md", rule)], "")
        git(root, "worktree", "remove", "--force", str(place))
    verdicts = {each.anchor: each for each in report.verdicts}
    tally: Counter[str] = Counter()
    for anchor, (kind, target) in faults.items():
        verdict = verdicts.get(anchor)
        is_found = verdict is not None and verdict.status in ("dead", "moved")
        tally[f"{kind} planted"] += 1
        tally[f"{kind} found"] += is_found
        tally["moved with place"] += bool(kind == "moved" and verdict is not None and verdict.suggestion == target)
        if not is_found:
            said = (verdict.status, verdict.reason) if verdict else "no anchor"
            print(f"  missed in {root.name} {commit[:9]}: {anchor} ({kind}): {said}")
    return tally


def _with_rule(root: Path, tree: str, rule: str, parents: list[str]) -> str:
    """A commit of a tree with AGENTS.md as given."""
    blob = git(root, "hash-object", "-w", "--stdin", stdin=rule).strip()
    listed = [each for each in git(root, "ls-tree", tree).split("\n") if each and not each.endswith("\tAGENTS.md")]
    made = git(root, "mktree", "--missing", stdin="\n".join([*listed, f"100644 blob {blob}\tAGENTS.md"]) + "\n").strip()
    who = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    ids = [part for each in parents for part in ("-p", git(root, "rev-parse", each).strip())]
    return git(root, *who, "commit-tree", made, *ids, "-m", "replay").strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--old", action="store_true")
    parser.add_argument("--planted", type=int, default=0, metavar="N")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found: list[dict[str, Any]] = []
    tally: Counter[str] = Counter()
    for folder in given.folders:
        root = folder.resolve()
        if given.planted:
            tally += planted(root, given.planted)
        else:
            found += old(root) if given.old else present(root)
        sys.stdout.flush()
    if tally:
        for kind in ("deleted", "moved", "symbol"):
            print(f"{kind}: {tally[f'{kind} found']} of {tally[f'{kind} planted']}")
        print(f"new place said: {tally['moved with place']} of {tally['moved planted']}")
    else:
        print(dict(Counter(each["status"] for each in found)))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
