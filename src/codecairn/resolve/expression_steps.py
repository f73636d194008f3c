"""What the steps of an expression tell by themselves: which is called, wraps another, or leads through a library."""

from __future__ import annotations

from codecairn.resolve.scope import FileScope
from codecairn.resolve.source import ExpressionStep
from codecairn.resolve.values import UNTOLD, Outside


def made_wrapper(scope: FileScope, steps: list[ExpressionStep]) -> int:
    """Which step holds what is put into a wrapper where one is made or copied, as in `Arc::new(…)`; 0 where none is.
    The word `new` is no step."""
    if not steps or steps[0].text not in scope.rules.wrappers:
        return 0
    kinds = [each.kind for each in steps[:3]]
    return 1 if kinds[:2] == ["name", "call"] else 2 if kinds == ["name", "name", "call"] else 0


def given_outside(value: Outside, steps: list[ExpressionStep], names_types: bool) -> Outside:
    """What steps from something of a library lead to: the parts of its modules and types and the values of its types
    are its own, too; of what its functions give and its values hold, nothing is told."""
    for at, step in enumerate(steps):
        is_type = step.text[:1].isupper()
        if step.kind == "index" or not value.is_told:
            return UNTOLD
        if step.kind == "name" and is_call(steps, at):
            if not (is_type and names_types):
                return UNTOLD
            value = Outside(name=step.text)
        elif step.kind == "name" and at and not (value.is_path or is_type):
            return UNTOLD
    return value


def is_call(steps: list[ExpressionStep], number: int) -> bool:
    return number + 1 < len(steps) and steps[number + 1].kind == "call"
