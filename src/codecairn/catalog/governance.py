"""Prompt review and policy gates: rules as data, run on an engine that takes linear time whatever they say.

Criteria: {version, categories: [{id, rules: [{id, pattern | mustContain, severity, description, …}]}]},
from `docs/PROMPT-CRITERIA.json` in the project, else the packaged default. A rule that cannot be run is an error of the
file, named by its id; it is never skipped in silence.

Gates: {gates: [{id, description?, type: "count", where: {requirement?, priorityGt?, category?}, op, value, severity}]}.
A gate of type "anchors" counts what rules name and is dead or moved (where: {status?}), as the caller finds it.
"""

from __future__ import annotations

import math
import operator
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from codecairn import redact
from codecairn.catalog.entries import FOLDER, GATES_FILE, Catalog, CheckedEntry
from codecairn.errors import CairnError, TimedOut
from codecairn.paths import printable
from codecairn.source import json_folder
from codecairn.source.json_folder import FileReading
from codecairn.types import GateResult, GateSummary, PromptIssue, Requirement, ReviewSummary

CRITERIA_FILE = "docs/PROMPT-CRITERIA.json"
LONGEST_PROMPT = 10_000

SEVERITIES = ("critical", "error", "high", "warning", "warn", "medium", "low", "info")
"""From worst to mildest; criteria files of other tools use several of these words."""

_LONGEST_MATCH = 80
_PACKAGED = "the packaged criteria"
_REGEX_MEMORY = 1 << 20
"""Bytes for one pattern. RE2 refuses what compiles to more; the worst of what is left takes a second on a prompt."""

_MOST_GROUPS = 10
"""Keeping what groups matched takes time that grows with their square: 20,000 of them took 48 s on four letters."""

_LONGEST_REVIEW_S = 2.0
_KEY = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{32,}")
_SECRET_WORDS = re.compile(r"(?i)secret|credential|token|password|passwd|private|api.?key|\bkey\b|aws")

_Id = Annotated[str, Meta(min_length=1, max_length=200)]
_Number = Annotated[int, Meta(ge=-(2**53), le=2**53)]


class Rule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    id: _Id
    severity: Literal["critical", "error", "high", "warning", "warn", "medium", "low", "info"]
    description: str
    pattern: str | None = None
    must_contain: str | None = None
    remediation: str | None = None
    min_entropy: float | None = None
    """Bits a character that the pattern's first group must have: tells a random value from a word."""


