"""Verdicts on anchors: alive, moved, dead, or unknown.

    alive     it is there: from the root, from the file's folder or one above, or as the end of a longer path
    moved     it is not, and the history tells where it stands now
    dead      it is not; the history knows it, or the text links to it, or what would run it has no such target
    unknown   it is not, and nothing proves that it should be: an example, a build's output, another's code

A false alarm in a build costs more than a miss, so whatever is not proved is unknown: a line that speaks of absence
("removed", "creates", "do not"), a path that git ignores, a name that was never defined here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct

from codecairn.anchors import code_names
from codecairn.anchors.extract import Anchor, AnchorKind, read_anchors
from codecairn.anchors.past import Fate, Past
from codecairn.anchors.run_targets import RunTargets, RunVerdict
from codecairn.anchors.tree import PathTree, candidates
from codecairn.cancel import Cancel
from codecairn.catalog.rule_files import rule_file
from codecairn.commands import COMMANDS
from codecairn.paths import Guard, printable
from codecairn.source.file_content import Content, Skip, read_text
from codecairn.source.file_listing import list_files
from codecairn.source.git import Git, names_of
from codecairn.suggestions import nearest

AnchorStatus = Literal["alive", "moved", "dead", "unknown"]
_LARGEST = 2 << 20
_GENERIC = frozenset(
    "readme license makefile dockerfile index main config settings setup test tests utils types package tsconfig "  # noqa: SIM905
    "pyproject cargo requirements changelog contributing app agents claude gemini skill todo plan memory notes".split()
)
"""Stems of file names that many a project has, so that one by itself does not tell which is meant."""


class AnchorVerdict(Struct, frozen=True, kw_only=True, omit_defaults=True):
    file: str
    line: int
    kind: AnchorKind
    anchor: str
    status: AnchorStatus
    reason: str = ""
    suggestion: str = ""
    """Where it stands now, or the nearest that is there."""
    since: str = ""
    """The commit that moved or removed it."""


class RuleText(NamedTuple):
    """A text of rules and the file it stands in."""

    file: str
    text: str
    at_line: int = 0
    """The line of the file that holds all of the text, where it is no text file of its own."""

    def line_of(self, anchor: Anchor) -> int:
        return self.at_line or anchor.line


@dataclass(frozen=True)
class AnchorReport:
    verdicts: list[AnchorVerdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What could not be looked at, and why."""

    @property
    def faults(self) -> list[AnchorVerdict]:
        return [each for each in self.verdicts if each.status in ("moved", "dead")]

    @property
    def counts(self) -> Counter[str]:
        """How many anchors have each status."""
        return Counter(each.status for each in self.verdicts)


class Repository(NamedTuple):
    """The files of a project as they are now, and its git."""

    root: Path
    git: Git
    guard: Guard
    cancel: Cancel

    def paths(self) -> tuple[list[str], bool]:
        """Every file, and whether there is a git to ask about the past."""
        listed = self.git.run("ls-files", "-z", "-c", "-o", "--exclude-standard", cancel=self.cancel)
        if listed.status != 0:
            return [each.path for each in list_files(self.root, self.git, self.guard, self.cancel).files], False
        gone = self.git.run("ls-files", "-z", "-d", cancel=self.cancel)
        return sorted({*names_of(listed.output)} - {*names_of(gone.output)}), True

    def read(self, path: str) -> bytes:
        found = self._content(path)
        return found.raw if isinstance(found, Content) else b""

    def unread(self, path: str) -> str:
        """Why a file cannot be read as text; nothing where it can."""
        found = self._content(path)
        return found.reason if isinstance(found, Skip) else ""

    def _content(self, path: str) -> Content | Skip | None:
        return read_text(self.root, path, _LARGEST) if not self.guard.blocks(path) else None

    def text(self, path: str) -> str | None:
        return self.read(path).decode("utf-8", "replace") or None


