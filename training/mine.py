"""python -m training.mine: documentation with the functions it describes, from packages of public registries.

fetch --select   choose the packages by the rules of `select.py`, fetch them, and write `sources.toml`
fetch            fetch exactly what `sources.toml` lists
extract          mine what was fetched into `data/corpus.jsonl.xz` and `data/questions.jsonl.xz`

Where the registries are is told by --debian, --npm and --pypi, or else by what apt, npm and pip are set up with.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path
from typing import get_args

import click
import msgspec

from training.corpus import Documented, Joining, Mined, capped, chosen_questions, fitted, known_digests, mined
from training.packages import (
    LIST,
    Cache,
    Mirror,
    Package,
    PythonIndex,
    Registry,
    excluded,
    fetch_all,
    read_list,
    write_list,
)
from training.questions import Question
from training.select import debian_packages, npm_packages, pypi_packages

MINING = 1
"""Raised whenever a package would give something else: what was mined before is mined again."""
_CORPUS = 34 << 20
_QUESTIONS = 6 << 20

_FOLDER = click.Path(path_type=Path)
_REGISTRIES: tuple[Registry, ...] = get_args(Registry)
_CLIENTS: dict[Registry, tuple[str, ...]] = {
    "debian": ("apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian"),
    "npm": ("npm", "config", "get", "registry"),
    "pypi": (sys.executable, "-m", "pip", "config", "get", "global.index-url"),
}
"""What asks a registry's own client where that is."""


@click.group(help="Mine documentation and the functions it describes from packages of public registries.")
def main() -> None:
    pass


@main.command(help="Fetch the packages of sources.toml; with --select choose them and write the list.")
@click.option("--cache", "folder", type=_FOLDER, required=True)
@click.option("--select", is_flag=True)
@click.option("--registry", type=click.Choice(_REGISTRIES), multiple=True, default=_REGISTRIES)
@click.option("--list", "place", type=_FOLDER, default=LIST)
@click.option("--debian", metavar="URL", help="The base of the mirror; else apt's.")
@click.option("--npm", metavar="URL", help="The registry; else npm's.")
@click.option("--pypi", metavar="URL", envvar="PIP_INDEX_URL", show_envvar=True, help="The simple index; else pip's.")
def fetch(folder: Path, select: bool, registry: tuple[Registry, ...], place: Path, **bases: str | None) -> None:
    cache = Cache(folder / "archives")
    listed = read_list(place) if place.exists() else []
    if select:
        _select(cache, folder / "indexes", listed, _mirrors(registry, bases), place)
        return
    wanted = [each for each in listed if each.registry in registry]
    missing = [each for each in wanted if not cache.has(each)]
    fetched = list(fetch_all(missing, cache, _mirrors({each.registry for each in missing}, bases)))
    click.echo(f"{len(wanted) - len(missing) + len(fetched)} of {len(wanted)} packages are there")


def _mirrors(registries: Iterable[Registry], bases: Mapping[str, str | None]) -> dict[Registry, Mirror]:
    return {each: _mirror(each, bases[each] or _set_up(each)) for each in registries}


def _mirror(registry: Registry, base: str) -> Mirror:
    if not base.startswith(("https://", "http://")):
        raise click.UsageError(
            f"Nothing says where {registry} is over HTTP: --{registry} must name it, or --registry leave it out."
        )
    return PythonIndex(base) if registry == "pypi" else Mirror(base)


