"""Types that pass on the members of another: `impl Deref for Guard { type Target = Book; }`."""

from __future__ import annotations

from codecairn.resolve.questions import Questions
from codecairn.resolve.values import Definition, Instance, Outside

_TARGET = "Target"


def passed_member(engine: Questions, definition: Definition, name: str) -> Definition | Outside | None:
    """A member of what a type stands for; None where it stands for none that is known."""
    if name == _TARGET or engine.scope(definition.file).rules.imports != "crate":
        return None
    target = engine.members.own_member(definition, _TARGET)
    value = engine.types.alias_target(target) if target is not None else None
    if not isinstance(value, Instance) or value.of == definition:
        return None
    return engine.members.of_type(value.of, name)
