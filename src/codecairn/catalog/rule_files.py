"""Files of rules that coding agents read, by their names, and where the rules of each hold.

    AGENTS.md, CLAUDE.md, GEMINI.md        everything below the folder that the file lies in
    .claude/CLAUDE.md                      everything below the folder that holds .claude
    .claude/rules/**/*.md                  `paths`, from the root; without it everything
    .cursor/rules/**/*.mdc                 everything with `alwaysApply: true`; else `globs`; else only on request
    .github/copilot-instructions.md        everything
    .github/instructions/**/*.instructions.md   `applyTo`, from the root; without it only on request

A pattern without a slash is about names in any folder in Cursor's rules, and about the root folder in Claude's and
Copilot's, as their documentation says. A rule file inside a package (`packages/api/.cursor/rules/…`) holds for nothing
outside of that package.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from codecairn.catalog.front_matter import FrontMatter, is_true, patterns
from codecairn.types import RuleScope

RuleKind = Literal["agents", "claude", "gemini", "cursor", "copilot"]

EXAMPLES = "AGENTS.md, CLAUDE.md, GEMINI.md, .claude/rules, .cursor/rules, .github/copilot-instructions.md"
_NAMES: dict[str, RuleKind] = {"AGENTS.md": "agents", "CLAUDE.md": "claude", "GEMINI.md": "gemini"}
_PLACES: tuple[tuple[re.Pattern[str], RuleKind], ...] = (
    (re.compile(r"(?:(.*)/)?\.claude/(?:rules/(.+)\.md)"), "claude"),
    (re.compile(r"(?:(.*)/)?\.cursor/rules/(.+)\.mdc"), "cursor"),
    (re.compile(r"(?:(.*)/)?\.github/(copilot-instructions)\.md"), "copilot"),
    (re.compile(r"(?:(.*)/)?\.github/instructions/(.+)\.instructions\.md"), "copilot"),
)


class RuleFile(NamedTuple):
    """A file of rules: its tool, the folder whose files it is about, and its name among the tool's files."""

    path: str
    kind: RuleKind
    folder: str
    name: str
    """Empty for a file that a folder has one of."""

    @property
    def is_plain(self) -> bool:
        """Whether it holds for its folder, whatever its head says."""
        return not self.name or self.name == "copilot-instructions"


def rule_file(path: str) -> RuleFile | None:
    """The rule file at a path of the project; None where it is another file."""
    folder, _, name = path.rpartition("/")
    if name in _NAMES:
        return RuleFile(path, _NAMES[name], _without_dot_claude(folder), "")
    for place, kind in _PLACES:
        if found := place.fullmatch(path):
            return RuleFile(path, kind, found[1] or "", found[2])
    return None


def _without_dot_claude(folder: str) -> str:
    return folder.removesuffix(".claude").rstrip("/") if folder.rpartition("/")[2] == ".claude" else folder


def scope_of(file: RuleFile, head: FrontMatter) -> RuleScope | None:
    """Where the rules of a file hold; None for everywhere."""
    if file.is_plain or (file.kind == "cursor" and is_true(head.get("alwaysApply", []))):
        return _below(file.folder)
    key = {"cursor": "globs", "copilot": "applyTo"}.get(file.kind, "paths")
    globs = patterns(head.get(key, []))
    if globs:
        return RuleScope(globs=[_within(file.folder, each, by_name=file.kind == "cursor") for each in globs])
    return _below(file.folder) if file.kind == "claude" else RuleScope(on_request=True)


def _below(folder: str) -> RuleScope | None:
    return RuleScope(globs=[f"{folder}/**"]) if folder else None


def _within(folder: str, glob: str, *, by_name: bool) -> str:
    bare = glob.removeprefix("./").lstrip("/")
    if "/" not in bare.rstrip("/") and by_name and not glob.startswith("/"):
        return f"{folder}/**/{bare}" if folder else bare
    return f"{folder}/{bare}" if folder else f"/{bare}"
