"""Modules that stand in the file of another and pass on what they import: `mod sync { pub use super::lock::Lock; }`."""

from __future__ import annotations

from codecairn.resolve.questions import Questions
from codecairn.resolve.values import Definition, Value, either


def imported_inside(engine: Questions, definition: Definition, name: str, wants: str) -> Value | None:
    """What a module imports under a name, or with all that another has; either of what several imports name."""
    scope = engine.scope(definition.file)
    if scope.rules.imports != "crate":
        return None
    span = scope.span(engine.symbol(definition))
    here = {each: at for each in scope.all_imports if span.holds(at := scope.source.position(each.line, 0))}
    named = [each for each in scope.imports.get(name, ()) if each in here]
    if named:
        return either(engine.members.import_value(scope, each, wants) for each in named)
    others = [each for each in scope.wildcards if each in here]
    modules = (engine.modules.find(scope.row, scope.path_from(here[each], each.module.split("::"))) for each in others)
    return either(engine.members.export(each, name, wants) for each in modules if each is not None)
