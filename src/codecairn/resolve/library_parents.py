"""Types that extend a library's, so that what `super` has and no type of the project does is the library's."""

from __future__ import annotations

from codecairn.resolve.questions import Questions
from codecairn.resolve.values import Definition

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
