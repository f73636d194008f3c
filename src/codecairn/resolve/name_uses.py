"""Every use of a name in a view, bound: found once a generation, whichever definition of the name is asked about.

A name may stand in more places than one question has steps for. Those that were not reached are left for the next
question about the name, which goes on from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from codecairn.cache import Cache
from codecairn.parse.facts import Import, Site
from codecairn.parse.language import family
from codecairn.resolve.engine import FOREIGN, UNREACHED, Engine
from codecairn.resolve.generation import about_generations
from codecairn.resolve.questions import BoundSite
from codecairn.store.file_version import link_table, names_in

_SITE_BYTES = 320


PlacedUse = tuple[int, Site, BoundSite]


@dataclass(frozen=True)
class NameUses:
    sites: list[PlacedUse] = field(default_factory=list)
    """By file: each site of the name and what it means."""
    renamed: list[tuple[int, Import]] = field(default_factory=list)
    """Imports that give what has the name another one."""
    importing: list[int] = field(default_factory=list)
    """Files in which an import may bring the name in."""


_uses: Cache[tuple[object, str, str], NameUses] = Cache(
    "resolve.uses", 7_000_000,
    lambda uses: _SITE_BYTES * (1 + len(uses.sites) + len(uses.renamed)) + 8 * len(uses.importing),
)  # fmt: skip
about_generations.append(lambda gone: _uses.forget(lambda key: key[0] is gone))


def uses_of(engine: Engine, name: str, language: str) -> NameUses:
    """The uses of a name in files of a language and those that share its names."""
    key = (engine.known.own, name, language)
    found = _uses.get(key)
    if found is None:
        return _uses.put(key, _find_uses(engine, name, language))
    if any(not bound.is_reached for _, _, bound in found.sites):
        _go_on(engine, found)
    return found


def _go_on(engine: Engine, uses: NameUses) -> None:
    for number, (file, site, bound) in enumerate(uses.sites):
        if not bound.is_reached:
            uses.sites[number] = (file, site, _bind(engine, file, site))


def _bind(engine: Engine, file: int, site: Site) -> BoundSite:
    def bound() -> BoundSite:
        return engine.meaning(engine.scope(file), site)

    return engine.budget.within(bound, UNREACHED)


def _find_uses(engine: Engine, name: str, language: str) -> NameUses:
    uses = NameUses()
    for file in engine.using(name):
        engine.budget.step()
        if family(file.language) != family(language):
            continue
        links = engine.known.links(engine.view, file.id)
        is_named = names_in(links, name)
        if is_named or names_in(links, "*"):
            imports = link_table(links).imports
            uses.renamed.extend((file.id, each) for each in imports if each.name == name and each.alias)
            if any(name in (each.name, each.alias) or each.name == "*" for each in imports):
                uses.importing.append(file.id)
        sites = [site for site in link_table(links).sites() if site.name == name] if is_named else []
        uses.sites.extend((file.id, site, _bind(engine, file.id, site)) for site in sites)
        if not engine.budget.is_spent:
            uses.sites.extend(_beyond_the_sites(engine, file.id, name, sites))
    return uses


def _beyond_the_sites(engine: Engine, file: int, name: str, sites: list[Site]) -> Iterator[PlacedUse]:
    """Where the name stands in code and no query of the language sees a use: inside a macro, say."""
    scope = engine.scope(file)
    source, sigils = scope.source, tuple(scope.rules.sigils)
    known = {source.position(site.line, site.column) for site in sites}
    further = [at for at in source.mentions(name) if at not in known]
    if further:  # else there is no need to tell the file's code from its comments
        known.update(scope.name_at(each) for each in scope.symbols_by_name.get(name, ()))
    is_keyword, behind = name in scope.rules.keywords, scope.rules.other_names.get(name, "")
    for at in further:
        if at not in known and source.text[at - 1 : at] not in sigils and source.is_code(name, at):
            site = scope.site_at(name, at)
            is_word = is_keyword and not source.has_separator_before(at)
            is_word = is_word or (bool(behind) and re.compile(behind).match(source.code, at + len(name)) is not None)
            yield file, site, FOREIGN if is_word else _bind(engine, file, site)
