"""Rules that already stand in AGENTS.md and its kin, turned into catalogue entries: a section an entry.

An id comes from the file and the headings above a section, never from its text, so importing again finds its own
entries, whatever their files are called by now: text that changed is updated, what people set on an entry (title,
priority, requirement, categories) stays, and an entry whose body someone edited by hand is left alone and said. The
imported files themselves are only read. Where the rules of a file hold (`catalog/rule_files`) is kept in `appliesTo`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from codecairn.catalog.entries import FOLDER, EntryFile, normalise_lines, source_hash
from codecairn.catalog.front_matter import split_front_matter
from codecairn.catalog.rule_files import RuleFile, rule_file, scope_of
from codecairn.catalog.scope import flaw_of
from codecairn.errors import CairnError
from codecairn.paths import printable
from codecairn.source import json_folder
from codecairn.types import RuleScope

SOURCES = ("AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md", ".cursor/rules/*.mdc")
"""The first to be imported, in this order; other rule files of the project follow by path."""

_HEADING = re.compile(r"(#{1,6})(?:[ \t](.*))?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_LONGEST_TITLE = 500
_LONGEST_ID = 160
"""Bytes, so that the file it names fits into the 255 that file systems allow, `.json` and a number included."""

Action = Literal["add", "update", "keep", "edited", "unreadable", "gone", "skipped"]


@dataclass(frozen=True)
class Section:
    source: str
    heading: tuple[str, ...]
    body: str
    scope: RuleScope | None = None

    @property
    def title(self) -> str:
        return (self.heading[-1] if self.heading else "")[:_LONGEST_TITLE] or Path(self.source).name

    @property
    def where(self) -> str:
        return f"{self.source}#{self.title}"


@dataclass(frozen=True)
class ImportStep:
    """The step of an import for one entry; `content` is the file to write, where there is one."""

    action: Action
    id: str
    source: str
    file: str = ""
    content: bytes | None = None


@dataclass(frozen=True)
class _Existing:
    """A file of the catalogue; `entry` is None where it does not load, and the file's name stands for the id."""

    id: str
    file: str
    entry: EntryFile | None


def plan(root: Path, now: str, listed: Iterable[str] = ()) -> list[ImportStep]:
    """The steps that bring `instructions/` in line with the files of rules, those among the listed paths included;
    nothing is written."""
    existing = _existing(root)
    files = {each.file.removesuffix(".json") for each in existing.values()}
    steps: list[ImportStep] = []
    taken: set[str] = set()
    for found in _sections(root, listed):
        if isinstance(found, ImportStep):
            steps.append(found)
        else:
            identity = _unique(_identity(found), taken)
            known = existing.get(identity)
            steps.append(_change(known, found, now) if known else _addition(identity, files, found, now))
    return [*steps, *_removals(existing, taken)]


def _addition(identity: str, files: set[str], section: Section, now: str) -> ImportStep:
    entry = EntryFile(
        id=identity, title=section.title, body=section.body, priority=50, audience="all", requirement="recommended",
        categories=[_category(section.source)], schema_version="1", created_at=now, updated_at=now,
        source_hash=source_hash(section.body), source=section.where, applies_to=section.scope,
    )  # fmt: skip
    return ImportStep("add", identity, section.where, f"{_unique(identity, files)}.json", _encode(entry))


def _change(existing: _Existing, section: Section, now: str) -> ImportStep:
    action = _action(existing.entry, section)
    if action != "update" or existing.entry is None:
        return ImportStep(action, existing.id, section.where, existing.file)
    changed = msgspec.structs.replace(
        existing.entry, title=section.title, body=section.body, source_hash=source_hash(section.body), updated_at=now,
        source=section.where, applies_to=section.scope or existing.entry.applies_to,
    )  # fmt: skip
    return ImportStep("update", existing.id, section.where, existing.file, _encode(changed))


def _action(entry: EntryFile | None, section: Section) -> Action:
    if entry is None:
        return "unreadable"
    is_same_scope = section.scope is None or entry.applies_to == section.scope
    if normalise_lines(entry.body) == section.body and entry.source == section.where and is_same_scope:
        return "keep"
    ours = entry.source is not None and (entry.source_hash or "").lower() == source_hash(normalise_lines(entry.body))
    return "update" if ours else "edited"


def _removals(existing: Mapping[str, _Existing], taken: set[str]) -> Iterator[ImportStep]:
    for identity, each in existing.items():
        source = (each.entry and each.entry.source) or ""
        file = source.partition("#")[0]
        if identity not in taken and not Path(file).is_absolute() and rule_file(file) is not None:
            yield ImportStep("gone", identity, source, each.file)


