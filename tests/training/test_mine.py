"""Mining training data, from archives built here: what is learned from, what is left out, and that it fits."""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import os
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from training.corpus import Documented, Joining, Mined, capped, fitted, known_digests, mined
from training.functions import Item, digest
from training.licences import is_permissive, named_by_text, read_copyright
from training.mine import main
from training.packages import LIST, Archive, Cache, Excluded, Package, excluded, linked, read_list, write_list
from training.prose import told

SHAPES = '''
def area(width, height):
    """Multiply the sides of a rectangle.

    :param width: in metres
    """
    if width < 0:
        raise ValueError("a side is never negative")
    return width * height


def halved(number):
    rest = number % 2
    return (number - rest) // 2


class Circle:
    """A round shape."""

    def grow(self, by):
        """TODO: say something"""
        self.radius += by
        return self.radius
'''
TESTS = """
def test_refuses_a_negative_side():
    with raises(ValueError):
        area(-1, 2)


def test_halves_an_odd_number():
    assert halved(7) == 3
"""
README = "# Shapes\n\nUse `area` to find out how much room a rectangle takes.\n\nCall it with two numbers.\n"
CHANGES = "# Changes\n\n- Fixed `halved` giving a fraction for odd numbers (#12)\n- Faster overall\n"
TREE = {
    "shapes-1.0/src/shapes.py": SHAPES,
    "shapes-1.0/tests/test_shapes.py": TESTS,
    "shapes-1.0/vendor/other.py": SHAPES.replace("area", "region"),
    "shapes-1.0/flask/app.py": SHAPES.replace("area", "place"),
    "shapes-1.0/src/tables.py": "# Automatically generated, do not edit\n" + SHAPES.replace("area", "row"),
    "shapes-1.0/src/borrowed.py": "# Under the GNU General Public License\n" + SHAPES.replace("area", "plot"),
    "shapes-1.0/README.md": README,
    "shapes-1.0/CHANGES.md": CHANGES + " " * 200,
}


