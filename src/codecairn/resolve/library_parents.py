"""Types that extend a library's, so that what `super` has and no type of the project does is the library's; and types
of a library that extend one of the project, as those of a library for its tests do."""

from __future__ import annotations

from codecairn.names.qualified import last_part
from codecairn.resolve.questions import Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition, Outside, Value

_BARE = frozenset({"ABC", "Any", "Generic", "Protocol", "object", "Object"})
"""Types of libraries that have no members to speak of: what extends one of them may be mixed into anything."""


def extends_library(engine: Questions, definition: Definition) -> bool:
    """Whether a library has all that is above a type and not in the project, and there is such."""
    above = [definition, *engine.members.lineage(definition).above]
    sites = [(engine.scope(each.file), site) for each in above
             for site in engine.scope(each.file).supertypes.get(each.number, ())]  # fmt: skip
    others = [bound for scope, site in sites if (bound := engine.meaning(scope, site)).definition is None
              and site.name not in _BARE]  # fmt: skip
    return bool(others) and all(bound.is_known for bound in others)


def may_extend_own(engine: Questions, scope: FileScope, value: Value, name: str) -> bool:
    """Whether a library's type is called as one of the project's with such a member, and more: `UserFactory` beside a
    `Factory`. Thirty-three calls of `UserFactory::new()` in Laravel's tests were taken for the library's own."""
    if not isinstance(value, Outside) or not value.is_path:
        return False
    owners = (last_part(engine.scope(row.id).owner_path(symbol)) for row, symbol in engine.definitions_named(name)
              if row.language == scope.row.language)  # fmt: skip
    return any(
        owner[:1].isupper() and value.name.endswith(owner) and value.name[: -len(owner)][-1:].islower()
        for owner in owners
    )
