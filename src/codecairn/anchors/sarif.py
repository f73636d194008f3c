"""Findings as SARIF 2.1.0, the form in which code hosts show them beside the lines they are about."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import quote

from msgspec import Struct

from codecairn import __version__

Level = Literal["error", "note"]
_RULES = {
    "catalogue": "An entry of the instruction catalogue is faulty",
    "anchor-dead": "A rule names something that is not there any more",
    "anchor-moved": "A rule names something that stands elsewhere now",
    "binding": "The code that a rule is about has changed since the rule was written",
    "doubt": "A rule that a person should look at",
}


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One finding of a check; only errors fail it."""

    rule: Literal["catalogue", "anchor-dead", "anchor-moved", "binding", "doubt"]
    level: Level
    file: str
    message: str
    line: int = 0
    """From 1; 0 where it is about the whole file."""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{'note: ' if self.level == 'note' else ''}{place}: {self.message}"


def sarif(findings: list[Finding]) -> dict[str, Any]:
    rules = [{"id": name, "shortDescription": {"text": said}} for name, said in _RULES.items()]
    driver = {"name": "cairn", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_result(each) for each in findings]}],
    }


def _result(finding: Finding) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.file)}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": finding.rule,
        "level": finding.level,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
    }
