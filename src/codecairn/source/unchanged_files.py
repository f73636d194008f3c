"""Which files of the working tree are as a commit has them, by git's own stamps: nothing of them is read.

git compares the stamps that it took when it checked a file out, and reads the few that are too young for their stamps
to tell. Left out, since git does not look at them or keeps other bytes than the file has: files that somebody told git
to take for unchanged, and those with a filter, expanded keywords or an encoding of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

from codecairn.cancel import Cancel
from codecairn.source.git import Git

_CONVERTED = ("filter", "ident", "working-tree-encoding")
_UNTOUCHED = (b"unspecified", b"unset")


def unchanged_files(git: Git, commit: str, cancel: Cancel) -> set[str]:
    """Paths below the root. A file that is touched while this runs may be among them: its stamp then tells."""
    tracked = _names(git.read("ls-files", "-v", "-z", "--cached", cancel=cancel))
    plain = {name[2:] for name in tracked if name.startswith(b"H ")}
    with git.working_tree(git.layout(cancel), cancel) as tree:
        asked = ("diff-index", "--name-only", "--no-renames", "--relative", "-z", "--end-of-options", commit, "--")
        plain.difference_update(_names(git.read(*asked, cancel=cancel, tree=tree)))
    plain.difference_update(_files_git_converts(git, plain, cancel))
    return {name.decode("utf-8", "surrogateescape") for name in plain}


def _names(listed: bytes) -> list[bytes]:
    return [name for name in listed.split(b"\0") if name]


def _files_git_converts(git: Git, names: Iterable[bytes], cancel: Cancel) -> set[bytes]:
    """Those whose bytes in the working tree are others than git has."""
    given = b"\0".join(names)
    said = git.run("check-attr", "-z", "--stdin", *_CONVERTED, cancel=cancel, stdin=given + b"\0").output.split(b"\0")
    return {name for name, value in zip(said[::3], said[2::3], strict=False) if value not in _UNTOUCHED}