def archived(tree: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in tree.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def package_in(cache: Cache, tree: dict[str, str]) -> Package:
    archive = Archive("shapes-1.0.tar.gz", f"{digest(repr(tree)):064x}")
    cache.place(archive).write_bytes(archived(tree))
    return Package("pypi", "shapes", "1.0", "MIT", (archive,))


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache" / "archives")


@pytest.fixture
def found(cache: Cache) -> Mined:
    tree = {path: text.ljust(210) for path, text in TREE.items()}
    return mined(package_in(cache, tree), cache, excluded())


def test_a_documented_function_comes_with_its_neighbours_and_without_its_docstring(found: Mined) -> None:
    (file,) = found.files
    assert (file.path, file.language) == ("src/shapes.py", "python")
    assert [(item.name, item.doc) for item in file.items] == [
        ("area", "Multiply the sides of a rectangle."),
        ("halved", ""),
        ("grow", ""),
    ]
    assert file.items[0].code.startswith("def area(width, height):\n    if width < 0:")


def test_copies_generated_files_and_files_under_another_licence_are_left_out(found: Mined) -> None:
    assert {file.path for file in found.files} == {"src/shapes.py"}


def test_prose_and_tests_ask_for_the_one_function_they_name(found: Mined) -> None:
    asked = {(question.kind, question.name) for question in found.questions}
    assert asked == {("readme", "area"), ("change", "halved"), ("test", "area"), ("test", "halved")}
    assert "refuses a negative side" in {question.question for question in found.questions}


def test_what_was_seen_before_or_is_measured_on_is_dropped(found: Mined, tmp_path: Path) -> None:
    measured = tmp_path / "repositories" / "shapes" / "shapes.py"
    measured.parent.mkdir(parents=True)
    measured.write_text(SHAPES.split("def halved", maxsplit=1)[0].replace("    ", "\t"))
    joining = Joining(known_digests(tmp_path / "repositories"), excluded())
    joining.add(found)
    assert joining.files == []
    assert {question.name for question in joining.questions} == {"halved"}

    twice = Joining(frozenset(), excluded())
    twice.add(found)
    twice.add(found)
    assert [len(file.items) for file in twice.files] == [3]


def test_a_size_takes_from_the_large_languages_alone() -> None:
    def files(language: str, count: int) -> list[Documented]:
        items = [
            Item(f"f{n}", "function", f"Tell the number {digest(str(n))}", str(digest(f"{n}")) * 20)
            for n in range(count)
        ]
        return [Documented("pypi:p", language, f"{n}.x", [item]) for n, item in enumerate(items)]

    chosen, packed = fitted(capped(files("go", 900) + files("zig", 20)), 12_000)
    counts = {name: sum(file.language == name for file in chosen) for name in ("go", "zig")}
    assert len(packed) <= 12_000
    assert counts["zig"] == 20
    assert 0 < counts["go"] < 900


def test_extract_writes_both_files_and_the_same_ones_again(cache: Cache, tmp_path: Path) -> None:
    tree = {path: text.ljust(210) for path, text in TREE.items()}
    listed = tmp_path / "sources.toml"
    write_list([package_in(cache, tree)], listed)
    assert [each.label for each in read_list(listed)] == ["pypi:shapes"]

    written = []
    for into in (tmp_path / "first", tmp_path / "second"):
        options = ["--cache", str(tmp_path / "cache"), "--list", str(listed), "--into", str(into), "--processes", "1"]
        result = CliRunner().invoke(main, ["extract", *options])
        assert result.exit_code == 0, result.output
        written.append([(into / name).read_bytes() for name in ("corpus.jsonl.xz", "questions.jsonl.xz")])
    assert written[0] == written[1]
    (line,) = lzma.decompress(written[0][0]).splitlines()
    assert json.loads(line)["package"] == "pypi:shapes"


class _Registry(BaseHTTPRequestHandler):
    """All three registries, each below a folder of its own."""

    files: ClassVar = {
        "/debian/pool/main/s/shapes/shapes_1.0.orig.tar.gz": b"of Debian",
        "/npm/@shapes/core/-/core-1.0.tgz": b"of npm",
        "/simple/shapes-more/": b'<a href="../../files/ab/shapes_more-1.0.tar.gz#sha256=0">shapes_more-1.0.tar.gz</a>',
        "/files/ab/shapes_more-1.0.tar.gz": b"of PyPI",
    }

    def do_GET(self) -> None:
        found = self.files.get(self.path)
        self.send_response(404 if found is None else 200)
        self.send_header("Content-Length", str(len(found or b"")))
        self.end_headers()
        self.wfile.write(found or b"")

    def log_message(self, *_: Any) -> None:
        """The output of a test is no place for it."""


@pytest.fixture
def registry() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Registry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


FETCHED = [
    Package("debian", "shapes", "1.0-1", "MIT", (Archive("pool/main/s/shapes/shapes_1.0.orig.tar.gz", "of Debian"),)),
    Package("npm", "@shapes/core", "1.0", "MIT", (Archive("@shapes/core/-/core-1.0.tgz", "of npm"),)),
    Package("pypi", "Shapes.More", "1.0", "MIT", (Archive("shapes_more-1.0.tar.gz", "of PyPI"),)),
]


def listed_with_digests(place: Path, packages: list[Package]) -> list[Package]:
    """A list in which what an archive holds has become its digest."""
    listed = [
        Package(each.registry, each.name, each.version, each.licence, tuple(map(digested, each.archives)))
        for each in packages
    ]
    write_list(listed, place)
    return listed


def digested(archive: Archive) -> Archive:
    return Archive(archive.place, hashlib.sha256(archive.sha256.encode()).hexdigest())


def test_a_package_is_fetched_from_where_its_registry_was_told_to_be(registry: str, tmp_path: Path) -> None:
    listed = listed_with_digests(tmp_path / "sources.toml", FETCHED)
    bases = ["--debian", f"{registry}/debian/", "--npm", f"{registry}/npm", "--pypi", f"{registry}/simple/"]
    options = ["--cache", str(tmp_path / "cache"), "--list", str(tmp_path / "sources.toml")]
    result = CliRunner().invoke(main, ["fetch", *options, *bases])
    assert (result.exit_code, result.output) == (0, "3 of 3 packages are there\n")
    cache = Cache(tmp_path / "cache" / "archives")
    assert [cache.place(each.archives[0]).read_bytes() for each in listed] == [b"of Debian", b"of npm", b"of PyPI"]


def test_what_is_not_what_its_digest_says_is_not_kept(registry: str, tmp_path: Path) -> None:
    other = Package("npm", "@shapes/core", "1.0", "MIT", (Archive("@shapes/core/-/core-1.0.tgz", "another"),))
    listed = listed_with_digests(tmp_path / "sources.toml", [other])
    options = ["--cache", str(tmp_path / "cache"), "--list", str(tmp_path / "sources.toml")]
    result = CliRunner().invoke(main, ["fetch", *options, "--npm", f"{registry}/npm"])
    assert result.output == "0 of 1 packages are there\n"
    assert not Cache(tmp_path / "cache" / "archives").has(listed[0])


def test_an_index_that_nothing_names_must_be_told(tmp_path: Path) -> None:
    listed_with_digests(tmp_path / "sources.toml", FETCHED[2:])
    options = ["--cache", str(tmp_path / "cache"), "--list", str(tmp_path / "sources.toml")]
    unset = {"PIP_INDEX_URL": None, "PIP_CONFIG_FILE": os.devnull}
    result = CliRunner().invoke(main, ["fetch", *options], env=unset)
    assert result.exit_code == 2
    assert "--pypi must name it" in result.output


@pytest.mark.parametrize(
    "page",
    [
        '{"files": [{"filename": "a-1.tar.gz", "url": "https://registry.example/f/a-1.tar.gz", "hashes": {}}]}',
        '<h1>a</h1><a href="https://registry.example/f/a-1.tar.gz" data-yanked="">a-1.tar.gz</a><br/>text',
    ],
)
def test_an_index_answers_in_either_form(page: str) -> None:
    assert linked(page) == {"a-1.tar.gz": "https://registry.example/f/a-1.tar.gz"}


def test_the_list_names_no_host() -> None:
    assert "://" not in LIST.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("expression", "permissive"),
    [
        ("Expat", True),
        ("(MIT OR GPL-2.0-only)", True),
        ("MIT and LGPL-2.1+", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-2+ with OpenSSL exception", False),
        ("Unlicense", True),
        ("UNLICENSED", False),
        ("MPL-2.0", False),
        ("BSD-3-Clause", True),
        ("BSD (3 clause)", True),
        ("MPL-2.0 AND (Apache-2.0 OR MIT)", False),
        ("GPL-2+ or Expat, and ISC", True),
    ],
)
def test_a_licence_is_permissive_or_not(expression: str, permissive: bool) -> None:
    assert is_permissive(expression) is permissive


def test_debian_tells_the_licence_of_the_whole_and_of_parts() -> None:
    stanzas = "Format: 1.0\n\nFiles: *\nLicense: Expat\n\nFiles: lib/old/* tools\nLicense: GPL-2+\n Text.\n"
    copyright_ = read_copyright(stanzas)
    assert copyright_.licence == "Expat"
    assert [copyright_.covers(path) for path in ("src/a.c", "lib/old/x/a.c", "tools/b.c")] == [True, False, False]
    assert named_by_text("Permission is hereby granted,\n free of charge, to any person") == "MIT"


def test_measured_projects_are_known_by_name_and_by_folder() -> None:
    names = Excluded(["flask", "lazy.nvim", "=zig", "/fmt"])
    assert [
        each for each in ("python-flask-cors", "flasky", "lazy_nvim", "zig-js", "zig", "fmt") if names.has_package(each)
    ] == [
        "python-flask-cors",
        "lazy_nvim",
        "zig",
    ]
    assert names.has_path("third/Flask-2.0/app.py")
    assert names.has_path("deps/fmt/format.h")
    assert not names.has_path("src/flask.py")


@pytest.mark.parametrize(
    ("doc", "sentence"),
    [
        ("Opens the file.\n\n@param path where it is", "Opens the file."),
        ("Return the {@link Foo} of a <b>node</b>.", "Return the Foo of a node."),
        ("@brief Frees all memory it holds", "Frees all memory it holds"),
        ("{@inheritDoc}", ""),
        ("TODO write this some day", ""),
        ("Copyright 2019 by the authors of this", ""),
        ("x = compute(y); return x;", ""),
        ("get it", ""),
    ],
)
def test_documentation_is_cut_to_what_it_tells(doc: str, sentence: str) -> None:
    assert told(doc) == sentence
