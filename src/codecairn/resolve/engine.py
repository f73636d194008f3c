"""Binding a name to its definition.

A name without a receiver is looked up in the scopes around it, innermost first: variables and parameters, definitions,
imports, then what the language shows without an import (names.py). A name after a dot is a member of what stands
before the dot, whose type is found by reading that expression step by step (expressions.py): variables by their
annotation or by what they are given, calls by what the function returns, members by their declared type (types.py),
inherited ones through what a type extends (members.py). What cannot be told is left unbound.
"""

from __future__ import annotations

import re

import msgspec

from codecairn.cancel import Cancel
from codecairn.names.qualified import file_stem, last_part
from codecairn.parse.facts import Site
from codecairn.parse.kinds import CALLABLE, TYPES
from codecairn.resolve.expressions import Expressions
from codecairn.resolve.extension_methods import ExtensionMethods
from codecairn.resolve.fixtures import Fixtures
from codecairn.resolve.library_parents import extends_library, may_extend_own
from codecairn.resolve.made_values import of_destructor
from codecairn.resolve.members import Members
from codecairn.resolve.names import Names
from codecairn.resolve.namespaces import Namespaces
from codecairn.resolve.own_functions import are_methods, function_beside, is_implied, is_member_of_none, is_read
from codecairn.resolve.package_paths import PackagePaths
from codecairn.resolve.questions import BoundSite, Questions
from codecairn.resolve.scope import FileScope
from codecairn.resolve.sealed_values import SealedValues
from codecairn.resolve.source import ExpressionStep
from codecairn.resolve.step_budget import MOST_STEPS
from codecairn.resolve.type_positions import is_type_position
from codecairn.resolve.types import Types
from codecairn.resolve.values import (
    UNTOLD,
    VARIABLES,
    Definition,
    Either,
    Elements,
    Instance,
    Local,
    ModuleFiles,
    Namespace,
    Outside,
    Parent,
    Value,
)
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow, View

FOREIGN = BoundSite(None, is_known=True)
UNREACHED = BoundSite(None, is_reached=False, reason="budget")
_NO_DEFINITION = BoundSite(None, reason="no definition in scope")
_RECEIVER = BoundSite(None, reason="unknown receiver")
_PARTLY = BoundSite(None, reason="partly known type")
_SEVERAL = BoundSite(None, reason="several targets")


