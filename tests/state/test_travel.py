"""State taken to another machine: what is taken along, what is not, and that it answers there as it did here."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from codecairn import __version__
from codecairn.errors import IndexIncompatible, InvalidInput, NotARepository, NotReady
from codecairn.index import digest
from codecairn.index.state import Exported
from codecairn.store import archive, portable
from codecairn.store.database import IndexStore
from codecairn.store.file_version import decompress
from codecairn.store.layers import Scope
from codecairn.store.schema import SCHEMA, TABLES
from tests.refs.history import Drawn, History, histories
from tests.state.machines import Machine
from tests.support.indexes import LastingWorkers, stores
from tests.support.repo import Repo
from tests.support.soak import SOAK
from tests.support.state import BASKET


def unpacked_in(path: Path, folder: Path) -> Path:
    folder.mkdir(parents=True)
    with archive.open_archive(path) as found:
        found.unpack(folder, lambda done, total: None)
    return folder


@given(drawn=histories)
@settings(max_examples=200 if SOAK else 10, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_imported_answers_as_it_did_where_it_was_exported(
    drawn: Drawn, workers: LastingWorkers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("travel")
    history = History.of(drawn, folder, workers)
    here = Machine(history.repo, history.home, workers)
    here.export(folder / "state.tar.zst")
    there = here.cloned(folder / "there")
    imported = there.import_(folder / "state.tar.zst")
    assert imported.files_read == 0
    assert there.answers() == here.answers()
    shutil.rmtree(folder, ignore_errors=True)


def test_the_manifest_says_what_it_is_of(here: Machine, exported: Path) -> None:
    here.repo.git("remote", "add", "origin", "git@example.org:shop/shop.git")
    here.export(exported)
    with archive.open_archive(exported) as found:
        manifest = found.manifest
    assert (manifest.format, manifest.schema, manifest.product) == (1, SCHEMA, __version__)
    assert manifest.readers == digest.reader_versions()
    assert manifest.encoders == ["cairn-static-1"]
    assert manifest.repository.first_commits == [here.repo.git("rev-list", "--max-parents=0", "main")]
    assert manifest.repository.remote == "example.org/shop/shop"
    assert manifest.default_branch == "main"
    refs = {ref.name: (ref.commit, ref.is_default) for ref in manifest.refs}
    assert refs == {
        "main": (here.repo.git("rev-parse", "main"), True),
        "feature": (here.repo.git("rev-parse", "feature"), False),
    }
    assert {member.name.partition("/")[0] for member in manifest.members} == {"index.db", "lexical", "vectors"}


def test_nothing_that_was_not_committed_leaves_the_machine(here: Machine, tmp_path: Path) -> None:
    here.repo.write("basket.py", BASKET + "\n\ndef zanzibar_rate():\n    return 7\n")
    here.repo.write("mombasa_plan.py", "def mombasa():\n    return 'a secret'\n")
    here.export(tmp_path / "state.tar.zst")
    folder = unpacked_in(tmp_path / "state.tar.zst", tmp_path / "unpacked")
    everything = b"\0".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    store = IndexStore(folder)
    with store.reading() as database:
        texts = [decompress(row[0]) for row in database.execute("SELECT text FROM body")]
        roots = [row[0] for row in database.execute("SELECT DISTINCT root FROM layer")]
    store.close()
    assert len(texts) == 3
    assert roots == [""]
    for word in (b"zanzibar", b"mombasa"):
        assert word not in everything
        assert not any(word in text for text in texts)


def test_every_table_is_copied_or_made_anew() -> None:
    tables = set(re.findall(r"CREATE TABLE (\w+)", TABLES))
    assert tables == {*portable._COPIED, "segment", "vector", "dropped", "tally"}


def test_no_path_of_this_machine_leaves_it(here: Machine, tmp_path: Path) -> None:
    here.repo.git("remote", "add", "origin", str(tmp_path / "upstream"))
    exported = here.export(tmp_path / "state.tar.zst")
    assert exported.manifest.repository.remote == ""
    folder = unpacked_in(tmp_path / "state.tar.zst", tmp_path / "unpacked")
    for path in folder.rglob("*"):
        assert not path.is_file() or str(tmp_path).encode() not in path.read_bytes(), path
    assert str(tmp_path) not in repr(exported.manifest)


def test_what_moved_since_is_caught_up_with(here: Machine, exported: Path, tmp_path: Path) -> None:
    here.repo.commit("later", {"basket.py": BASKET + "\n\ndef empty():\n    return True\n"})
    there = here.cloned(tmp_path / "there")
    there.repo.write("untracked.py", "def local():\n    pass\n")
    imported = there.import_(exported)
    assert imported.files_read == 2
    here.index()
    answers = there.answers()
    assert {name: answers[name] for name in ("main", "feature")} == {
        name: each for name, each in here.answers().items() if name
    }
    assert "untracked.py" in [file[1] for file in answers[""]["files"]]


def test_refs_that_only_this_machine_had_indexed_are_indexed_again(
    here: Machine, there: Machine, exported: Path
) -> None:
    there.repo.git("branch", "mine", "feature")
    there.index()
    there.index("mine")
    there.import_(exported)
    assert there.answers().keys() == {"main", "feature", "mine", ""}


def test_facts_of_another_version_are_read_again(
    here: Machine, there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Versions are known by what read them: those of another reader are unknown here, and the refs are out of date."""
    here.export(tmp_path / "state.tar.zst")
    monkeypatch.setattr(digest, "DIGEST", digest.DIGEST + 1)
    imported = there.import_(tmp_path / "state.tar.zst")
    assert imported.manifest.readers != digest.reader_versions()
    with stores(there.repo.path, there.home) as opened:
        assert opened is not None
        assert {layer.extractors for layer in opened.store.refs(Scope("").key)} == {digest.reader_versions()}
    answers = there.answers()
    monkeypatch.undo()
    here_anew = Machine(here.repo, tmp_path / "anew", here.workers)
    here_anew.index()
    here_anew.index("feature")
    wanted = here_anew.answers()
    for name in ("main", "feature"):
        assert answers[name][2]["symbols"] == wanted[name][2]["symbols"]
        assert answers[name][2]["found"] == wanted[name][2]["found"]


