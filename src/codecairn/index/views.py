"""Views of the index for who reads it while it moves on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from codecairn.cancel import Cancel
from codecairn.errors import OverlayNotReady, VersionDamaged
from codecairn.index.project_index import ProjectIndex
from codecairn.index.status import IndexStatus
from codecairn.paths import printable
from codecairn.store.layers import Layer
from codecairn.store.open_index import OpenIndex
from codecairn.store.view import View, open_view

_TRIES = 3
_Answer = TypeVar("_Answer")


def _identity(layer: Layer | None) -> tuple[str, str] | None:
    return (layer.name, layer.head) if layer is not None else None


def _replaced(layer: Layer) -> OverlayNotReady:
    said = f"{printable(layer.name)} is no longer indexed as it was" if layer.name else "The index was replaced"
    return OverlayNotReady(f"{said} when the call began", ref=layer.name or layer.ref, remedy="Call again.")


def searching(index: ProjectIndex, opened: OpenIndex, layer: Layer | None = None) -> Iterator[View]:
    """A view of a ref's layer, or of the working tree's, and another one where the index moved on while it was used:
    at most three. Raises where the layer that was found is another by now, or none: its commit is not shown there."""
    ref = layer.id if layer is not None and layer.name else None
    seen: Layer | None = None
    for _ in range(_TRIES):
        with open_view(opened.store, opened.lexical, str(index.root), index.damage.path_filter, ref) as view:
            if view is None or (ref is not None and _identity(view.layer) != _identity(layer)):
                if seen is None and layer is not None:
                    raise _replaced(layer)
                return
            yield view
            seen = view.layer
        now = opened.store.layer(seen.id)
        if now is None or now.generation == seen.generation:
            return


def newest(
    index: ProjectIndex, stands: IndexStatus, answer: Callable[[View], _Answer], cancel: Cancel
) -> _Answer | None:
    """The answer from the newest view, without damaged files; None where nothing is indexed. The warnings of `stands`
    say what was left out."""
    while stands.opened is not None:
        found: _Answer | None = None
        try:
            with stands.opened.store.translating():  # an error of this loop's body does not pass through its generator
                for view in searching(index, stands.opened, stands.layer):
                    view.cancel = cancel
                    found = answer(view)
        except VersionDamaged as error:
            if not index.damage.note(error):
                raise
            stands.warnings.append(f"{error.message}, so it is left out. {error.remedy}")
        else:
            return found
    return None