class Engine(Questions):
    names: Names
    namespaces: Namespaces
    package_paths: PackagePaths
    fixtures: Fixtures
    extension_methods: ExtensionMethods
    types: Types
    members: Members
    expressions: Expressions

    def __init__(self, view: View, cancel: Cancel, steps: int = MOST_STEPS) -> None:
        super().__init__(view, cancel, steps)
        self._members: dict[tuple[str, str, str], list[tuple[FileRow, SymbolRow]]] = {}
        self.names = Names(self)
        self.namespaces = Namespaces(self)
        self.package_paths = PackagePaths(self)
        self.fixtures = Fixtures(self)
        self.extension_methods = ExtensionMethods(self)
        self.types = Types(self)
        self.members = Members(self)
        self.expressions = Expressions(self)
        self._sealed = SealedValues(self)

    def bind(self, scope: FileScope, site: Site) -> BoundSite:
        """What a site means, as far as the budget reaches."""
        return self.budget.within(lambda: self.meaning(scope, site), UNREACHED)

    def meaning(self, scope: FileScope, site: Site) -> BoundSite:
        """What a site means, where that is asked on the way to another answer."""
        bound = of_destructor(self, scope, site, self._bind_site(scope, site))
        if bound.definition is None or not scope.rules.fields_apart or site.kind not in ("calls", "references"):
            return bound
        is_called = site.kind == "calls" or scope.source.code.endswith(
            "::", 0, scope.source.position(site.line, site.column)
        )
        meant = function_beside(self, bound.definition) if site.kind == "calls" else bound.definition
        return bound._replace(definition=self.members.namesake(meant, is_called=is_called))

    def _bind_site(self, scope: FileScope, site: Site) -> BoundSite:
        if site.kind == "imports":
            return self._bind_import(scope, site)
        if scope.rules.attribute and self._is_attribute(scope, site):
            site = msgspec.structs.replace(site, name=site.name + scope.rules.attribute)
        position = scope.source.position(site.line, site.column)
        if (bound := self._bind_marked(scope, site, position)) is not None:
            return bound
        if not site.qualifier and not scope.may_see(site.name) and not self.fixtures.named(scope, site.name):
            return self._unbound(scope, site, _NO_DEFINITION)
        if scope.rules.marks and scope.source.code.endswith(scope.rules.marks, 0, position):
            return FOREIGN
        steps = scope.source.receiver(position) if site.qualifier else []
        if steps:
            return self._bind_member(scope, site, position, steps)
        if site.qualifier and scope.source.has_separator_before(position):
            return self._by_unique_name(scope, site, steps, is_distinct=not is_implied(self, scope, site))
        if site.kind not in ("extends", "implements") and scope.is_key(site.name, position):
            return FOREIGN
        wants = "function" if self._is_function(scope, site, position) else self._wants(scope, site, position)
        value, resolver = self.names.lookup(scope, site.name, position, wants, reads=False)
        if value is None and scope.rules.splits_types and site.name not in scope.rules.primitives:
            value, resolver = self.names.lookup(scope, site.name, position, reads=False)
        value = self._opened(value)
        if scope.rules.aliases and (meant := self._alias(scope, site, position, value)) is not None:
            return BoundSite(meant, "qualified")
        if isinstance(value, Definition):
            return BoundSite(value, resolver)
        if value is None or value == UNTOLD:
            return self._unbound(scope, site, _NO_DEFINITION)
        return _SEVERAL if isinstance(value, Either) else FOREIGN

    def _alias(self, scope: FileScope, site: Site, position: int, value: Value | None) -> Definition | None:
        """The function that a variable of its own name is given: `local join = path.join`."""
        is_variable = isinstance(value, Definition) and self.symbol(value).kind in ("var", "const")
        if not self.definitions_named(site.name) or not (is_variable or isinstance(value, Local)):
            return None
        held = self.names.lookup(scope, site.name, position)[0] if isinstance(value, Local) else value
        held = self.types.type_of(held) if is_variable and isinstance(held, Definition) else held
        is_function = isinstance(held, Definition) and self.symbol(held).kind in CALLABLE
        return held if is_function and isinstance(held, Definition) and self.symbol(held).name == site.name else None

    def _bind_marked(self, scope: FileScope, site: Site, position: int) -> BoundSite | None:
        """What a name means by the text right before it, where that alone tells what kind of name it is."""
        source, rules = scope.source, scope.rules
        if rules.variable_mark and source.code.endswith(rules.variable_mark, 0, position):
            return self._bind_variable(scope, site, position - len(rules.variable_mark))
        if rules.path_mark and source.code.endswith(rules.path_mark, 0, position):
            return self._bind_path(scope, site, position)
        if rules.imports == "dotted" and self._is_in_module_path(scope, position):
            return FOREIGN
        return FOREIGN if scope.declares(position) else None

    def _is_in_module_path(self, scope: FileScope, position: int) -> bool:
        """Whether a name is part of the path of a module that is imported from; first in the text as it is written,
        since blanking the strings of a file takes longer than binding a name in it."""
        start, source = max(0, position - _PATH_WITHIN), scope.source
        if _IMPORTED_PATH.search(source.text, start, position) is None:
            return False
        return _IMPORTED_PATH.search(source.code, start, position) is not None

    def _bind_variable(self, scope: FileScope, site: Site, position: int) -> BoundSite:
        """A variable by its mark: one of the file, a static one of a type, or a local one, which no definition is."""
        if steps := scope.source.receiver(position):
            return self._bind_member(scope, site, position, steps)
        if scope.symbol_at(position) is None:
            for symbol in scope.symbols_by_name.get(site.name, ()):
                if symbol.parent < 0 and symbol.signature.startswith(scope.rules.variable_mark):
                    return BoundSite(Definition(scope.row.id, symbol.number))
        return FOREIGN

    def _bind_path(self, scope: FileScope, site: Site, position: int) -> BoundSite:
        """A name with its package before it, however much of that is written."""
        start = scope.source.word_start(position)
        value = self.package_paths.value(scope, scope.source.code[start : position + len(site.name)])
        if isinstance(value, Definition):
            return BoundSite(value, "qualified")
        return self._unbound(scope, site, _NO_DEFINITION) if value is None else FOREIGN

    def _is_function(self, scope: FileScope, site: Site, position: int) -> bool:
        """Whether no variable can be meant, in the languages where what is called is none."""
        called = scope.compiled.called
        if called is None:
            return False
        return site.kind == "calls" or called.match(scope.source.code, position + len(site.name)) is not None

    def _opened(self, value: Value | None) -> Value | None:
        """What opens a namespace, where one definition does."""
        return (self.namespaces.opening(value) or value) if isinstance(value, Namespace) else value

    def _unbound(self, scope: FileScope, site: Site, reason: BoundSite) -> BoundSite:
        """Not bound, for a reason; known to be something else where nothing in the project has the name, or it is a
        word of the language. Of a receiver of which nothing is known that is not said."""
        if site.qualifier and is_member_of_none(self, scope, site):
            return FOREIGN
        if reason is _RECEIVER:
            return reason
        if scope.rules.globals and not site.qualifier and (meant := self._global(scope, site.name)) is not None:
            return BoundSite(meant, "unique_name")
        is_other = not site.qualifier and (
            site.name in scope.rules.primitives or self._is_variable(scope, site) or are_methods(self, scope, site.name)
        )
        return FOREIGN if is_other or not self.definitions_named(site.name) else reason

    def _is_variable(self, scope: FileScope, site: Site) -> bool:
        """Whether a bare name is one of a variable around it."""
        at = scope.source.position(site.line, site.column)
        return any(each.span.holds(at) and each.kind != "generic" for each in scope.variables(site.name))

    def _global(self, scope: FileScope, name: str) -> Definition | None:
        """The only function of a name that a file makes a name of every file, as a script does that exports nothing."""
        found = self.definitions_named(name)
        if len(found) != 1 or found[0][0].language != scope.row.language or found[0][1].kind not in CALLABLE:
            return None
        # The whole file is searched for it: 1.7 s for one question of axios when each use of a name did so anew.
        return self.once_a_generation(("global", name), lambda: self._put_on_all(scope, *found[0]))

    def _put_on_all(self, scope: FileScope, row: FileRow, symbol: SymbolRow) -> Definition | None:
        name = symbol.name
        code = self.scope(row.id).source.code
        is_script = symbol.parent < 0 and symbol.path == name and _OF_A_MODULE.search(code) is None
        is_put = re.search(scope.rules.globals.replace("NAME", re.escape(name)), code) is not None
        return Definition(row.id, symbol.number) if is_script or is_put else None

    def _is_attribute(self, scope: FileScope, site: Site) -> bool:
        """Whether a name is written without the ending that its type has."""
        at = scope.source.position(site.line, site.column)
        before = scope.source.code[max(0, at - _ATTRIBUTE_WITHIN) : at]
        return _ATTRIBUTE.search(before) is not None and bool(self.definitions_named(site.name + scope.rules.attribute))

    def _bind_import(self, scope: FileScope, site: Site) -> BoundSite:
        near = [each for each in scope.imports_of(site.name) if each.line <= site.line]
        for each in sorted(near, key=lambda each: (-each.line, site.name not in (each.name, each.alias))):
            value = self._opened(self.members.import_value(scope, each))
            if isinstance(value, Definition):
                return BoundSite(value, "import")
            if value is not None and value != UNTOLD:
                return FOREIGN
        return self._unbound(scope, site, _NO_DEFINITION)

    def _bind_member(self, scope: FileScope, site: Site, position: int, steps: list[ExpressionStep]) -> BoundSite:
        if (sealed := self._sealed.of(scope, steps, position)) is not None:
            return self._bind_library_member(scope, site, steps, sealed)
        value = self.expressions.pointed(scope, self.expressions.evaluate(scope, steps, position), position)
        narrowed = self.expressions.narrow(scope, steps, position)
        if narrowed is not None and isinstance(found := self.members.of(narrowed, site.name), Definition):
            return BoundSite(found, "receiver_type")
        if value is None or isinstance(value, Local):
            return self._by_extension(scope, site, value) or self._by_unique_name(scope, site, steps)
        found = self._opened(self.members.of(value, site.name, self._wants(scope, site, position, steps[0].start)))
        if isinstance(found, Definition):
            is_module = isinstance(value, ModuleFiles | Namespace) or (
                isinstance(value, Definition) and self.symbol(value).kind in TYPES | {"module"}
            )
            return BoundSite(found, "qualified" if is_module else "receiver_type")
        if isinstance(found, Either):
            return _SEVERAL
        if isinstance(value, Namespace | ModuleFiles) and isinstance(found, Outside) and found.is_told:
            return FOREIGN
        if (extension := self._by_extension(scope, site, value)) is not None:
            return extension
        if isinstance(value, Parent) and extends_library(self, value.of):
            return FOREIGN
        if isinstance(value, Outside) or (isinstance(value, Elements) and not self._passes_on(scope, value, site.name)):
            return self._bind_library_member(scope, site, steps, value)
        if self._may_have_more(scope, value, site.name):
            return self._by_unique_name(scope, site, steps)
        return self._unbound(scope, site, _PARTLY)

    def _bind_library_member(
        self, scope: FileScope, site: Site, steps: list[ExpressionStep], value: Outside | Elements
    ) -> BoundSite:
        """A member of something of a library, which is the library's unless the project may have added it."""
        if self.extension_methods.is_of_library(scope, site.name, value):
            return FOREIGN
        is_path = isinstance(value, Outside) and value.is_path
        if not value.is_told or ("*" in scope.rules.dynamic and not is_path):
            return self._by_unique_name(scope, site, steps, is_distinct=True)
        added = [each for each in self.definitions_named(site.name) if self._is_added(scope, *each)]
        if not added:
            may_be_own = may_extend_own(self, scope, value, site.name)
            return self._by_unique_name(scope, site, steps) if may_be_own else FOREIGN
        named = value.name if isinstance(value, Outside) else ""
        own = [
            Definition(row.id, symbol.number) for row, symbol in added
            if last_part(self.scope(row.id).owner_path(symbol)) == named
        ]  # fmt: skip
        return BoundSite(own[0], "receiver_type") if len(own) == 1 else self._by_unique_name(scope, site, steps)

    def _is_added(self, scope: FileScope, row: FileRow, symbol: SymbolRow) -> bool:
        """Whether a member is one that may be added to types of a library: of a trait, of a type that the project lacks
        (`extension String`), or with its receiver as an argument (`this string text`)."""
        if row.language != scope.row.language or not (scope.rules.extensions or scope.rules.imports == "crate"):
            return False
        if re.search(r"\(\s*this\s", symbol.signature) is not None:
            return True
        owner = self.scope(row.id).owner_path(symbol)
        types = [each for _, each in self.definitions_named(last_part(owner)) if each.kind in TYPES] if owner else []
        return bool(owner) and all(each.kind == "trait" for each in types)

    def _by_extension(self, scope: FileScope, site: Site, value: Value | None) -> BoundSite | None:
        found = self.extension_methods.meant(scope, site.name, value)
        return BoundSite(*found) if found is not None else None

    def _may_have_more(self, scope: FileScope, value: Value, name: str) -> bool:
        """Whether a value may have members that its type does not show: of the types that use a trait, of a type below
        its own, or such as are made while the program runs."""
        held = value.of if isinstance(value, Instance | Parent) else value
        if not scope.rules.guesses or not isinstance(held, Definition):
            return False
        if self.symbol(held).kind in VARIABLES | {"trait", "module"}:
            return True
        if "*" in scope.rules.dynamic:
            return True
        if self.once_a_generation(("dynamic", held), lambda: self._makes_members(scope, held)):
            return True
        owners = [Definition(row.id, each.parent) for row, each in self.definitions_named(name) if each.parent >= 0]
        return len(owners) == 1 and held in self.members.lineage(owners[0]).above

    def _makes_members(self, scope: FileScope, type_: Definition) -> bool:
        """Whether a type, or one above it, makes members while the program runs."""
        types = [type_, *self.members.lineage(type_).above]
        return any(self.members.own_member(each, maker) for each in types for maker in scope.rules.dynamic)

    def _passes_on(self, scope: FileScope, value: Elements, name: str) -> bool:
        """Whether what a generic of another project holds has such a member, which it may pass on as its own."""
        held = self.expressions.element(value) if not scope.rules.points else None
        return held is not None and isinstance(self.members.of(held, name), Definition)

    def _by_unique_name(
        self, scope: FileScope, site: Site, steps: list[ExpressionStep], *, is_distinct: bool = False
    ) -> BoundSite:
        """The only member of a name, where nothing is known of what stands before the dot; with `is_distinct` only a
        name of several words, which a library will hardly have as well."""
        if not scope.rules.guesses:
            return self._unbound(scope, site, _RECEIVER)
        members = self._only_members(scope.row.language, site.name, steps[-1].text if steps else "")
        if not members or (members[0][1].kind == "method" and is_read(scope, site)):
            return self._unbound(scope, site, _RECEIVER)
        is_common = site.name in scope.compiled.library_members
        if is_common or (is_distinct and _SEVERAL_WORDS.search(site.name) is None):
            owner = last_part(self.scope(members[0][0].id).owner_path(members[0][1]))
            if not _are_alike(next((step.text for step in reversed(steps) if step.kind == "name"), ""), owner):
                return self._unbound(scope, site, _RECEIVER)
        return BoundSite(Definition(members[0][0].id, members[0][1].number), "unique_name")

    def _only_members(self, language: str, name: str, named: str) -> list[tuple[FileRow, SymbolRow]]:
        """The definitions of a name in a language where all are one member, of a type or of a file that is named."""
        if (language, name, named) not in self._members:
            found = [each for each in self.definitions_named(name) if each[0].language == language]
            paths = {(row.id, symbol.path) for row, symbol in found}
            is_one = len(paths) == 1 and all(
                symbol.kind in ("method", "field") or _is_put(symbol) or file_stem(row.path) == named
                for row, symbol in found
            )
            self._members[language, name, named] = found if is_one else []
        return self._members[language, name, named]

    def _wants(self, scope: FileScope, site: Site, position: int, start: int | None = None) -> str:
        """Whether a type or a value is meant, where they may share a name; `start` is where the whole path begins."""
        if not scope.rules.splits_types:
            return "any"
        if site.kind == "calls":
            return "value"
        if site.kind == "implements":
            return "type"
        if scope.source.code.startswith(".", position + len(site.name)):
            return "value"
        around = scope.symbols[site.symbol].kind if site.symbol >= 0 else ""
        if around in ("interface", "type") and not scope.source.code.endswith("typeof ", 0, position):
            return "type"
        return (
            "type"
            if is_type_position(scope, position if start is None else start, position + len(site.name))
            else "value"
        )


