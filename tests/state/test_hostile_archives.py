"""An archive that is damaged, forged or of something else is refused, and nothing is changed by looking at it."""

from __future__ import annotations

import os
import random
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zstandard

from codecairn.errors import CairnError, IndexIncompatible, InvalidInput
from codecairn.store import archive
from codecairn.store.archive import Manifest, Member
from tests.state.forge import Part, forge, part, parts_of, replaced, seal, with_manifest, with_members
from tests.state.machines import Machine
from tests.support.indexes import LastingWorkers
from tests.support.state import shop


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, workers: LastingWorkers) -> tuple[Machine, bytes]:
    """A machine with an index, and an archive from another; as nothing here changes the machine, all share it."""
    place = tmp_path_factory.mktemp("machines")
    here = shop(place / "here", workers)
    here.export(place / "state.tar.zst")
    there = here.cloned(place / "there")
    there.index()
    return there, (place / "state.tar.zst").read_bytes()


@pytest.fixture
def indexed(made: tuple[Machine, bytes]) -> Machine:
    return made[0]


@pytest.fixture
def exported(made: tuple[Machine, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "state.tar.zst"
    path.write_bytes(made[1])
    return path


def check_refused(machine: Machine, path: Path, kind: type[CairnError] = InvalidInput) -> CairnError:
    before, answers = machine.listing(), machine.answers()
    with pytest.raises(kind) as raised:
        machine.import_(path)
    assert raised.value.remedy
    assert machine.listing() == before
    assert machine.answers() == answers
    return raised.value


def test_a_byte_that_changed_is_noticed_wherever_it_is(
    indexed: Machine, exported: Path, seeded: random.Random, trials: Callable[[int], int]
) -> None:
    whole = exported.read_bytes()
    before, answers = indexed.listing(), indexed.answers()
    places = [0, 4, 5, len(whole) - 1, len(whole) - 33, len(whole) - 40]
    for at in (*places, *(seeded.randrange(len(whole)) for _ in range(trials(100)))):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << seeded.randrange(8)
        exported.write_bytes(damaged)
        with pytest.raises(InvalidInput, match="Not an archive that can be used"):
            indexed.import_(exported)
        assert indexed.listing() == before, at
    assert indexed.answers() == answers


def test_an_archive_that_was_cut_or_grew_is_refused(indexed: Machine, exported: Path, seeded: random.Random) -> None:
    whole = exported.read_bytes()
    for changed in (b"", whole[:30], whole[: seeded.randrange(len(whole))], whole[:-1], whole + b"\0", whole + whole):
        exported.write_bytes(changed)
        check_refused(indexed, exported)


def test_what_is_no_archive_is_refused(indexed: Machine, tmp_path: Path) -> None:
    check_refused(indexed, tmp_path / "none.tar.zst")
    check_refused(indexed, tmp_path)
    (tmp_path / "text.tar.zst").write_text("hello " * 100)
    check_refused(indexed, tmp_path / "text.tar.zst")
    (tmp_path / "plain.tar.zst").write_bytes(zstandard.ZstdCompressor().compress(os.urandom(4096)))
    check_refused(indexed, tmp_path / "plain.tar.zst")
    check_refused(indexed, seal(tmp_path / "sealed.tar.zst", b"not Zstandard at all"))


NAMES = [
    "../index.db", "/etc/passwd", "lexical/../../x", "lexical/a/b", "index.db", "vectors/../index.db", "lexical/..",
    "C:\\x", "lexical\\x", "current", "lock", "index.db-wal", "lexical/", "vectors/1.rows\0", "notes/../x.jsonl",
    "./index.db", "lexical/.", "manifest.json", "x" * 300,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_part_of_an_index_is_refused(indexed: Machine, exported: Path, name: str) -> None:
    def also(manifest: Manifest) -> Manifest:
        return msgspec.structs.replace(manifest, members=[*manifest.members, Member(name, 0, "")])

    parts = with_manifest(parts_of(exported), also)
    check_refused(indexed, forge(exported, parts))


KINDS = {
    "a link": tarfile.SYMTYPE, "a hard link": tarfile.LNKTYPE, "a device": tarfile.CHRTYPE, "a disk": tarfile.BLKTYPE,
    "a pipe": tarfile.FIFOTYPE, "a folder": tarfile.DIRTYPE, "a sparse file": tarfile.GNUTYPE_SPARSE,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_refused(indexed: Machine, exported: Path, kind: str) -> None:
    parts = with_members(parts_of(exported), part("lexical/zzz", kind=KINDS[kind], link="/etc/passwd"))
    check_refused(indexed, forge(exported, parts))


def _swapped(parts: list[Part]) -> list[Part]:
    return [parts[0], parts[2], parts[1], *parts[3:]]


SHAPES: dict[str, Callable[[list[Part]], list[Part]]] = {
    "one more than it says": lambda parts: [*parts, part("lexical/more", b"x")],
    "one less than it says": lambda parts: parts[:-1],
    "twice the same": lambda parts: [*parts, parts[1]],
    "another order": _swapped,
    "a longer member": lambda parts: [parts[0], part(parts[1][0].name, parts[1][1] + b"x"), *parts[2:]],
    "another content": lambda parts: [parts[0], part(parts[1][0].name, parts[1][1][::-1]), *parts[2:]],
    "no manifest": lambda parts: parts[1:],
    "the manifest last": lambda parts: [*parts[1:], parts[0]],
    "a manifest that is none": lambda parts: [part(archive.MANIFEST, b"{}"), *parts[1:]],
    "a manifest of another kind": lambda parts: [part(archive.MANIFEST, b'{"format": 1}'), *parts[1:]],
    "nothing": lambda parts: [],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_members_are_those_of_the_manifest_or_nothing_is_taken(indexed: Machine, exported: Path, shape: str) -> None:
    check_refused(indexed, forge(exported, SHAPES[shape](parts_of(exported))))


def test_what_follows_the_end_is_refused(indexed: Machine, exported: Path) -> None:
    check_refused(indexed, forge(exported, parts_of(exported), trailer=b"more"))


def test_headers_that_announce_more_are_not_obeyed(indexed: Machine, exported: Path) -> None:
    """A header of tar's extensions may claim any size, and a reader that obeys it takes the memory."""
    parts = parts_of(exported)
    parts[1][0].pax_headers = {"comment": "x" * 100_000}
    check_refused(indexed, forge(exported, parts, form=tarfile.PAX_FORMAT))


@pytest.mark.parametrize("size", [1 << 62, 100 << 30, -1])
def test_a_size_that_no_index_has_is_refused_before_anything_is_written(
    indexed: Machine, exported: Path, size: int
) -> None:
    def huge(manifest: Manifest) -> Manifest:
        return msgspec.structs.replace(manifest, members=[Member("index.db", size, ""), *manifest.members[1:]])

    check_refused(indexed, forge(exported, with_manifest(parts_of(exported), huge)))


def test_an_archive_of_a_later_format_is_refused_by_its_number(indexed: Machine, exported: Path) -> None:
    later = with_manifest(parts_of(exported), lambda manifest: msgspec.structs.replace(manifest, format=2))
    error = check_refused(indexed, forge(exported, later))
    assert "format 2" in error.message
    assert "Update Cairn" in error.remedy


TAMPERED = {
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON layer BEGIN DELETE FROM file; END",
    "a view": "CREATE VIEW v AS SELECT 1",
    "another table": "CREATE TABLE more (x)",
    "a working tree": "UPDATE layer SET root = '/home/somebody', name = '' WHERE name = 'feature'",
    "a path that leads out": "UPDATE manifest SET path = '../../' || path",
    "an absolute path": "UPDATE manifest SET path = '/' || path",
    "versions that are not there": "DELETE FROM file",
    "another schema": "PRAGMA user_version = 99",
    "refs that it does not name": "UPDATE layer SET head = 'x' WHERE name = 'main'",
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_database_that_is_not_ours_is_refused(indexed: Machine, exported: Path, tmp_path: Path, how: str) -> None:
    parts = parts_of(exported)
    path = tmp_path / "forged.db"
    path.write_bytes(next(data for info, data in parts if info.name == "index.db"))
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute(TAMPERED[how])
    check_refused(indexed, forge(exported, replaced(parts, "index.db", path.read_bytes())), CairnError)


def test_a_damaged_store_inside_a_sealed_archive_is_refused(indexed: Machine, exported: Path) -> None:
    parts = parts_of(exported)
    check_refused(indexed, forge(exported, replaced(parts, "index.db", b"SQLite format 3\0" + bytes(4096))), CairnError)
    check_refused(indexed, forge(exported, replaced(parts, "lexical/meta.json", b"{}")), IndexIncompatible)


def test_an_archive_is_what_any_tar_reads(exported: Path) -> None:
    names = [info.name for info, _ in parts_of(exported)]
    assert names[0] == archive.MANIFEST
    assert "index.db" in names
