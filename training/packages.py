"""Packages of the registries: what one is, the list of those that are learned from, and fetching them.

`sources.toml` is the list, one package a line: the registry, the name, the version, the licence as the registry tells
it, and the archives with their digests. Where a registry is, the list does not say: an archive has its place below the
registry's base, or in PyPI's case the name of its file, and a `Mirror` is told the base. Archives are kept in a folder
under the digest's name, and nothing in them is ever run.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import quote, urljoin, urlsplit

from msgspec import Struct, convert

Given = TypeVar("Given")
Made = TypeVar("Made")
Registry = Literal["debian", "npm", "pypi"]

LIST = Path(__file__).parent / "sources.toml"
EXCLUDED = Path(__file__).parent / "excluded.txt"
_TIMEOUT = 25
_CONNECTIONS = 32
_LARGEST = 260 << 20
_SIMPLE = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


class Archive(Struct, frozen=True):
    place: str
    sha256: str


class Package(Struct, frozen=True):
    registry: Registry
    name: str
    version: str
    licence: str
    archives: tuple[Archive, ...]

    @property
    def label(self) -> str:
        return f"{self.registry}:{self.name}"


def read_list(path: Path = LIST) -> list[Package]:
    return convert(tomllib.loads(path.read_text(encoding="utf-8"))["packages"], list[Package])


def write_list(packages: Iterable[Package], path: Path = LIST) -> None:
    lines = [
        "# Written by `python -m training.mine fetch --select`: what the training data is mined from.",
        "packages = [",
    ]
    lines += [_line(each) for each in sorted(packages, key=lambda each: (each.registry, each.name))]
    path.write_text("\n".join([*lines, "]", ""]), encoding="utf-8")


def _line(package: Package) -> str:
    archives = ", ".join(
        f"{{ place = {_quoted(each.place)}, sha256 = {_quoted(each.sha256)} }}" for each in package.archives
    )
    told = ("registry", "name", "version", "licence")
    fields = ", ".join(f"{field} = {_quoted(getattr(package, field))}" for field in told)
    return f"  {{ {fields}, archives = [{archives}] }},"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True)


class Excluded:
    """The projects nothing may be learned from; names are compared without case, and with `-`, `_` and `.` alike.

    A name is looked for among the words of packages' names; `=name` is a package's whole name; `/name` only a folder's.
    """

    def __init__(self, names: Iterable[str]) -> None:
        wanted = [each.strip() for each in names if each.strip() and not each.startswith("#")]
        self._folders = frozenset(_folded(each.lstrip("=/")) for each in wanted)
        self._whole = frozenset(_folded(each.lstrip("=")) for each in wanted if not each.startswith("/"))
        within = "|".join(re.escape(_folded(each)) for each in wanted if each[0] not in "=/")
        self._within = re.compile(rf"(?<![a-z0-9])(?:lib)?(?:{within})\d*(?![a-z0-9])")

    def has_package(self, name: str) -> bool:
        folded = _folded(name)
        return folded.rpartition("/")[2] in self._whole or bool(self._within.search(folded))

    def has_path(self, path: str) -> bool:
        folders = (_folded(_unversioned(each)) for each in path.split("/")[:-1])
        return not self._folders.isdisjoint(folders)


def excluded(path: Path = EXCLUDED) -> Excluded:
    return Excluded(path.read_text(encoding="utf-8").splitlines())


def _folded(name: str) -> str:
    return re.sub(r"[-_.\s]+", "-", name.lower())


def _unversioned(folder: str) -> str:
    return re.sub(r"[-_]v?\d+(?:\.\d+)*$", "", folder)


class Cache:
    """Archives on disk, each under its digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def place(self, archive: Archive) -> Path:
        return self.folder / f"{archive.sha256[:32]}{_ending(archive.place)}"

    def has(self, package: Package) -> bool:
        return all(self.place(each).exists() for each in package.archives)

    def fetch(self, mirror: Mirror, archive: Archive, largest: int = _LARGEST) -> Archive:
        """The archive, with its digest where none was told; `ValueError` where it is too large or another one."""
        if archive.sha256 and self.place(archive).exists():
            return archive
        data = read(mirror.address(archive.place), largest)
        fetched = Archive(archive.place, hashlib.sha256(data).hexdigest())
        if archive.sha256 and fetched != archive:
            raise ValueError(f"{archive.place} is not what its digest says")
        place = self.place(fetched)
        part = place.with_suffix(".part")
        part.write_bytes(data)
        part.replace(place)
        return fetched


