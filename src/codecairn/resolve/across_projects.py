"""Names across repositories: what a file imports from outside its project, and what a project exports to others.

A use is taken where the name, or the module before its dot, comes from an import that leads nowhere in its own project.
The other side says what that import means there: a module by the name that the project declares for itself (the `name`
of a package.json, the module of a go.mod, the crate of a Cargo.toml, the distribution of a pyproject.toml, setup.cfg or
setup.py, the package that Java, Kotlin, C# or PHP files declare). A module that only looks alike is nobody's.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from codecairn.file_roles import is_test
from codecairn.parse.facts import Import, Site
from codecairn.resolve.engine import Engine
from codecairn.resolve.rules import rules_of
from codecairn.resolve.scope import FileScope
from codecairn.resolve.values import Definition, Outside
from codecairn.store.file_version import link_table
from codecairn.store.view import FileRow

DEFAULT = "default"
_MANIFESTS = (
    ("pyproject.toml", re.compile(r"^\[(?:project|tool\.poetry)\]$(?:\n(?!\[).*)*?\nname\s*=\s*[\"']([^\"']+)", re.M)),
    ("setup.cfg", re.compile(r"^name\s*=\s*([\w.-]+)", re.M)),
    ("setup.py", re.compile(r"\bname\s*=\s*[\"']([^\"']+)")),
)  # fmt: skip
_CRATE = re.compile(r"^\[package\]$(?:\n(?!\[).*)*?\nname\s*=\s*\"([^\"]+)", re.M)
_VERSION = re.compile(r"v\d+")


class ImportedName(NamedTuple):
    """A name of a module as another project imports it."""

    language: str
    module: str
    name: str


class OutsideUse(NamedTuple):
    imported: ImportedName
    file: int
    site: Site


def outside_uses(engine: Engine, name: str) -> Iterator[OutsideUse]:
    """The uses of a name that comes from outside the project, each with the import that brings it in."""
    for row in engine.using(name):
        yield from engine.budget.within(partial(_uses_in, engine, row, name), list[OutsideUse]())


def _uses_in(engine: Engine, row: FileRow, name: str) -> list[OutsideUse]:
    engine.budget.step()
    links = link_table(engine.known.links(engine.view, row.id))
    imports = [each for each in links.imports if _may_bring(each, name)]
    if not imports:
        return []
    scope = engine.scope(row.id)
    outside = [each for each in imports if _is_outside(engine, scope, each)]
    found = ((_import_of(engine, scope, site, name, outside), site) for site in (links.sites() if outside else ()))
    return [OutsideUse(_imported_name(row, each, name), row.id, site) for each, site in found if each is not None]


def _imported_name(row: FileRow, each: Import, name: str) -> ImportedName:
    return ImportedName(row.language, each.module, each.name if each.name and each.name != "*" else name)


def _may_bring(each: Import, name: str) -> bool:
    if not each.module or each.module.startswith("."):
        return False
    if each.name in ("", "*"):
        return bool(each.alias) or not each.name
    return each.name == name or (each.name == DEFAULT and each.alias == name)


def _is_outside(engine: Engine, scope: FileScope, each: Import) -> bool:
    if engine.modules.find(scope.row, each.module) is not None:
        return False
    value = engine.members.import_value(scope, each)
    return value is None or isinstance(value, Outside)


def _import_of(engine: Engine, scope: FileScope, site: Site, name: str, outside: list[Import]) -> Import | None:
    """The import through which a site means the name; None where none, or more than one, may be it."""
    if site.kind == "imports":
        found = [each for each in outside if each.line == site.line and site.name == name and each.name == name]
    elif site.qualifier:
        found = [each for each in outside if site.name == name and site.qualifier in _prefixes(each)]
    else:
        found = [each for each in outside if each.name not in ("", "*") and site.name == (each.alias or each.name)]
    if len({(each.module, each.name) for each in found}) != 1:
        return None
    return found[0] if site.kind == "imports" or _is_seen(engine, scope, site) else None


def _prefixes(each: Import) -> tuple[str, ...]:
    """What may stand before the dot of a name of an imported module."""
    if each.name not in ("", "*"):
        return ()
    if each.alias:
        return (each.alias,)
    parts = each.module.split("/")
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    return (last,)


def _is_seen(engine: Engine, scope: FileScope, site: Site) -> bool:
    """Whether nothing nearer has the name: a variable, a parameter, a definition of the project's own."""
    first = re.split(r"\W+", site.qualifier)[0] if site.qualifier else site.name
    position = scope.source.position(site.line, site.column)
    value, _ = engine.names.lookup(scope, first, position, reads=False)
    return isinstance(value, Outside)


def exported(engine: Engine, asked: ImportedName) -> Definition | None:
    """The definition that an import of another project means in this one; None where that is not sure."""
    way = rules_of(asked.language).rules.imports
    module, place = asked.module, "importer"
    if way == "dotted" and not _is_distributed(engine, module.partition(".")[0]):
        return None
    if way == "crate":
        module, place = _in_crate(engine, module), "src/lib.rs"
    if not module or way not in ("dotted", "path", "folder", "crate", "package"):
        return None
    found = engine.modules.find(FileRow(-1, place, asked.language, "", 0), module)
    value = engine.members.export(found, asked.name) if found is not None else None
    return value if isinstance(value, Definition) else None


def _is_distributed(engine: Engine, top: str) -> bool:
    """Whether a package is what the project's manifest names, or the only one beside a manifest."""
    declared = [name for name in (_declared_name(engine, *each) for each in _MANIFESTS) if name]
    if any(_normal(name) == _normal(top) for name in declared):
        return True
    has_manifest = any(engine.view.file_at(path) for path, _ in _MANIFESTS)
    return has_manifest and _packages(engine) == {top}


def _declared_name(engine: Engine, path: str, pattern: re.Pattern[str]) -> str:
    file = engine.view.file_at(path)
    found = pattern.search(engine.view.text(file.id)) if file is not None else None
    return found[1] if found else ""


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _packages(engine: Engine) -> set[str]:
    """The packages at the root, or in `src`, that are no tests."""
    indexes = (file.path for file in engine.known.namesakes.get("__init__.py", ()))
    folders = (posixpath.dirname(path).removeprefix("src/") for path in indexes if not is_test(path))
    return {folder for folder in folders if folder and "/" not in folder} - {"docs", "examples", "scripts", "tests"}


def _in_crate(engine: Engine, module: str) -> str:
    """The path inside the crate of the root, for a module that begins with its name."""
    first, _, rest = module.partition("::")
    if _declared_name(engine, "Cargo.toml", _CRATE).replace("-", "_") != first:
        return ""
    return f"crate::{rest}" if rest else "crate"
