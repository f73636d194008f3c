"""Files of a working tree that is new here, told from the base: as a commit has them, they are known without reading.

A clone of a repository that was indexed elsewhere differs from the base in a few files, or in none. git tells which
(source/unchanged_files.py); all others have the versions that the base names, or the reasons why there are none. For a
clean clone of Django that takes a tenth of the processor time that reading its 7,000 files takes.
"""

from __future__ import annotations

from collections.abc import Sequence

from codecairn.errors import CairnError, Cancelled
from codecairn.index.batch import FAILED
from codecairn.index.digest import Outcome, reader_versions
from codecairn.index.run import Run
from codecairn.source.file_content import ListedFile, Skip
from codecairn.source.unchanged_files import unchanged_files
from codecairn.store.layers import Layer, Scope

WORTH_ASKING = 200
"""Files. Reading fewer takes no longer than git does to compare them."""
_UNTOLD = FAILED | {Skip.LACKING, Skip.SPECIAL}
"""Reasons that may be another machine's."""


def committed_outcomes(run: Run, layer: Layer, changed: Sequence[ListedFile]) -> dict[str, Outcome]:
    """The outcomes of files that are as the base's commit has them; nothing where that cannot be told."""
    if layer.complete or run.anew or len(changed) < WORTH_ASKING:
        return {}
    base = run.store.base(Scope(layer.prefix, run.options.tests, run.options.vendor).key)
    if base is None or base.extractors != reader_versions():
        return {}
    try:
        unchanged = unchanged_files(run.source.git, base.head, run.cancel)
    except Cancelled:
        raise
    except CairnError:  # the base's commit is not in this clone, or git cannot be asked
        return {}
    entries, sizes = run.store.manifest(base.id), run.store.sizes(base.id)
    found = {}
    for each in changed:
        entry = entries.get(each.path) if each.path in unchanged else None
        if entry is None or entry.reason in _UNTOLD:
            continue
        if entry.file is None or sizes.get(each.path) == each.size:  # other sizes: other ends of lines, or a BOM
            found[each.path] = Outcome(each.path, reason=entry.reason, detail=entry.detail, known=entry.file)
    return found
