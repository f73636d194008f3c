"""A call of a tool, as a node answers it: the question, who asks, and how the answer is to look."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from codecairn.cancel import Cancel
from codecairn.team.tokens import Caller
from codecairn.tools import Answers, Tool

Report = Callable[[float, float | None, str | None], None]


@dataclass(frozen=True)
class TeamCall:
    """One question of one caller."""

    tool: Tool
    arguments: Any
    caller: Caller
    answers: Answers
    request: str
    door: str = "http"
    report: Report | None = None
    cancel: Cancel = field(default_factory=Cancel)

    @property
    def given(self) -> dict[str, Any]:
        return self.arguments if isinstance(self.arguments, dict) else {}