def write(root: Path, steps: list[ImportStep]) -> None:
    due = [(step.file, step.content) for step in steps if step.content is not None]
    if not due:
        return
    target = root / FOLDER
    if not json_folder.is_inside(target.resolve(), root):
        raise CairnError(f"{FOLDER}/ is a link that leads outside the project", remedy="Make it a folder of its own.")
    try:
        target.mkdir(exist_ok=True)
        for name, content in due:
            partial = target / f".{name}.part"
            partial.write_bytes(content)
            partial.replace(target / name)
    except OSError as error:
        raise CairnError(
            f"{FOLDER}/ cannot be written: {error.strerror}", remedy="Make it a folder you may write to."
        ) from error


def _existing(root: Path) -> dict[str, _Existing]:
    """The files of the catalogue, by id."""
    found: dict[str, _Existing] = {}
    for name, reading in json_folder.JsonFolder(root / FOLDER, root).readings().items():
        entry = _entry(reading)
        identity = entry.id if entry else name.removesuffix(".json")
        found.setdefault(identity, _Existing(identity, name, entry))
    return found


def _entry(reading: json_folder.FileReading) -> EntryFile | None:
    try:
        return msgspec.json.decode(reading.content or b"", type=EntryFile)
    except json_folder.NO_JSON:
        return None


def _encode(entry: EntryFile) -> bytes:
    fields: dict[str, Any] = {name: value for name, value in msgspec.to_builtins(entry).items() if value is not None}
    return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"


def _sections(root: Path, listed: Iterable[str]) -> Iterator[Section | ImportStep]:
    """Every section with text, of every file of rules the project has; a file linked under two names counts once."""
    seen: set[Path] = set()
    for file in _files(root, listed):
        real = (root / file.path).resolve()
        if real in seen:
            continue
        seen.add(real)
        reading = json_folder.read(real, root) if json_folder.is_inside(real, root) else None
        if reading is not None and reading.content is not None:
            yield from _read_sections(file, reading.content.decode("utf-8", "replace"))
        else:
            reason = (reading and reading.problem) or "a link that leads nowhere or outside the project"
            yield ImportStep("skipped", printable(file.path), reason)


def _files(root: Path, listed: Iterable[str]) -> list[RuleFile]:
    first = [path.relative_to(root).as_posix() for pattern in SOURCES for path in sorted(root.glob(pattern))]
    found = map(rule_file, dict.fromkeys([*first, *sorted(listed)]))
    return [each for each in found if each is not None]


def _read_sections(file: RuleFile, text: str) -> Iterator[Section | ImportStep]:
    scope = scope_of(file, split_front_matter(normalise_lines(text))[0])
    flaw = flaw_of(scope) if scope is not None else None
    if flaw is not None:
        yield ImportStep("skipped", printable(file.path), printable(flaw))
    else:
        yield from sections_of(file.path, text, scope)


def sections_of(source: str, text: str, scope: RuleScope | None = None) -> Iterator[Section]:
    heading: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in split_front_matter(normalise_lines(text))[1].split("\n"):
        fence = fence_after(line, fence)
        found = None if fence else _HEADING.fullmatch(line)
        if found is None:
            lines.append(line)
            continue
        yield from _section(source, heading, lines, scope)
        level = len(found[1])
        heading = [(each, title) for each, title in heading if each < level] + [(level, _title(found[2] or ""))]
        lines = []
    yield from _section(source, heading, lines, scope)


def fence_after(line: str, fence: str) -> str:
    """The fence that is open after a line: one closes by its own kind, at least as long and with nothing behind it."""
    found = _FENCE.fullmatch(line)
    if found is None:
        return fence
    if not fence:
        return found[1]
    return "" if found[1].startswith(fence) and not found[2].strip() else fence


def _title(text: str) -> str:
    """Without the marks that may close a heading."""
    bare = text.strip()
    open_ended = bare.rstrip("#")
    return open_ended.rstrip() if not open_ended or open_ended[-1] in " \t" else bare


def _section(
    source: str, heading: list[tuple[int, str]], lines: list[str], scope: RuleScope | None
) -> Iterator[Section]:
    body = "\n".join(lines).strip("\n").rstrip()
    if body.strip():
        yield Section(source, tuple(title for _, title in heading), body, scope)


def _identity(section: Section) -> str:
    file = rule_file(section.source)
    assert file is not None
    first = _slug(file.name if file.is_plain and file.name else f"{file.kind} {file.name}")
    parts = [_slug(file.folder), first, *(_slug(title) for title in section.heading)]
    whole = "-".join(part for part in parts if part)
    return whole.encode()[:_LONGEST_ID].decode("utf-8", "ignore").strip("-")


def _slug(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")


def _unique(identity: str, taken: set[str]) -> str:
    name, number = identity, 2
    while name in taken:
        name, number = f"{identity}-{number}", number + 1
    taken.add(name)
    return name


def _category(source: str) -> str:
    file = rule_file(source)
    return file.kind if file is not None else "copilot"
