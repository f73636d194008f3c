"""Random histories: whatever was committed, branched, forced, merged and deleted, a ref shows through the base exactly
what an index of that commit alone shows."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from codecairn.cancel import Cancel
from codecairn.index.run import Options
from codecairn.store.layers import Scope
from codecairn.store.view import View, open_view
from tests.refs.history import Drawn, History, histories, told
from tests.support.indexes import LastingWorkers, faults, project_index
from tests.support.repo import Repo
from tests.support.soak import SOAK


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LastingWorkers]:
    pool = LastingWorkers(tmp_path_factory.mktemp("workers"), 1)
    yield pool
    pool.end()


def check(history: History, folder: Path) -> None:
    """Every indexed ref, against an index of a clone that has it checked out."""
    history.take("index all", None, None)
    with project_index(history.repo.path, history.home, history.workers) as index:
        opened = index.open_index()
        assert opened is not None
        assert faults(opened.store, opened.lexical, at_rest=True) == []
        layers = {layer.name: layer for layer in opened.store.refs(Scope("").key)}
        assert history.indexed <= layers.keys()
        base = next(layer for layer in layers.values() if layer.base is None)
        for name in sorted(layers.keys() & history.branches()):
            assert layers[name].head == history.repo.git("rev-parse", name)
            with open_view(opened.store, opened.lexical, "", index.source.guard.blocks, layers[name].id) as view:
                assert view is not None
                seen = told(view)
                check_layers(history.repo, view, base.head, layers[name].head)
            with alone(history, name, folder / name.replace("/", "-")) as solo:
                assert seen == told(solo), name


@contextmanager
def alone(history: History, name: str, folder: Path) -> Iterator[View]:
    shutil.rmtree(folder, ignore_errors=True)
    history.repo.git("clone", "--quiet", "--shared", "--branch", name, str(history.repo.path), str(folder / "clone"))
    with project_index(folder / "clone", folder / "home", history.workers) as index:
        index.index(Options(), force=False, cancel=Cancel())
        opened = index.open_index()
        assert opened is not None
        with open_view(opened.store, opened.lexical, str(index.root), index.source.guard.blocks) as view:
            assert view is not None
            yield view


def check_layers(repo: Repo, view: View, base: str, tip: str) -> None:
    differing = set(repo.git("diff-tree", "-r", "--name-only", "--no-renames", base, tip).split())
    rules = any(path.endswith(".cairnignore") for path in differing)
    for file in view.files():
        is_other = file.path in differing
        layer = view.source_layer(file.path, file.id)
        if not rules:  # what the base leaves out by other rules is not the base's
            assert layer == ("overlay" if is_other else "base"), file.path


@pytest.mark.timeout(3600)
@given(drawn=histories)
@settings(max_examples=300 if SOAK else 25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_ref_shows_what_an_index_of_it_alone_shows(
    drawn: Drawn, workers: LastingWorkers, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("history")
    check(History.of(drawn, folder, workers), folder / "alone")
    shutil.rmtree(folder, ignore_errors=True)