def rule_texts(repository: Repository, paths: Iterable[str]) -> Iterator[RuleText]:
    """The rule files among some paths. A link is read under the name of its target, if that is one of the project."""
    for path in paths:
        if rule_file(path) is not None and (text := repository.text(path)) is not None:
            yield RuleText(path, text)


def check_anchors(repository: Repository, others: Iterable[RuleText] = ()) -> AnchorReport:
    """Every anchor of the project's rule files, and of other texts of rules."""
    paths, has_past = repository.paths()
    checker = AnchorChecker(repository, paths, has_past=has_past)
    for each in (*rule_texts(repository, paths), *others):
        checker.read(each)
    checker.note_unread(each for each in paths if rule_file(each) is not None)
    return checker.report()


def check_texts(repository: Repository, texts: Iterable[RuleText], rules_at: str) -> AnchorReport:
    """The anchors of texts that a commit holds, against the project as it is now."""
    paths, has_past = repository.paths()
    checker = AnchorChecker(repository, paths, has_past=has_past, rules_at=rules_at)
    for each in texts:
        checker.read(each)
    return checker.report()


class _Asked(NamedTuple):
    source: RuleText
    anchor: Anchor

    @property
    def folder(self) -> str:
        """The folder that paths in it may start from."""
        file = rule_file(self.source.file)
        return file.folder if file is not None else ""

    def verdict(self, status: AnchorStatus, reason: str = "", suggestion: str = "", since: str = "") -> AnchorVerdict:
        return AnchorVerdict(
            file=printable(self.source.file), line=self.source.line_of(self.anchor), kind=self.anchor.kind,
            anchor=printable(self.anchor.text), status=status, reason=reason, suggestion=printable(suggestion),
            since=since,
        )  # fmt: skip


