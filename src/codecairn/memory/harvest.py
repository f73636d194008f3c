"""Proposals for discoveries, from what a project has already written down.

    adr       architecture decision records: the title, and what was decided
    rules     files of instructions to agents: every point of theirs
    commits   messages that give a reason: a fix as an issue, anything else as a decision
    todo      TODO, FIXME and HACK in comments, with their age

Nothing is stored before somebody has said yes to it. A text that is stored already is not proposed again, and one that
holds a secret never is.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from codecairn import redact
from codecairn.cancel import Cancel
from codecairn.catalog import rule_import
from codecairn.errors import CairnError
from codecairn.index.run import Progress, ignore_progress
from codecairn.memory.discoveries import LONGEST, SHORTEST, UNBOUND, Draft, StoredDiscovery, Type, find_same, remember
from codecairn.memory.drift_check import bind_to_file
from codecairn.paths import module_name
from codecairn.project import Project
from codecairn.source.file_content import Skip, read_text
from codecairn.text import decode

_LARGEST_FILE = 1_000_000
_MOST_OF_A_KIND = 200
_ADR_FOLDERS = (
    "docs/adr", "docs/adrs", "doc/adr", "doc/adrs", "doc/arch", "docs/decisions", "docs/architecture/decisions",
    "docs/architecture/adr", "docs/architecture-decisions", "adr", "adrs", "decisions",
)  # fmt: skip
_RULE_FILES = (*rule_import.SOURCES, "GEMINI.md", ".cursorrules", ".windsurfrules", ".clinerules", "CONVENTIONS.md")
_ADR_NUMBER = re.compile(r"^(?:ADR[ -]*)?\d+\s*[.:)–-]*\s*", re.IGNORECASE)
_STATUS_LINE = re.compile(r"^[*_\-\s]*status[*_]*\s*[:=]\s*[*_]*\s*([A-Za-z]+)", re.IGNORECASE | re.MULTILINE)
_NOT_IN_FORCE = frozenset({"superseded", "deprecated", "rejected", "draft", "proposed", "withdrawn", "obsolete"})
_POINT = re.compile(r"\s{0,3}(?:[-*+]|\d+[.)])\s+(.*)")
_SHORTEST_POINT = 20


class Proposal(NamedTuple):
    type: Type
    content: str
    where: str
    """The place it was read from, in words that stay the same."""
    path: str | None = None
    """The file it is about."""
    module: str | None = None


def proposals(
    project: Project, cancel: Cancel, sources: Sequence[str] = (), progress: Progress = ignore_progress
) -> dict[str, Proposal]:
    """Texts that could be stored, by an id that stays the same while the source says the same."""
    origins = project.discoveries.origins()
    found: dict[str, Proposal] = {}
    for done, source in enumerate(sources or SOURCES):
        progress(done, len(sources or SOURCES), f"Reading {source}")
        for each in SOURCES[source](project, cancel):
            identity = _identity(each)
            if identity not in found and _origin(each) not in origins and _is_worth_it(project, each):
                found[identity] = each
    return found


def accept(project: Project, each: Proposal) -> StoredDiscovery:
    binding = (bind_to_file(project.root, each.path) if each.path else None) or UNBOUND
    module = each.module or (module_name(each.path, project.name) if each.path else None)
    draft = Draft(each.type, each.content, module, binding, _origin(each))
    return remember(project.discoveries, draft)


def _is_worth_it(project: Project, each: Proposal) -> bool:
    if not SHORTEST <= len(each.content) <= LONGEST or redact.secret_in(each.content):
        return False
    binding = (bind_to_file(project.root, each.path) if each.path else None) or UNBOUND
    return find_same(project.discoveries, each.type, each.content, binding) is None


def _identity(each: Proposal) -> str:
    said = "\0".join((each.where, each.type, each.content))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:8]


def _origin(each: Proposal) -> str:
    return f"{each.where}#{_identity(each)}"


def _decisions(project: Project, cancel: Cancel) -> Iterator[Proposal]:
    del cancel
    for folder in _ADR_FOLDERS:
        for path in _files(project, f"{folder}/*.md"):
            text = _text(project, path)
            found = _decision(path, text) if text else None
            if found is not None:
                yield Proposal("decision", found, f"adr:{path}", path)


def _decision(path: str, text: str) -> str | None:
    sections = list(rule_import.sections_of(path, text))
    if not sections or _status(text, sections) in _NOT_IN_FORCE:
        return None
    title = _ADR_NUMBER.sub("", sections[0].heading[0] if sections[0].heading else "").strip() or Path(path).stem
    decided = [each.body for each in sections if each.heading and each.heading[-1].lower().startswith("decision")]
    body = decided[0] if decided else sections[0].body
    return _fit(f"{title}: {_paragraph(body)}")


def _status(text: str, sections: list[rule_import.Section]) -> str:
    own = [each.body for each in sections if each.heading and each.heading[-1].lower() == "status"]
    found = re.search(r"[A-Za-z]+", own[0]) if own else _STATUS_LINE.search(text)
    return (found[1] if found.re is _STATUS_LINE else found[0]).lower() if found else ""


def _rules(project: Project, cancel: Cancel) -> Iterator[Proposal]:
    del cancel
    seen: set[Path] = set()
    for pattern in _RULE_FILES:
        for path in _files(project, pattern):
            real = (project.root / path).resolve()
            text = _text(project, path) if real not in seen else None
            seen.add(real)
            for section in rule_import.sections_of(path, text or ""):
                for point in _points(section.body):
                    said = f"{section.heading[-1]}: {point}" if len(section.heading) > 1 else point
                    yield Proposal("rule", _fit(said), f"rules:{path}")


def _points(body: str) -> Iterator[str]:
    """Every item of a list, with the lines that continue it; code and what is no item is passed over."""
    point: list[str] = []
    fence = ""
    for line in [*body.split("\n"), ""]:
        fence = rule_import.fence_after(line, fence)
        found = _POINT.match(line) if not fence else None
        if point and (found or not line.strip() or fence):
            if len(said := " ".join(point)) >= _SHORTEST_POINT:
                yield said
            point = []
        if found:
            point = [found[1].strip()]
        elif point:
            point.append(line.strip())


_RECORD, _FIELD = "\x1e", "\x1f"
_MOST_COMMITS = 2_000
_SUBJECT = re.compile(r"(?P<kind>[\w./-]+)(?:\((?P<scope>[^)]*)\))?!?: \S.*|(?P<plain>Fix(?:e[sd])?) .*", re.IGNORECASE)
_REASON = re.compile(
    r"\b(because|so that|instead of|rather than|otherwise|to avoid|in order to|decided?|we (?:chose|use|prefer)"
    r"|root cause|caused by|due to|regression|race|deadlock|work-?around|trade-?off|the reason|turned out)\b",
    re.IGNORECASE,
)
_SHORTEST_REASON = 60
"""Characters; `Regression in 7d9aab8.` is none."""
_TRAILER = re.compile(r"^[A-Z][A-Za-z-]+(?:-[a-z]+)?: .*$|^\(cherry picked.*$|^Change-Id: .*$", re.MULTILINE)


def _commits(project: Project, cancel: Cancel) -> Iterator[Proposal]:
    form = f"--format={_RECORD}%h{_FIELD}%s{_FIELD}%b{_FIELD}"
    arguments = ("log", "--no-merges", f"--max-count={_MOST_COMMITS}", "--name-only", form, "HEAD", "--")
    told = (_of_commit(record, project) for record in _output(project, cancel, *arguments).split(_RECORD))
    return islice((each for each in told if each is not None), _MOST_OF_A_KIND)


def _of_commit(record: str, project: Project) -> Proposal | None:
    identity, _, rest = record.partition(_FIELD)
    subject, _, rest = rest.partition(_FIELD)
    body, _, names = rest.partition(_FIELD)
    asked = _SUBJECT.fullmatch(subject.strip())
    told = (each for each in map(_line, _TRAILER.sub("", body).split("\n\n")) if len(each) >= _SHORTEST_REASON)
    reasons = [each for each in told if _REASON.search(each)]
    if asked is None or not reasons:
        return None
    is_fix = (asked["kind"] or asked["plain"]).lower().startswith(("fix", "bug", "hotfix"))
    paths = [name for name in names.split("\n") if name.strip() and not project.guard.blocks(name)]
    modules = Counter(module_name(path, project.name) for path in paths)
    module = modules.most_common(1)[0][0] if modules else None
    content = _fit(f"{subject.strip().rstrip('.')}. {reasons[0]}")
    return Proposal("issue" if is_fix else "decision", content, f"commit:{identity}", module=module)


_MARK = r"(#|//|/\*|^\s*\*|--|;|<!--|%)[^\"']{0,40}\b(TODO|FIXME|HACK|XXX)\b"
_MARKED = re.compile(r"\b(TODO|FIXME|HACK|XXX)\b(?:\([^)]*\))?[:\s-]*(.*)")
_MOST_TODOS = 60
_LONGEST_TODO = 300


def _todos(project: Project, cancel: Cancel) -> Iterator[Proposal]:
    found = _output(project, cancel, "grep", "-n", "-z", "-I", "-E", "-e", _MARK, "--")
    for path, number, said in islice(_marks(project, found), _MOST_TODOS):
        since = _age(project, cancel, path, number)
        kind, text = said
        yield Proposal("issue", _fit(f"{kind} in {path}{since}: {text}"), f"todo:{path}", path)


def _marks(project: Project, found: str) -> Iterator[tuple[str, int, tuple[str, str]]]:
    """Path, line, mark and text of each, the gravest first."""
    rows = []
    for line in found.split("\n"):
        path, _, rest = line.partition("\0")
        number, _, text = rest.replace("\0", ":", 1).partition(":")
        marked = _MARKED.search(text)
        said = re.sub(r"\s*(\*/|-->)\s*$", "", marked[2]).strip()[:_LONGEST_TODO] if marked else ""
        if marked and number.isdigit() and len(said) >= _SHORTEST_POINT and not project.guard.blocks(path):
            rows.append((marked[1] == "TODO", path, int(number), (marked[1], said)))
    return ((path, number, said) for _, path, number, said in sorted(rows))


def _age(project: Project, cancel: Cancel, path: str, line: int) -> str:
    """The author and the date of a line, from blame; nothing while it is not committed."""
    blamed = _output(project, cancel, "blame", "--porcelain", "-L", f"{line},{line}", "--", path)
    author = re.search(r"^author (.+)$", blamed, re.MULTILINE)
    moment = re.search(r"^author-time (\d+)$", blamed, re.MULTILINE)
    if author is None or moment is None or blamed.startswith("0000000"):
        return ""
    return f" (since {datetime.fromtimestamp(int(moment[1]), UTC):%Y-%m-%d}, {author[1]})"


SOURCES: dict[str, Callable[[Project, Cancel], Iterator[Proposal]]] = {
    "adr": _decisions, "rules": _rules, "commits": _commits, "todo": _todos,
}  # fmt: skip


def _output(project: Project, cancel: Cancel, *arguments: str) -> str:
    """The output of git; empty where there is no repository."""
    try:
        return decode(project.git.run(*arguments, cancel=cancel).output)
    except CairnError:
        return ""


def _files(project: Project, pattern: str) -> list[str]:
    found = (path.relative_to(project.root).as_posix() for path in project.root.glob(pattern) if path.is_file())
    return sorted(path for path in found if not project.guard.blocks(path))


def _text(project: Project, path: str) -> str | None:
    content = read_text(project.root, path, _LARGEST_FILE)
    return None if isinstance(content, Skip) else decode(content.text)


def _paragraph(body: str) -> str:
    """The first paragraph that says something, on one line."""
    paragraphs = (_line(each) for each in re.split(r"\n\s*\n", body))
    return next((each for each in paragraphs if len(each) >= _SHORTEST_POINT), _line(body))


def _line(text: str) -> str:
    return " ".join(text.split())


def _fit(text: str) -> str:
    """At most as long as a discovery may be, cut after a sentence where one ends in time."""
    text = _line(text)
    if len(text) <= LONGEST:
        return text
    cut = text[: LONGEST - 1]
    end = cut.rfind(". ")
    return cut[: end + 1] if end > LONGEST // 2 else f"{cut}…"
