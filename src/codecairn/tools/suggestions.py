"""An error about a name or a path that leads nowhere says which ones the caller may have meant."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice

from codecairn.cancel import Cancel
from codecairn.errors import NotFound, SymbolNotFound
from codecairn.names.filters import Filters
from codecairn.names.lookup import find
from codecairn.names.qualified import qualified_name
from codecairn.paths import printable
from codecairn.project import Project
from codecairn.source.file_listing import list_files
from codecairn.source.refs import is_repository
from codecairn.store.view import View
from codecairn.suggestions import MOST, nearest_paths, suggestion

_WEIGHED = 50
"""Paths that are near enough to look whether a caller may know of them."""


@contextmanager
def suggest_paths(project: Project, given: str | None, cancel: Cancel, commit: str = "") -> Iterator[None]:
    """The error about a file that is not there names those that may be meant."""
    with _suggesting(NotFound, lambda: _near(project, given, cancel, commit) if given is not None else None):
        yield


@contextmanager
def suggest_names(view: View, given: str) -> Iterator[None]:
    """The error about a symbol that is not there names those that may be meant, each once."""

    def near() -> list[str]:
        named = (qualified_name(each.file, each.symbol) for each in find(view, given, Filters()))
        return list(islice(dict.fromkeys(named), MOST))

    with _suggesting(SymbolNotFound, near):
        yield


@contextmanager
def _suggesting(kind: type[NotFound], find_near: Callable[[], list[str] | None]) -> Iterator[None]:
    try:
        yield
    except kind as error:
        near = find_near() if type(error) is kind else None
        if near is not None:
            error.data["near"] = near
            error.remedy = suggestion(near, error.remedy)
        raise


def filters_without_files(view: View, wanted: Filters) -> list[str]:
    """The filters that no indexed file passes, each in a sentence."""
    return [
        *_filter_warning(view, "path_filter", wanted.path_filter, Filters(path_filter=wanted.path_filter)),
        *_filter_warning(view, "file_pattern", wanted.file_pattern, Filters(file_pattern=wanted.file_pattern)),
        *_filter_warning(view, "language", wanted.language, Filters(language=wanted.language)),
    ]


def _filter_warning(view: View, param: str, value: str, alone: Filters) -> Iterator[str]:
    if value and not any(map(alone.keep_file, view.files())):
        near = [] if param == "language" else nearest_paths(value, paths_in_view(view))
        yield f"No indexed file matches {param} {printable(value)}. {suggestion(near)}".rstrip()


def paths_in_view(view: View) -> set[str]:
    """The files and folders that are indexed."""
    files = {each.path for each in view.files()}
    folders = {posixpath.dirname(each) for each in files}
    while further := {posixpath.dirname(each) for each in folders} - folders:
        folders |= further
    return files | (folders - {""})


def _near(project: Project, given: str, cancel: Cancel, commit: str) -> list[str]:
    near = nearest_paths(given, _paths(project, cancel, commit), _WEIGHED)
    return [each for each in near if not project.guard.blocks(each)][:MOST]


def _paths(project: Project, cancel: Cancel, commit: str) -> list[str]:
    if not is_repository(project.git, cancel):
        return [each.path for each in list_files(project.root, project.git, project.guard, cancel, vendor=False).files]
    asked = ("ls-tree", "-r", "-z", "--name-only", commit) if commit else ("ls-files", "-z")
    return project.git.run(*asked, cancel=cancel).output.decode("utf-8", "replace").split("\0")[:-1]