def _set_up(registry: Registry) -> str:
    """Where a registry's own client has it, the first where that has several; empty where it has none."""
    client, *question = _CLIENTS[registry]
    program = shutil.which(client)
    if program is None:
        return ""
    answer = subprocess.run([program, *question], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return next(iter(answer.stdout.split()), "") if answer.returncode == 0 else ""


def _select(
    cache: Cache, indexes: Path, listed: list[Package], mirrors: Mapping[Registry, Mirror], place: Path
) -> None:
    unwanted = excluded()
    chosen = {each.label: each for each in listed if each.registry not in mirrors}
    known = {each.label: each for each in listed if cache.has(each)}
    choosing = {
        "pypi": lambda mirror: pypi_packages(mirror, cache),
        "debian": lambda mirror: debian_packages(mirror, cache, indexes, unwanted),
        "npm": lambda mirror: npm_packages(mirror, cache, indexes, unwanted, known),
    }
    found = (choosing[registry](mirror) for registry, mirror in mirrors.items())
    for number, package in enumerate(chain.from_iterable(found), 1):
        chosen[package.label] = package
        if number % 100 == 0:
            write_list(chosen.values(), place)
            click.echo(f"{number} packages, {package.label}")
    write_list(chosen.values(), place)


@main.command(help="Mine the packages that were fetched, and write corpus.jsonl.xz and questions.jsonl.xz.")
@click.option("--cache", "folder", type=_FOLDER, required=True)
@click.option("--against", type=_FOLDER, help="A folder of repositories nothing may come from.")
@click.option("--into", type=_FOLDER, default=Path(__file__).parent / "data", show_default=True)
@click.option("--list", "place", type=_FOLDER, default=LIST)
@click.option("--processes", type=int, default=2, show_default=True)
def extract(folder: Path, against: Path | None, into: Path, place: Path, processes: int) -> None:
    cache = Cache(folder / "archives")
    unwanted = excluded()
    packages = [each for each in read_list(place) if cache.has(each) and not unwanted.has_package(each.name)]
    with ProcessPoolExecutor(processes) as pool:
        joining = Joining(frozenset(pool.submit(_known, folder, against).result()), unwanted)
        for kept in pool.map(_mined, [folder] * len(packages), packages, chunksize=4):
            joining.add(msgspec.msgpack.decode(zlib.decompress(kept.read_bytes()), type=Mined))
    chosen, corpus = fitted(capped(joining.files), _CORPUS)
    asked, questions = chosen_questions(joining.questions, _QUESTIONS)
    into.mkdir(parents=True, exist_ok=True)
    (into / "corpus.jsonl.xz").write_bytes(corpus)
    (into / "questions.jsonl.xz").write_bytes(questions)
    click.echo(_table(joining, chosen, asked))
    click.echo(f"{len(corpus):,} and {len(questions):,} bytes; dropped {dict(joining.dropped)}")


def _mined(folder: Path, package: Package) -> Path:
    """Where what a package gives is kept."""
    key = f"{MINING} {package.label} {package.version} {[each.sha256 for each in package.archives]}"
    kept = folder / "mined" / hashlib.sha256(key.encode()).hexdigest()[:32]
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        found = mined(package, Cache(folder / "archives"), excluded())
        part = kept.with_suffix(".part")
        part.write_bytes(zlib.compress(msgspec.msgpack.encode(found), 1))
        part.replace(kept)
    return kept


def _known(folder: Path, against: Path | None) -> list[int]:
    if against is None:
        return []
    kept = folder / f"known-{MINING}"
    if not kept.exists():
        kept.write_bytes(msgspec.msgpack.encode(sorted(known_digests(against))))
    return msgspec.msgpack.decode(kept.read_bytes(), type=list[int])


def _table(joining: Joining, chosen: list[Documented], asked: list[Question]) -> str:
    packages: dict[str, set[str]] = defaultdict(set)
    counts: dict[str, Counter[str]] = {each: Counter() for each in ("mined", "documented", "items", "questions")}
    for file in joining.files:
        counts["mined"][file.language] += file.count
    for file in chosen:
        packages[file.language].add(file.package)
        counts["documented"][file.language] += file.count
        counts["items"][file.language] += len(file.items)
    counts["questions"].update(each.language for each in asked)
    rows = [f"{'language':12}{'packages':>10}" + "".join(f"{each:>12}" for each in counts)]
    for language in sorted(counts["mined"] | counts["questions"]):
        numbers = "".join(f"{each[language]:12}" for each in counts.values())
        rows.append(f"{language:12}{len(packages[language]):10}{numbers}")
    rows.append(f"{'all':22}" + "".join(f"{each.total():12}" for each in counts.values()))
    return "\n".join(rows)


if __name__ == "__main__":
    main()
