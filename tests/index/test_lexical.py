"""The lexical index, as several handles of it see it."""

from __future__ import annotations

import os
from pathlib import Path

from codecairn.index.digest import version_of
from codecairn.parse.language import languages
from codecairn.store.lexical import Lexical

AN_HOUR_NS = 3_600_000_000_000


def add(lexical: Lexical, number: int) -> None:
    source = b"def lantern():\n    return 1\n"
    with lexical.writing() as writing:
        writing.add(version_of(number, f"a{number}.py", b"\0" * 20, source, languages()["python"]))
        writing.commit()


def age(folder: Path) -> None:
    """The last commit becomes so old that its stamp is trusted."""
    meta = folder / "meta.json"
    stat = meta.stat()
    os.utime(meta, ns=(stat.st_atime_ns, stat.st_mtime_ns - AN_HOUR_NS))


def test_every_commit_of_another_handle_is_seen(tmp_path: Path) -> None:
    """One that follows at once, and one that follows an old one, which is loaded no second time."""
    folder = tmp_path / "lexical"
    writer, reader = Lexical.create(folder), Lexical(folder)
    for number in range(1, 4):
        add(writer, number)
        assert reader.searcher().num_docs == number
    age(folder)
    assert [reader.searcher().num_docs for _ in range(3)] == [3, 3, 3]
    add(writer, 4)
    assert [reader.searcher().num_docs for _ in range(3)] == [4, 4, 4]
    age(folder)
    assert [reader.searcher().num_docs for _ in range(3)] == [4, 4, 4]
