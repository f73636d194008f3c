"""Every use of a name in a view, bound: found once a generation, whichever definition of the name is asked about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from codecairn.cache import Cache
from codecairn.parse.facts import Import, Site
from codecairn.resolve.engine import Bound, Engine
from codecairn.store.version import LinkTable, link_table, names_in
from codecairn.store.view import FileRow

_SITE_BYTES = 320
_FAMILIES = ({"typescript", "tsx", "javascript"}, {"java", "kotlin", "scala"}, {"c", "cpp"})


@dataclass(frozen=True)
class Uses:
    sites: list[tuple[int, Site, Bound]] = field(default_factory=list)
    """By file: each site of the name and what it means."""
    renamed: list[tuple[int, Import]] = field(default_factory=list)
    """Imports that give what has the name another one."""
    importing: list[int] = field(default_factory=list)
    """Files in which an import may bring the name in."""


_uses: Cache[tuple[object, str, str], Uses] = Cache(
    "resolve.uses", 10_000_000,
    lambda uses: _SITE_BYTES * (1 + len(uses.sites) + len(uses.renamed)) + 8 * len(uses.importing),
)  # fmt: skip


def uses_of(engine: Engine, name: str, language: str) -> Uses:
    """The uses of a name in files of a language and those that share its names."""
    key = (engine.known.own, name, language)
    found = _uses.get(key)
    return found if found is not None else _uses.put(key, _found(engine, name, language))


def _found(engine: Engine, name: str, language: str) -> Uses:
    uses = Uses()
    for file, links, is_named in _mentioning(engine, name, language):
        uses.renamed.extend((file, each) for each in links.imports if each.name == name and each.alias)
        if any(name in (each.name, each.alias) or each.name == "*" for each in links.imports):
            uses.importing.append(file)
        named = [site for site in links.sites() if site.name == name] if is_named else []
        scope = engine.scope(file) if named else None
        uses.sites.extend((file, site, engine.bind(scope, site)) for site in named if scope is not None)
    return uses


def _mentioning(engine: Engine, name: str, language: str) -> Iterator[tuple[int, LinkTable, bool]]:
    """The files whose links have the name, and those that may import it with everything else."""
    for file in engine.using(name):
        engine.cancel.check()
        if _is_related(file, language):
            links = engine.known.links(engine.view, file.id)
            is_named = names_in(links, name)
            if is_named or names_in(links, "*"):
                yield file.id, link_table(links), is_named


def _is_related(file: FileRow, language: str) -> bool:
    return file.language == language or any(file.language in each and language in each for each in _FAMILIES)