class Category(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: _Id
    rules: list[Rule]
    description: str | None = None


class CriteriaFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: str | int | float
    categories: list[Category]


@dataclass(frozen=True)
class CompiledRule:
    rule: Rule
    category: str
    pattern: Any

    @property
    def is_about_secrets(self) -> bool:
        return bool(_SECRET_WORDS.search(f"{self.category} {self.rule.id} {self.rule.description}"))


Criteria = list[CompiledRule]


class CriteriaSource:
    """The criteria of one project, compiled again when their file changes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._reading: FileReading | None = None
        self._compiled: tuple[bytes, Criteria] | None = None

    def current(self) -> Criteria:
        self._reading = reading = self._read()
        if reading is None:
            content, name = Path(__file__).with_name("criteria.json").read_bytes(), _PACKAGED
        else:
            content, name = content_of(reading, CRITERIA_FILE), CRITERIA_FILE
        if self._compiled is None or self._compiled[0] != content:
            self._compiled = (content, compile_criteria(content, name))
        return self._compiled[1]

    def _read(self) -> FileReading | None:
        path = self._root / CRITERIA_FILE
        if not json_folder.is_inside(path.parent.resolve(), self._root):
            raise _bad_file(CRITERIA_FILE, "its folder is a link that leads outside the project")
        return json_folder.read_when_written(path, self._root, self._reading, json_folder.WriterPatience())


def compile_criteria(content: bytes, name: str) -> Criteria:
    file = _decode(content, CriteriaFile, name)
    deadline = time.monotonic() + _LONGEST_REVIEW_S
    rules: Criteria = []
    for category in file.categories:
        for rule in category.rules:
            if time.monotonic() > deadline:
                raise _bad_file(name, f"its rules take over {_LONGEST_REVIEW_S:g} s to compile")
            rules.append(CompiledRule(rule, category.id, _pattern(rule, name)))
    return rules


def _pattern(rule: Rule, name: str) -> Any:
    about = f"rule {printable(rule.id)}"
    if (rule.pattern is None) == (rule.must_contain is None):
        raise _bad_file(name, f"{about}: needs either pattern or mustContain")
    if rule.pattern is None:
        return None
    import re2  # noqa: PLC0415 - a compiled extension that only a review needs

    options = re2.Options()
    options.log_errors, options.max_mem, options.never_capture = False, _REGEX_MEMORY, rule.min_entropy is None
    try:
        pattern = re2.compile(rule.pattern, options)
    except (re2.error, ValueError, UnicodeError) as error:
        said = error.args[0] if error.args else error
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise _bad_file(name, f"{about}: RE2 refuses its pattern: {printable(reason)}") from error
    if pattern.groups > _MOST_GROUPS:
        raise _bad_file(name, f"{about}: more than {_MOST_GROUPS} groups; write (?:…) for those that need no capture")
    return pattern


def review(prompt: str, criteria: Criteria) -> tuple[list[PromptIssue], ReviewSummary]:
    text = prompt.replace("\0", "")
    issues = list(_issues(text, criteria))
    issues.sort(key=lambda issue: SEVERITIES.index(issue.severity))
    counts = Counter(issue.severity for issue in issues)
    return issues, ReviewSummary(counts=dict(counts), highest_severity=issues[0].severity if issues else None)


def _issues(text: str, criteria: Criteria) -> Iterator[PromptIssue]:
    deadline = time.monotonic() + _LONGEST_REVIEW_S
    for rule in criteria:
        if time.monotonic() > deadline:
            raise TimedOut(
                f"The criteria take over {_LONGEST_REVIEW_S:g} s; rule {printable(rule.rule.id)} was not reached",
                remedy=f"Have fewer rules in {CRITERIA_FILE}, or smaller repetition counts in them.",
            )
        if (issue := _issue(text, rule)) is not None:
            yield issue


def _issue(text: str, rule: CompiledRule) -> PromptIssue | None:
    if rule.rule.must_contain is not None:
        if rule.rule.must_contain.lower() in text.lower():
            return None
        match = ""
    else:
        found = next((each for each in rule.pattern.finditer(text) if _is_random_enough(each, rule.rule)), None)
        if found is None:
            return None
        match = _match_excerpt(found.group(), rule)
    return PromptIssue(
        rule_id=rule.rule.id, severity=rule.rule.severity, description=rule.rule.description, match=match,
        category=rule.category, remediation=rule.rule.remediation,
    )  # fmt: skip


def _is_random_enough(found: Any, rule: Rule) -> bool:
    if rule.min_entropy is None:
        return True
    value = found.group(1) if found.re.groups else found.group()
    shares = [count / len(value) for count in Counter(value).values()]
    return bool(value) and -sum(share * math.log2(share) for share in shares) >= rule.min_entropy


def _match_excerpt(match: str, rule: CompiledRule) -> str:
    """The text that matched; of a secret, no more than tells its kind."""
    if rule.is_about_secrets or redact.mask(match) != match or _looks_random(match):
        return f"{match[: min(4, len(match) // 4)]}..."
    return match if len(match) <= _LONGEST_MATCH else f"{match[:_LONGEST_MATCH]}..."


def _looks_random(match: str) -> bool:
    """A key whose shape nobody told us: a long run of digits and letters small and large, or of hexadecimal digits."""
    if _HEXADECIMAL.fullmatch(match):
        return True
    kinds = (str.isdigit, str.islower, str.isupper)
    return bool(_KEY.fullmatch(match)) and all(any(map(kind, match)) for kind in kinds)


class Where(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    requirement: Requirement | None = None
    priority_gt: _Number | None = None
    category: str | None = None
    status: Literal["dead", "moved"] | None = None


class Gate(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: _Id
    type: Literal["count", "anchors"]
    op: Literal[">=", ">", "<=", "<", "==", "!="]
    value: _Number
    severity: Literal["error", "warn"]
    where: Where = Where()
    description: str | None = None


class GatesFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    gates: list[Gate]


_OPERATORS: dict[str, Callable[[int, int], bool]] = {
    ">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


AnchorCounts = Mapping[str, int]
"""How many anchors are dead, and how many moved."""


def evaluate(catalog: Catalog, anchors: Callable[[], AnchorCounts]) -> tuple[list[GateResult], GateSummary] | None:
    """Every gate against the catalogue; None where no gates are configured. Anchors are counted if a gate asks."""
    gates = gates_of(catalog)
    if gates is None:
        return None
    counts = anchors() if any(gate.type == "anchors" for gate in gates) else {}
    results = [_result(gate, catalog, counts) for gate in gates]
    failed = Counter(result.severity for result in results if not result.passed)
    return results, GateSummary(errors=failed["error"], warnings=failed["warn"], total=len(results))


def gates_of(catalog: Catalog) -> list[Gate] | None:
    name = f"{FOLDER}/{GATES_FILE}"
    if catalog.gates is None:
        return None
    file: GatesFile = _decode(content_of(catalog.gates, name), GatesFile, name)
    for gate in file.gates:
        if (reason := _misplaced(gate)) is not None:
            raise _bad_file(name, f"gate {printable(gate.id)}: {reason}")
    return file.gates


def _misplaced(gate: Gate) -> str | None:
    """The condition of a gate that is not one of its type."""
    where = gate.where
    if gate.type == "count":
        return "status is a condition of anchors" if where.status is not None else None
    of_entries = (where.requirement, where.priority_gt, where.category)
    return "anchors have no condition but status" if any(each is not None for each in of_entries) else None


def _result(gate: Gate, catalog: Catalog, anchors: AnchorCounts) -> GateResult:
    if gate.type == "anchors":
        count = sum(anchors.get(each, 0) for each in ("dead", "moved") if gate.where.status in (each, None))
    else:
        count = sum(_matches(entry, gate.where) for entry in catalog.entries.values())
    return GateResult(
        id=gate.id, passed=_OPERATORS[gate.op](count, gate.value), count=count, op=gate.op, value=gate.value,
        severity=gate.severity, description=gate.description,
    )  # fmt: skip


def _matches(entry: CheckedEntry, where: Where) -> bool:
    value = entry.value
    return (
        (where.requirement is None or value.requirement == where.requirement)
        and (where.priority_gt is None or value.priority > where.priority_gt)
        and (where.category is None or where.category.strip().lower() in value.categories)
    )


def content_of(reading: FileReading, name: str) -> bytes:
    if reading.content is None:
        raise _bad_file(name, reading.problem or "cannot be read")
    return reading.content


def _decode(content: bytes, form: Any, name: str) -> Any:
    try:
        return msgspec.json.decode(content, type=form)
    except json_folder.NO_JSON as error:
        raise _bad_file(name, printable(str(error).replace("`", ""))) from None


def _bad_file(name: str, reason: str) -> CairnError:
    remedy = f"Correct {name} and call again."
    return CairnError(f"{name} is not valid: {reason}", remedy=remedy, file=name, reason=reason)