class AnchorChecker:
    """Anchors of one project: read text by text, judged together."""

    def __init__(self, repository: Repository, paths: list[str], *, has_past: bool, rules_at: str = "") -> None:
        self._repository = repository
        self._tree = PathTree(paths)
        self._targets = RunTargets(paths, repository.text)
        self._past = Past(repository.git, repository.cancel, self._tree, rules_at) if has_past else None
        self._asked: list[_Asked] = []
        self._notes: list[str] = []

    def read(self, source: RuleText) -> None:
        file = rule_file(source.file)
        found = read_anchors(source.text, imports=file is not None and file.kind in ("claude", "gemini"))
        self._asked += [_Asked(source, each) for each in found.anchors]
        if found.long_lines:
            self._notes.append(f"{printable(source.file)}: {found.long_lines} lines are too long to look for anchors")

    def note_unread(self, paths: Iterable[str]) -> None:
        """Say which rule files were not looked at, and why."""
        reasons = ((each, self._repository.unread(each)) for each in paths)
        self._notes += [f"{printable(path)}: not looked at ({reason})" for path, reason in reasons if reason]

    def report(self) -> AnchorReport:
        verdicts: dict[_Asked, AnchorVerdict] = {}
        missing: list[_Asked] = []
        for each in self._asked:
            verdict = self._present(each)
            if verdict is not None:
                verdicts[each] = verdict
            else:
                missing.append(each)
        verdicts |= self._missing(missing)
        if missing and self._past is not None and self._past.is_shallow:
            self._notes.append("the history is shallow: what moved or died before it is unknown (clone it whole)")
        ordered = [verdicts[each] for each in self._asked if each in verdicts]
        return AnchorReport(ordered, self._notes)

    # What is there.

    def _present(self, asked: _Asked) -> AnchorVerdict | None:
        """The verdict on what the project as it is can tell; None for what is not there."""
        kind = asked.anchor.kind
        if kind == "command":
            return self._command(asked)
        if kind == "symbol":
            return None
        text = asked.anchor.text
        is_there = self._tree.places(text, asked.folder) if kind == "path" else self._linked(asked)
        if is_there or self._is_on_disk(text, asked.folder):
            return asked.verdict("alive")
        return asked.verdict("unknown", "its line speaks of absence") if asked.anchor.is_negated else None

    def _linked(self, asked: _Asked) -> list[str]:
        folder = asked.source.file.rpartition("/")[0]
        return [each for each in candidates(asked.anchor.text.lstrip("/"), folder) if self._tree.has(each)]

    def _is_on_disk(self, text: str, folder: str) -> bool:
        """Whether it lies in the folder and not in git: a link, a file that is ignored, one of a submodule."""
        for each in candidates(text.lstrip("/"), folder):
            if any(above in self._tree.files for above in _above(each)):
                return True
            try:
                if (self._repository.root / each).exists():
                    return True
            except (OSError, ValueError):
                continue
        return False

    def _command(self, asked: _Asked) -> AnchorVerdict:
        program, _, name = asked.anchor.text.rpartition(" ")
        verdict = self._look_up(program, name, asked.folder)
        if verdict.is_there is None or (asked.anchor.is_negated and not verdict.is_there):
            return asked.verdict("unknown", "what it would run cannot be told")
        if verdict.is_there:
            return asked.verdict("alive")
        what = {"make": "no Makefile has this target", "cairn": "cairn has no such command"}
        reason = what.get(program, "no package.json has this script")
        return asked.verdict("dead", reason, f"{program} {verdict.near}" if verdict.near else "")

    def _look_up(self, program: str, name: str, folder: str) -> RunVerdict:
        if program == "make":
            return self._targets.make(name, folder)
        if program == "npm run":
            return self._targets.script(name, folder)
        near = next(iter(nearest(name, COMMANDS, 1)), "")
        return RunVerdict(True if name in COMMANDS else False if near else None, near)

    # What is not.

    def _missing(self, missing: list[_Asked]) -> dict[_Asked, AnchorVerdict]:
        ignored = self._ignored(missing)
        left = [each for each in missing if each not in ignored]
        verdicts = {each: each.verdict("unknown", "git ignores it") for each in ignored}
        names = self._unused_names(left)
        verdicts |= {each: each.verdict("alive") for each in left if each.anchor.kind == "symbol" and each not in names}
        gone = [each for each in left if each.anchor.kind != "symbol" or each in names]
        if self._past is None:
            return verdicts | {each: self._without_past(each) for each in gone}
        dated = self._date(self._past, gone)
        places = {each: self._old_places(self._past, each, dated.get(each, "")) for each in gone}
        fates = self._past.fates(place for found in places.values() for place in found)
        defined = self._defined(self._past, names, dated)
        for each in gone:
            if each.anchor.kind == "symbol":
                verdicts[each] = self._symbol(each, names[each], defined)
            else:
                verdicts[each] = self._gone(each, [(place, fates.get(place)) for place in places[each]])
        return verdicts

    def _without_past(self, asked: _Asked) -> AnchorVerdict:
        if asked.anchor.kind == "link":
            return asked.verdict("dead", "the link leads to no file")
        return asked.verdict("unknown", "there is no history to ask")

    def _ignored(self, missing: list[_Asked]) -> set[_Asked]:
        if self._past is None:
            return set()
        by_path: defaultdict[str, list[_Asked]] = defaultdict(list)
        for each in missing:
            if each.anchor.kind in ("path", "link"):
                for path in candidates(each.anchor.text.lstrip("/"), each.folder):
                    by_path[f"./{path}{'/' if each.anchor.text.endswith('/') else ''}"].append(each)
        if not by_path:
            return set()
        given = "".join(f"{each}\0" for each in by_path).encode("utf-8", "surrogateescape")
        run = self._repository.git.run(
            "check-ignore", "-z", "--no-index", "--stdin", cancel=self._repository.cancel, stdin=given
        )
        return {each for path in names_of(run.output) for each in by_path.get(path, ())}

    def _date(self, past: Past, gone: list[_Asked]) -> dict[_Asked, str]:
        """The commit that wrote the line of each anchor."""
        by_file: defaultdict[str, list[_Asked]] = defaultdict(list)
        for each in gone:
            by_file[each.source.file].append(each)
        dated: dict[_Asked, str] = {}
        for file, asked in by_file.items():
            commits = past.line_commits(file, [each.source.line_of(each.anchor) for each in asked])
            dated |= {each: commits.get(each.source.line_of(each.anchor), "HEAD") for each in asked}
        return dated

    def _old_places(self, past: Past, asked: _Asked, commit: str) -> list[str]:
        """The paths it meant when its line was written; else those it could mean at any time."""
        if asked.anchor.kind == "symbol":
            return []
        text, folder = asked.anchor.text.lstrip("/"), asked.folder
        tree = past.tree_at(commit) if commit else None
        then = tree.places(text, folder) if tree is not None else []
        if "/" not in text.rstrip("/") and not any(each in candidates(text, folder) for each in then):
            then = then if len(then) == 1 and _is_telling(text) else []
        return then or candidates(text, folder)

    def _gone(self, asked: _Asked, places: list[tuple[str, Fate | None]]) -> AnchorVerdict:
        known = [(place, fate) for place, fate in places if fate is not None]
        moved = next((fate for _, fate in known if fate.now is not None), None)
        if moved is not None and moved.now is not None:
            return asked.verdict("moved", f"it stands at {printable(moved.now)} now", moved.now, moved.commit)
        if known:
            place, fate = known[0]
            return asked.verdict("dead", f"{printable(place)} was deleted", self._near_path(place), fate.commit)
        if asked.anchor.kind == "link":
            return asked.verdict("dead", "the link leads to no file", self._near_path(asked.anchor.text))
        return asked.verdict("unknown", "it was never there, as far as the history tells")

    def _near_path(self, path: str) -> str:
        """A file of the same name elsewhere, where there is one only."""
        same = self._tree.places(path.rstrip("/").rpartition("/")[2], "")
        return same[0] if len(same) == 1 else ""

    # Names of code.

    def _unused_names(self, left: list[_Asked]) -> dict[_Asked, list[str]]:
        """The names of each symbol anchor that no file spells."""
        symbols = {each: code_names.parts_of(each.anchor.text) for each in left if each.anchor.kind == "symbol"}
        wanted = {part for parts in symbols.values() for part in parts}
        if not wanted:
            return {}
        files = sorted(each for each in self._tree.files if rule_file(each) is None)
        used = code_names.names_in_use(files, self._repository.read, wanted, self._repository.cancel)
        unused = {each: [part for part in parts if part not in used] for each, parts in symbols.items()}
        return {each: parts for each, parts in unused.items() if parts}

    def _defined(
        self, past: Past, names: dict[_Asked, list[str]], dated: dict[_Asked, str]
    ) -> dict[tuple[str, str], str]:
        """For a file's line commit and a name, the file that defined it then."""
        by_commit: defaultdict[str, set[str]] = defaultdict(set)
        for each, parts in names.items():
            if not each.anchor.is_negated:
                by_commit[dated.get(each, "HEAD")].update(parts)
        found: dict[tuple[str, str], str] = {}
        for commit in list(by_commit)[:20]:
            defined = code_names.defined_at(past.git, commit, by_commit[commit], past.cancel)
            found |= {(commit, name): path for name, path in defined.items()}
        self._dated = dated
        return found

    def _symbol(self, asked: _Asked, names: list[str], defined: dict[tuple[str, str], str]) -> AnchorVerdict:
        commit = self._dated.get(asked, "HEAD")
        for name in names:
            path = defined.get((commit, name))
            if path is not None:
                since = code_names.removal_of(self._repository.git, name, path, self._repository.cancel)
                near = code_names.near_symbol(path, self._repository.read(path), name) if self._tree.has(path) else ""
                return asked.verdict("dead", f"{printable(path)} defined {name} when this was written", near, since)
        return asked.verdict("unknown", "it was not defined here when this was written")


def _above(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _is_telling(name: str) -> bool:
    stem = name.rstrip("/").rpartition(".")[0] or name
    return stem.casefold() not in _GENERIC and len(stem) > 5 and any(each in stem for each in "_-")
