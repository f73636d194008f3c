"""Manifests of a project, which say what it is built with and how it is run. They are read, never executed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codecairn.paths import Guard
from codecairn.source.file_content import Content, read_text
from codecairn.text import one_line

_LARGEST = 1 << 20
_MOST_DEPENDENCIES = 12
_MOST_COMMANDS = 10
_LONGEST_COMMAND = 100
_LONGEST_LINE = 2_000
_MOST_DOTS = 200
_NAME = re.compile(r"[A-Za-z0-9@][\w.@/\-]*")
_TARGET = re.compile(r"^([A-Za-z][\w.-]*)\s*:(?!=)", re.MULTILINE)
_GO_NEED = re.compile(r"^\s*(?:require\s+)?([\w.-]+\.[\w.-]+/\S+)\s+v\S+(?!.*// indirect)\s*$", re.MULTILINE)
_GEM = re.compile(r"""^\s*gem\s+["']([^"']+)["']""", re.MULTILINE)
_TOX = re.compile(r"^\[testenv(?::([\w{},.-]+))?\]", re.MULTILINE)


@dataclass(frozen=True)
class PackageManifest:
    """A file that says what a project needs or how it is run."""

    path: str
    what: str
    facts: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    """The ways in that it declares: a script's name and where it leads."""
    omitted: int = 0
    """Dependencies and commands that are not listed here."""


@dataclass(frozen=True)
class _Said:
    facts: list[str] = field(default_factory=list)
    dependencies: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)


def manifests(root: Path, guard: Guard) -> list[PackageManifest]:
    """Those in the root of the project that are there and can be read."""
    return [found for path, (what, read) in _KNOWN.items() if (found := _manifest(root, guard, path, what, read))]


def _manifest(
    root: Path, guard: Guard, path: str, what: str, read: Callable[[str], _Said] | None
) -> PackageManifest | None:
    content = read_text(root, path, _LARGEST) if not guard.blocks(path) and (root / path).is_file() else None
    if not isinstance(content, Content):
        return None
    try:
        said = read(content.text.decode("utf-8", "replace")) if read else _Said()
    except (ValueError, RecursionError, AttributeError, TypeError):  # malformed, or of another shape than it should be
        return PackageManifest(path, what, ("cannot be read",))
    dependencies, commands = said.dependencies, said.commands
    omitted = max(0, len(dependencies) - _MOST_DEPENDENCIES) + max(0, len(commands) - _MOST_COMMANDS)
    return PackageManifest(
        path, what, _clean(said.facts), _clean(dependencies[:_MOST_DEPENDENCIES]), _clean(commands[:_MOST_COMMANDS]),
        _clean(said.entries[:_MOST_COMMANDS]), omitted,
    )  # fmt: skip


def _clean(values: list[str]) -> tuple[str, ...]:
    return tuple(one_line(str(each), _LONGEST_COMMAND) for each in values)


def _toml(text: str) -> dict[str, Any]:
    """The content of a TOML file; the reader's time goes with the square of a key's parts."""
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise ValueError("a key of too many parts")
    return tomllib.loads(text)


def _short_lines(text: str) -> str:
    """The lines that may be declarations; in a longer one an expression could look for ever."""
    return "\n".join(line for line in text.splitlines() if 0 < len(line) <= _LONGEST_LINE)


def _pyproject(text: str) -> _Said:
    data = _toml(text)
    project, poetry = data.get("project", {}), data.get("tool", {}).get("poetry", {})
    needs = [_bare(each) for each in project.get("dependencies", [])] or [
        name for name in poetry.get("dependencies", {}) if name != "python"
    ]
    facts = [f"Python {project['requires-python']}"] if "requires-python" in project else []
    tools = sorted(set(data.get("tool", {})) - {"poetry", "setuptools"})
    facts += [f"tools: {', '.join(tools[:8])}"] if tools else []
    scripts = {**project.get("scripts", {}), **project.get("gui-scripts", {}), **poetry.get("scripts", {})}
    return _Said(facts, needs, entries=[f"{name} → {where}" for name, where in scripts.items()])


