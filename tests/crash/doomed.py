"""A process made to be killed: it indexes a project, in small batches, imports an archive or exports one, and dies
where it is told to.

python doomed.py ROOT HOME update|rebuild|REF|ARCHIVE [POINT NUMBER before|after]

REF is a branch to index. ARCHIVE is exported with a POINT of EXPORTING, and else imported. It says `begun` when all is
loaded. POINT is one of those below, NUMBER the call at which it dies.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.index import batch
from codecairn.index.run import Options
from codecairn.index.state import export_state, import_state
from codecairn.project import Project
from codecairn.resolve import file_imports
from codecairn.source.refs import tip_of
from codecairn.store import archive, folders, lexical, portable, ref_writer, vectors, writer

SMALL_BATCH = 1_500
"""Bytes of source: a few files."""
POINTS: dict[str, tuple[Any, str]] = {
    "a folder is made to build in": (folders, "new_epoch"),
    "a folder is put in use": (folders, "use_epoch"),
    "a checkout is opened": (writer.IndexWriter, "open_checkout"),
    "documents are announced": (writer.IndexWriter, "announce"),
    "a document is added": (lexical.Writing, "add"),
    "documents are committed": (lexical.Writing, "commit"),
    "vectors are written": (vectors.VectorFiles, "write"),
    "the database is told of vectors": (writer, "add_rows"),
    "versions are inserted": (writer.IndexWriter, "insert"),
    "a version is revived": (writer.IndexWriter, "mark_searchable"),
    "entries are written": (writer, "write_entries"),
    "a generation is published": (writer.IndexWriter, "publish"),
    "versions are retired": (writer.IndexWriter, "retire"),
    "documents are deleted": (lexical.Writing, "delete"),
    "retired versions are forgotten": (writer.IndexWriter, "forget_retired"),
    "imports are counted": (file_imports.ImportedFiles, "by"),
    "counts are written": (writer, "_write_importers"),
    "a run says how it ended": (writer.IndexWriter, "finish"),
    "a ref is laid over the base": (ref_writer.RefWriter, "lay"),
    "entries of a ref are written": (ref_writer, "write_entries"),
    "a ref's imports are counted": (ref_writer.RefWriter, "count"),
}

IMPORTING: dict[str, tuple[Any, str]] = {
    "an archive is looked at": (archive, "_check_seal"),
    "a folder is made to build in": (folders, "new_epoch"),
    "a member is unpacked": (archive, "_store"),
    "what was unpacked is looked at": (portable, "check_foreign"),
    "a folder is put in use": (folders, "use_epoch"),
    "a checkout is opened": (writer.IndexWriter, "open_checkout"),
    "a generation is published": (writer.IndexWriter, "publish"),
    "a run says how it ended": (writer.IndexWriter, "finish"),
}

EXPORTING: dict[str, tuple[Any, str]] = {
    "a copy is made": (portable, "copy_committed"),
    "documents are written": (portable, "write_documents"),
    "members are hashed": (archive, "_digest"),
    "a member is packed": (archive, "_add"),
    "an archive is sealed": (archive, "_write_sealed"),
    "an archive is written": (archive, "write"),
}


def die_at(point: str, number: int, moment: str) -> None:
    owner, name = {**POINTS, **IMPORTING, **EXPORTING}[point]
    setattr(owner, name, _deadly(getattr(owner, name), number, moment))


def _deadly(call: Callable[..., Any], number: int, moment: str) -> Callable[..., Any]:
    calls = count(1)

    def called(*arguments: Any, **named: Any) -> Any:
        is_the_one = next(calls) == number
        if is_the_one and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*arguments, **named)
        if is_the_one:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return called


def main(root: str, home: str, verb: str, *death: str) -> None:
    batch._BATCH_BYTES = SMALL_BATCH
    if death:
        point, number, moment = death
        die_at(point, int(number), moment)
    index = Project(Path(root), Settings(data=Path(home))).index
    print("begun", flush=True)
    if death and death[0] in EXPORTING:
        export_state(index, Path(verb), Cancel())
    elif verb.endswith(".tar.zst"):
        import_state(index, Path(verb), Cancel())
    else:
        ref = None if verb in ("update", "rebuild") else tip_of(index.git, verb, Cancel())
        index.index(Options(), force=verb == "rebuild", cancel=Cancel(), ref=ref)
    index.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