def test_an_export_of_a_shallow_clone_is_taken_by_the_whole_and_the_other_way_around(
    here: Machine, exported: Path, tmp_path: Path
) -> None:
    here.repo.commit("second", {"c.py": "C = 1\n"})
    shallow = here.cloned(tmp_path / "shallow", "--depth=1")
    shallow.repo.git("remote", "add", "origin", "https://example.org/shop.git")
    shallow.index()
    shallow.export(tmp_path / "shallow.tar.zst")
    assert here.cloned(tmp_path / "whole").import_(tmp_path / "shallow.tar.zst").files_read == 0
    other = here.cloned(tmp_path / "other", "--depth=1")
    assert other.import_(tmp_path / "shallow.tar.zst").files_read == 0


def test_another_repository_is_refused(exported: Path, tmp_path: Path, workers: LastingWorkers) -> None:
    repo = Repo.create(tmp_path / "stranger")
    repo.commit("mine", {"basket.py": BASKET + "\n"})
    stranger = Machine(repo, tmp_path / "stranger-home", workers)
    stranger.index()
    before = stranger.listing()
    with pytest.raises(InvalidInput, match="another repository"):
        stranger.import_(exported)
    assert stranger.listing() == before


def test_what_has_no_commit_has_no_state(tmp_path: Path, workers: LastingWorkers) -> None:
    repo = Repo.create(tmp_path / "empty")
    repo.write("a.py", BASKET)
    with pytest.raises(NotReady, match="committed"):
        Machine(repo, tmp_path / "home", workers).export(tmp_path / "state.tar.zst")
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotARepository):
        Machine(Repo(tmp_path / "plain"), tmp_path / "home", workers).export(tmp_path / "state.tar.zst")
    assert not (tmp_path / "state.tar.zst").exists()


@pytest.mark.parametrize(("other", "remedy"), [(SCHEMA + 1, "Update Cairn"), (SCHEMA - 1, "Export it again")])
def test_an_index_of_another_schema_is_refused_by_name(
    here: Machine, there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: int, remedy: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("codecairn.index.state.SCHEMA", other)
        here.export(tmp_path / "state.tar.zst")
    with pytest.raises(IndexIncompatible, match=f"schema {other}.*schema {SCHEMA}") as raised:
        there.import_(tmp_path / "state.tar.zst")
    assert raised.value.remedy.startswith(remedy)


def test_notes_travel_beside_it(here: Machine, there: Machine, tmp_path: Path) -> None:
    notes = {"notes/discoveries.jsonl": b'{"id": "1"}\n', "notes/empty.jsonl": b""}
    exported: Exported = here.export(tmp_path / "state.tar.zst", notes=notes)
    assert {member.name for member in exported.manifest.members} > notes.keys()
    assert there.import_(tmp_path / "state.tar.zst").notes == notes


def test_a_subfolder_and_other_options_keep_their_own(here: Machine, tmp_path: Path, workers: LastingWorkers) -> None:
    from codecairn.cancel import Cancel
    from codecairn.index.run import Options
    from codecairn.index.state import export_state, import_state
    from tests.support.indexes import project_index

    here.repo.commit("deeper", {"web/cart.py": BASKET, "web/tests/test_cart.py": BASKET})
    with project_index(here.repo.path / "web", here.home, workers) as index:
        index.index(Options(tests=False), force=False, cancel=Cancel())
        export_state(index, tmp_path / "state.tar.zst", Cancel())
    there = here.cloned(tmp_path / "there")
    with project_index(there.repo.path / "web", there.home, workers) as index:
        imported = import_state(index, tmp_path / "state.tar.zst", Cancel())
        opened = index.open_index()
        assert opened is not None
        layer = opened.store.checkout(str(index.root))
        assert layer is not None
        assert (layer.prefix, layer.tests) == ("web/", False)
        assert opened.store.totals(layer.id).files == 1
    assert imported.files_read == 0
