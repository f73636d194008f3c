"""The rules of the catalogue that hold for the files of an answer: named each time, told once a connection.

A rule binds a file where it is mandatory or critical and holds there, or where it is recommended and its scope is
about that file. Ids and titles come with every answer; a body is told where there is room for it, and not again on the
same connection unless it has changed. A project without a catalogue pays for one look at a folder that is not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET, Struct, UnsetType

from codecairn.catalog.entries import Catalog, CheckedEntry
from codecairn.catalog.scope import Holding, Subject, nearest_of
from codecairn.catalog.usage import note_shown
from codecairn.clock import timestamp
from codecairn.names.lookup import Located, find_exact
from codecairn.parse.language import language_of
from codecairn.paths import module_name
from codecairn.project import Project
from codecairn.store.view import View
from codecairn.text import one_line
from codecairn.tools import Call
from codecairn.tools.inquiry import look
from codecairn.types import Requirement

MOST_NAMED = 10
_LONGEST_TITLE = 160
_ROOM = 1_200
"""Characters of the bodies of rules beside the rows of an answer."""
_MOST_FILES = 100
"""Files of one answer that rules are looked for."""


class BindingRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    id: str
    title: str
    requirement: Requirement
    body: str | None = None
    """Told once a connection, where there is room."""


class RuleList(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rules that bind the files of an answer, the nearest first."""

    items: list[BindingRule]
    more: int = 0
    """Others that bind and are not named here."""


Rules = RuleList | UnsetType


def rules_for(call: Call, project: Project, paths: Iterable[str], room: int = _ROOM) -> Rules:
    """The rules that bind some files, with bodies in so many characters; unset where there are none."""
    catalog = project.catalog.current_or_empty()
    if not catalog.entries:
        return UNSET
    binding = binding_entries(call, project, catalog, paths)
    if not binding:
        return UNSET
    told = _Telling(call, project, room)
    items = [told.rule(each) for each in binding[:MOST_NAMED]]
    told.note()
    return RuleList(items=items, more=len(binding) - len(items))


def binding_entries(call: Call, project: Project, catalog: Catalog, paths: Iterable[str]) -> list[CheckedEntry]:
    """The entries that bind some files, the nearest first."""
    return [each.entry for each in holding(call, project, catalog, paths) if _binds(each)]


def holding(call: Call, project: Project, catalog: Catalog, paths: Iterable[str]) -> list[Holding]:
    """The entries that hold for some files, the nearest first."""
    wanted = list(dict.fromkeys(paths))[:_MOST_FILES]
    defined = _defined(call, project, catalog, wanted)
    return nearest_of(catalog.scopes.holding(_subject(project, path, defined.get(path, ()))) for path in wanted)


def scoped_entries(view: View, project: Project, catalog: Catalog, paths: Iterable[str]) -> dict[str, str]:
    """The entries whose scope is about some files, each with the nearest of them."""
    found: dict[str, str] = {}
    wanted = sorted(paths)[:_MOST_FILES]
    defined = dict(_definitions(view, catalog, wanted)) if catalog.scopes.symbols else {}
    for path in wanted:
        for each in catalog.scopes.holding(_subject(project, path, defined.get(path, ()))):
            if not each.is_everywhere:
                found.setdefault(each.entry.value.id, path)
    return found


def _subject(project: Project, path: str, symbols: Sequence[str]) -> Subject:
    language = language_of(path)
    return Subject(path, language.data.name if language else "", module_name(path, project.name), symbols)


def _defined(call: Call, project: Project, catalog: Catalog, paths: list[str]) -> dict[str, list[str]]:
    """Of the symbols that scopes name, those each file defines; none where nothing is indexed."""
    if not catalog.scopes.symbols:
        return {}
    return look(call, project).answer(lambda view: dict(_definitions(view, catalog, paths))) or {}


def _definitions(view: View, catalog: Catalog, paths: list[str]) -> Iterator[tuple[str, list[str]]]:
    for path in paths:
        file = view.file_at(path)
        if file is not None:
            by_name = defaultdict[str, list[Located]](list)
            for each in view.symbols(file.id):
                by_name[each.name].append((file, each))
            yield path, [name for name in catalog.scopes.symbols if find_exact(by_name.__getitem__, name)]


def _binds(holding: Holding) -> bool:
    requirement = holding.entry.value.requirement
    return requirement in ("mandatory", "critical") or (requirement == "recommended" and not holding.is_everywhere)


class _Telling:
    """Bodies within one answer: those this connection has not been told, while there is room."""

    def __init__(self, call: Call, project: Project, room: int) -> None:
        self._call = call
        self._project = project
        self._room = room
        self._named: list[str] = []

    def rule(self, entry: CheckedEntry) -> BindingRule:
        value, told = entry.value, self._call.connection.rules
        key = (str(self._project.root), value.id, value.source_hash)
        self._named.append(value.id)
        is_due = key not in told and len(value.body) <= self._room
        if is_due:
            self._room -= len(value.body)
            if self._call.connection.lasts:
                told.add(key)
        title = one_line(value.title, _LONGEST_TITLE)
        return BindingRule(id=value.id, title=title, requirement=value.requirement, body=value.body if is_due else None)

    def note(self) -> None:
        """Count each rule as shown once a connection; a command is none."""
        root, seen = str(self._project.root), self._call.connection.rules_seen
        fresh = [each for each in self._named if (root, each) not in seen]
        if fresh and self._call.door != "cli":
            seen.update((root, each) for each in fresh)
            note_shown(lambda: self._project.memory, fresh, timestamp())