def _is_put(symbol: SymbolRow) -> bool:
    """Whether a function is made as a member of something: `function state.get()`, `res.get = function ()`, `get =
    function ()` inside a table."""
    head = symbol.signature.partition("(")[0]
    is_inside = symbol.path != symbol.name and re.match(rf"{re.escape(symbol.name)}\s*[=:]\s*function\b", head)
    return bool(is_inside) or re.search(rf"[.:]{re.escape(symbol.name)}\b", head) is not None


def _are_alike(receiver: str, owner: str) -> bool:
    """Whether a value is called as a type is: `res` of `res`, `client` of `TestClient`."""
    one, other = (name.strip("_$@").replace("_", "").lower() for name in (receiver, owner))
    return len(one) >= _SHORTEST_ALIKE and len(other) >= _SHORTEST_ALIKE and (one in other or other in one)


_IMPORTED_PATH = re.compile(r"^[ \t]*from[ \t]+[\w.]*$", re.MULTILINE)
"""Before a part of the path of a module, which is no name of the file."""
_PATH_WITHIN = 80
_OF_A_MODULE = re.compile(r"^\s*(?:import|export)\b|\bexports\b|\brequire\(", re.MULTILINE)
_SHORTEST_ALIKE = 3
_SEVERAL_WORDS = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z]")
_ATTRIBUTE_WITHIN = 40
_ATTRIBUTE = re.compile(r"(?:^|\n|[^\w)\]\s])\s*\[\s*(?:\w+:\s*)?\Z")