def _ending(place: str) -> str:
    found = re.search(r"\.(?:tar\.\w+|tgz|gz|xz|zip)$", place)
    return found[0] if found else ""


class Mirror:
    """A registry at the base it was told to be at."""

    def __init__(self, base: str) -> None:
        self.base = base.rstrip("/")

    def address(self, place: str) -> str:
        return f"{self.base}/{quote(place, safe='/@+~')}"


class PythonIndex(Mirror):
    """A simple index of Python packages: a file, named `project-version`, is wherever its project's page says."""

    def address(self, place: str) -> str:
        page = f"{self.base}/{_folded(place.rpartition('-')[0])}/"
        told = read(page, accept=_SIMPLE).decode("utf-8", "replace")
        return urljoin(page, linked(told)[place])


def linked(page: str) -> dict[str, str]:
    """The files of a simple index's page with where they are, of either of the kinds that indexes answer with."""
    if page.lstrip().startswith("{"):
        return {each["filename"]: each["url"] for each in json.loads(page)["files"]}
    links = _Links()
    links.feed(page)
    return links.found


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._target = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._target = dict(attrs).get("href") or ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._target = ""

    def handle_data(self, data: str) -> None:
        if self._target and data.strip():
            self.found[data.strip()] = self._target


class _Connections(threading.local):
    """One open connection to each host for each thread: a new one costs more than most of what is fetched over it."""

    def __init__(self) -> None:
        self._open: dict[str, HTTPConnection] = {}

    def to(self, host: str, secure: bool) -> HTTPConnection:
        if host not in self._open:
            kind = HTTPSConnection if secure else HTTPConnection
            self._open[host] = kind(host, timeout=_TIMEOUT)
        return self._open[host]

    def drop(self, host: str) -> None:
        found = self._open.pop(host, None)
        if found is not None:
            found.close()


_connections = _Connections()


def read(url: str, largest: int = _LARGEST, accept: str = "*/*") -> bytes:
    """What an address of a registry answers; `ValueError` where that is no file, or too large a one."""
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"{url} is no address of a registry")
    parts = urlsplit(url)
    try:
        return _answer(_connections.to(parts.netloc, parts.scheme == "https"), parts.path, largest, accept)
    except (OSError, HTTPException):
        _connections.drop(parts.netloc)
    try:
        return _answer(_connections.to(parts.netloc, parts.scheme == "https"), parts.path, largest, accept)
    except (OSError, HTTPException, ValueError):
        _connections.drop(parts.netloc)
        raise


def _answer(connection: HTTPConnection, path: str, largest: int, accept: str) -> bytes:
    connection.request("GET", path, headers={"User-Agent": "codecairn-training", "Accept": accept})
    answer = connection.getresponse()
    if answer.status != 200 or int(answer.headers.get("content-length") or 0) > largest:
        connection.close()
        raise ValueError(f"{path} is not there, or larger than {largest} bytes: {answer.status}")
    return answer.read()


def read_json(url: str) -> Any:
    return json.loads(read(url))


def tried(make: Callable[[Given], Made | None], given: Iterable[Given]) -> Iterator[Made]:
    """What could be made, several at a time, as it comes; what a registry refuses is left out."""

    def attempt(each: Given) -> Made | None:
        try:
            return make(each)
        except (OSError, HTTPException, ValueError, KeyError):
            return None

    waiting = iter(given)
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        running = {pool.submit(attempt, each) for each in islice(waiting, _CONNECTIONS)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            running |= {pool.submit(attempt, each) for each in islice(waiting, len(done))}
            yield from (made for made in (each.result() for each in done) if made is not None)


def fetch_all(packages: Iterable[Package], cache: Cache, mirrors: Mapping[Registry, Mirror]) -> Iterator[Package]:
    """Fetch what is listed, exactly; the packages that are there afterwards."""

    def one(package: Package) -> Package:
        for archive in package.archives:
            cache.fetch(mirrors[package.registry], archive)
        return package

    return tried(one, packages)
