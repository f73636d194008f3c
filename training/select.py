"""Choosing the packages: as many as it takes to have enough of each language, by rules that need no hand.

Of Debian, packages in which a language has the most files are taken in an order that only their names decide, until
their files are enough. The languages Debian has little of are looked for wherever they occur, and on npm: modules for
telephones hold Kotlin and Swift, Unity's hold C#, Roblox's hold Lua. npm's are taken by how often they are downloaded.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin

from training import debian
from training.debian import Source
from training.licences import is_permissive
from training.packages import Archive, Cache, Excluded, Mirror, Package, read, read_json, tried

_COMMON = (
    "python", "javascript", "typescript", "go", "java", "rust", "c", "cpp", "haskell", "ruby", "php",
)  # fmt: skip
_RARE = ("csharp", "kotlin", "swift", "scala", "elixir", "lua", "zig", "bash")
_FILES = {"go": 9_000, "java": 12_000, "haskell": 16_000, "php": 16_000, "ruby": 16_000, "typescript": 9_000}
_ENOUGH = 11_000
"""Files of a language; some have less documentation in each."""
_COUNTED = 1_200
"""Files of one package that count: of more than that no more is learned."""
_LARGEST = 9 << 20
_LARGEST_RARE = 230 << 20
_LEAST_RARE = {"bash": 8, "lua": 4, "zig": 1}
_MOST_RARE = {"bash": 500}
_LARGEST_BASH = 4 << 20


_LARGE = ("rustc", "ruby3.3", "symfony")
"""Taken though they are large: well documented, in languages whose packages are small."""


class Rule(NamedTuple):
    pattern: str
    most: int


NPM = (
    Rule(r"react-native|@react-native/gradle-plugin|tigerbeetle-node|effect|rxjs|viem|wagmi", 20),
    Rule(r"@capacitor(?:-community|-firebase|-mlkit)?/.+|@cap(?:awesome|awesome-team|go)/.+", 450),
    Rule(r"expo-.+", 500),
    Rule(r"@react-native(?:-[a-z-]+)?/.+", 350),
    Rule(r"(?:.*[-/])?zig(?:ar)?(?:-.+)?", 100),
    Rule(r"@quenty/.+", 300),
    Rule(r"com\.[a-z0-9-]+\..+", 1200),
    Rule(r"@rbxts(?:-js)?/.+", 350),
    Rule(r".*(?:kotlin|swift|csharp|dotnet).*", 200),
    Rule(
        r"@(?:tanstack|tiptap|noble|scure|solana|azure|microsoft|fluentui|effect|polkadot|ethersproject|ngrx|mikro-orm"
        r"|remix-run|langchain|vueuse|pixi|babylonjs|loaders\.gl|deck\.gl|luma\.gl|turf|antv|uppy|lit|floating-ui)/.+",
        300,
    ),
    Rule(r"(?:.*[-/])?lua(?:[-.].+)?|.*\.nvim", 80),
    Rule(r"@nativescript(?:-community)?/.+|@tauri-apps/plugin-.+|nativescript-.+", 120),
    Rule(r"react-native-.+", 1200),
    Rule(r".+", 700),
)
_FETCHED = 12 << 20
"""A larger npm package is bundles and binaries."""


def debian_packages(mirror: Mirror, cache: Cache, indexes: Path, excluded: Excluded) -> Iterator[Package]:
    listed = {name: each for name, each in debian.sources(mirror, indexes).items() if not excluded.has_package(name)}
    held = debian.contents(mirror, indexes)
    have: Counter[str] = Counter()
    for package in tried(lambda name: debian.accepted(listed[name], cache, mirror), _wanted(listed, held, have)):
        have.update({language: min(count, _COUNTED) for language, count in held[package.name].items()})
        yield package


def _wanted(listed: dict[str, list[Source]], held: dict[str, Counter[str]], have: Counter[str]) -> Iterator[str]:
    """Candidates of one language after the other in turn, of each until what came of those before is enough."""
    waiting = {language: iter(_rare(language, listed, held)) for language in _RARE}
    waiting |= {language: iter(_common(language, listed, held)) for language in _COMMON}
    asked = set(_LARGE)
    yield from (name for name in _LARGE if name in listed)
    while waiting:
        for language, names in list(waiting.items()):
            name = next((each for each in names if each not in asked), None)
            if name is None or have[language] >= _FILES.get(language, _ENOUGH):
                del waiting[language]
            else:
                asked.add(name)
                yield name


def _common(language: str, listed: dict[str, list[Source]], held: dict[str, Counter[str]]) -> list[str]:
    names = [
        name
        for name, (source, *_) in listed.items()
        if source.size <= _LARGEST and held[name][language] >= max(3, 0.5 * held[name].total())
    ]
    return sorted(names, key=_shuffled)


def _rare(language: str, listed: dict[str, list[Source]], held: dict[str, Counter[str]]) -> list[str]:
    largest = _LARGEST_BASH if language == "bash" else _LARGEST_RARE
    least = _LEAST_RARE.get(language, 3)
    names = [
        name
        for name, (source, *_) in listed.items()
        if held[name][language] >= least and source.size <= min(largest, held[name][language] * 300_000)
    ]
    return sorted(names, key=lambda name: (-held[name][language], name))[: _MOST_RARE.get(language)]


def _shuffled(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def npm_packages(
    mirror: Mirror, cache: Cache, indexes: Path, excluded: Excluded, listed: dict[str, Package]
) -> Iterator[Package]:
    """A package that was listed before stays at its version."""
    names = _npm_names(mirror, indexes, excluded)
    return tried(lambda name: listed.get(f"npm:{name}") or _npm_package(name, mirror, cache), names)


def _npm_names(mirror: Mirror, indexes: Path, excluded: Excluded) -> list[str]:
    """By rule, then by downloads: npm itself publishes no list, two packages on it do."""
    counts: dict[str, int] = _json_in("download-counts", "package/counts.json", mirror, indexes)
    listed: Iterable[str] = _json_in("all-the-package-names", "package/names.json", mirror, indexes)
    ranked = sorted((each for each in listed if isinstance(each, str)), key=lambda each: (-_count(counts, each), each))
    chosen: dict[str, None] = {}
    for rule in NPM:
        matching = re.compile(rule.pattern)
        fitting = [name for name in ranked if name not in chosen and matching.fullmatch(name)]
        chosen.update(dict.fromkeys(name for name in fitting[: rule.most] if not _is_unwanted(name, excluded)))
    return list(chosen)


def _count(counts: dict[str, int], name: str) -> int:
    found = counts.get(name, 0)
    return found if isinstance(found, int) else 0


def _is_unwanted(name: str, excluded: Excluded) -> bool:
    return excluded.has_package(name) or name.startswith(("@types/", "@cspell/")) or "zigbee" in name


def _json_in(package: str, path: str, mirror: Mirror, indexes: Path) -> Any:
    kept = indexes / f"{package}.tgz"
    if not kept.exists():
        kept.write_bytes(read(mirror.address(_npm_place(_npm_release(mirror, package)))))
    with tarfile.open(fileobj=io.BytesIO(kept.read_bytes())) as opened:
        file = opened.extractfile(path)
        return json.load(file) if file is not None else {}


def _npm_release(mirror: Mirror, name: str) -> Any:
    return read_json(f"{mirror.base}/{name.replace('/', '%2f')}/latest")


def _npm_place(release: Any) -> str:
    return f"{release['name']}/-/{release['dist']['tarball'].rpartition('/')[2]}"


def _npm_package(name: str, mirror: Mirror, cache: Cache) -> Package | None:
    told = _npm_release(mirror, name)
    licence = told.get("license") or told.get("licenses") or ""
    licence = _licence_name(licence)
    if not is_permissive(licence):
        return None
    archive = cache.fetch(mirror, Archive(_npm_place(told), ""), _FETCHED)
    return Package("npm", name, told["version"], licence, (archive,))


def _licence_name(told: object) -> str:
    if isinstance(told, list):
        return " OR ".join(_licence_name(each) for each in told)
    return str(told.get("type", "")) if isinstance(told, dict) else str(told)


PYPI = (
    "ziggy-pydust", "diskimage-builder", "kolla", "ruff", "uv", "ty", "polars", "cryptography", "orjson", "tokenizers",
    "safetensors", "maturin", "rpds-py", "tiktoken", "granian", "deltalake", "datafusion", "qiskit", "typst", "robyn",
    "hf-xet", "tantivy", "sourmash", "pyoxigraph", "zizmor", "pyrefly", "lancedb", "pylance", "cedarpy", "css-inline",
    "jsonschema-rs", "primp", "rignore", "fastuuid", "connectorx", "loro", "pycrdt", "rustworkx", "nh3", "bcrypt",
    "gitingest", "ast-grep-py", "sqruff", "burn", "outlines-core", "llguidance", "minijinja", "python-calamine",
    "whenever", "pyo3-pack", "fast-array-utils", "evalica", "pyvrp", "thriftpy2", "river", "pandera",
)  # fmt: skip
"""Releases that hold Rust, Zig or much shell."""


def pypi_packages(mirror: Mirror, cache: Cache, names: Iterable[str] = PYPI) -> Iterator[Package]:
    return tried(lambda name: _pypi_package(name, mirror, cache), names)


def _pypi_package(name: str, mirror: Mirror, cache: Cache) -> Package | None:
    told = read_json(urljoin(f"{mirror.base}/", f"../pypi/{name}/json"))
    info = told["info"]
    classified = [each.rpartition(" :: ")[2] for each in info.get("classifiers") or () if each.startswith("License")]
    candidates = [info.get("license_expression"), info.get("license"), *classified]
    licence = next((each for each in candidates if each and len(each) < 80 and is_permissive(each)), "")
    sdist = next((each for each in told["urls"] if each["packagetype"] == "sdist"), None)
    if not licence or sdist is None:
        return None
    archive = cache.fetch(mirror, Archive(sdist["filename"], sdist["digests"]["sha256"]))
    return Package("pypi", name, info["version"], licence, (archive,))