def _package(text: str) -> _Said:
    data = json.loads(text)
    needs = [*data.get("dependencies", {}), *data.get("peerDependencies", {})] or list(data.get("devDependencies", {}))
    engines = data.get("engines", {})
    facts = [f"{name} {wanted}" for name, wanted in engines.items()]
    scripts = [f"npm run {name}: {command}" for name, command in data.get("scripts", {}).items()]
    bins = data.get("bin", {})
    ways = {data.get("name", ""): bins} if isinstance(bins, str) else dict(bins)
    entries = [f"{name} → {where}" for name, where in ways.items()]
    entries += [f"{name} → {data[name]}" for name in ("main", "module") if isinstance(data.get(name), str)]
    return _Said(facts, needs, scripts, entries)


def _cargo(text: str) -> _Said:
    data = _toml(text)
    package, workspace = data.get("package", {}), data.get("workspace", {})
    facts = [f"edition {package['edition']}"] if isinstance(package.get("edition"), str) else []
    facts += [f"workspace of {', '.join(map(str, workspace['members'][:8]))}"] if workspace.get("members") else []
    needs = [*data.get("dependencies", {}), *workspace.get("dependencies", {})]
    return _Said(facts, needs, entries=[f"{each['name']} → {each.get('path', '')}" for each in data.get("bin", [])])


def _go(text: str) -> _Said:
    text = _short_lines(text)
    version = re.search(r"^go (\S+)", text, re.MULTILINE)
    module = re.search(r"^module (\S+)", text, re.MULTILINE)
    facts = [f"Go {version[1]}"] if version else []
    facts += [f"module {module[1]}"] if module else []
    return _Said(facts, _GO_NEED.findall(text))


def _composer(text: str) -> _Said:
    data = json.loads(text)
    needs = list(data.get("require", {}))
    return _Said([], needs, [f"composer {name}" for name in data.get("scripts", {})])


def _makefile(text: str) -> _Said:
    text = _short_lines(text)
    names = dict.fromkeys(name for name in _TARGET.findall(text) if "." not in name)
    return _Said(commands=[f"make {name}" for name in names])


def _gemfile(text: str) -> _Said:
    text = _short_lines(text)
    return _Said(dependencies=_GEM.findall(text))


def _requirements(text: str) -> _Said:
    text = _short_lines(text)
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return _Said(dependencies=[_bare(line) for line in lines if line and not line.startswith("-")])


def _tox(text: str) -> _Said:
    text = _short_lines(text)
    return _Said(commands=[f"tox -e {name}" for name in _TOX.findall(text) if name and "{" not in name] or ["tox"])


def _bare(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found[0] if found else requirement


_KNOWN: dict[str, tuple[str, Callable[[str], _Said] | None]] = {
    "pyproject.toml": ("Python", _pyproject),
    "requirements.txt": ("Python", _requirements),
    "setup.py": ("Python", None),
    "package.json": ("Node.js", _package),
    "go.mod": ("Go", _go),
    "Cargo.toml": ("Rust", _cargo),
    "pom.xml": ("Maven", None),
    "build.gradle": ("Gradle", None),
    "build.gradle.kts": ("Gradle", None),
    "composer.json": ("PHP", _composer),
    "Gemfile": ("Ruby", _gemfile),
    "mix.exs": ("Elixir", None),
    "Package.swift": ("Swift", None),
    "build.sbt": ("Scala", None),
    "build.zig": ("Zig", None),
    "CMakeLists.txt": ("CMake", None),
    "Makefile": ("Make", _makefile),
    "tox.ini": ("tox", _tox),
    "Dockerfile": ("Docker", None),
    "docker-compose.yml": ("Docker Compose", None),
    "compose.yaml": ("Docker Compose", None),
}
"""By their path from the root: what each is of, and its reader, where more than its being there is of use."""
