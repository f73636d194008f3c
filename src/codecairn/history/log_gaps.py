"""The output of git log, around the objects that a repository lacks.

git ends at the first object that it cannot read. Without contents it cannot tell renames; without a folder it cannot
tell which files the commits around it changed, nor whether they changed a path. Each commit is then compared by itself,
and the list goes on behind those that cannot be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from codecairn.cancel import Cancel
from codecairn.source.git import OBJECT_ID, Git
from codecairn.source.git_errors import REPAIR, failure, lacks_objects, missing_object, name_first_few, output_of

# Every field ends in NUL, the one byte that no message, name or path can hold.
_FORMAT = "--format=tformat:%x00%H%x00%P%x00%aN%x00%aE%x00%aI%x00%ct%x00%s%x00%b%x00"
_COMMAND = (
    "log", "-z", "--no-color", "--no-decorate", "--no-show-signature", "--no-ext-diff", "--no-textconv",
    "--encoding=UTF-8", "--ignore-submodules=dirty", _FORMAT,
)  # fmt: skip
_COMPARE = ("diff-tree", "--stdin", "--always", "--root", "--raw", "--no-renames", "--no-ext-diff")
_NAMES = ("log", "--no-color", "--no-show-signature", "--format=%H")
_FILES = "--name-status"
_SHAPES = frozenset({"--no-relative", "--relative", "--diff-merges=first-parent", "--diff-merges=off"})
"""Options that say how a commit is shown, and not which."""
_NO_RENAMES = "Partial clone, or a damaged one: renames appear as a deletion and an addition."
_MOST_GAPS = 100
"""Commits that cannot be compared: each costs a process."""
_LogOutput = tuple[bytes, list[str]]
"""The commits as git prints them, and notes on gaps."""


def read_log(
    git: Git, asked: list[str], cancel: Cancel, enough: Callable[[bytearray], bool] | None = None
) -> _LogOutput:
    """Where contents are lacking, renames are not told; where folders are, git is asked commit by commit."""
    finished = git.run(*_COMMAND, _FILES, "--find-renames", *asked, cancel=cancel, enough=enough)
    if finished.status == 0 or finished.stopped_early or not lacks_objects(finished):
        return output_of(finished), []
    without = [option for option in asked if option != "--follow"]
    finished = git.run(*_COMMAND, _FILES, "--no-renames", *without, cancel=cancel)
    if finished.status == 0 or not lacks_objects(finished):
        return output_of(finished), [_NO_RENAMES]
    hashes, gaps = _hashes(git, without, cancel)
    output, unknown = _with_files(git, hashes, without, cancel)
    return output, [_NO_RENAMES, *unknown, *gaps]


def _hashes(git: Git, asked: list[str], cancel: Cancel) -> tuple[list[str], list[str]]:
    """The commits that are asked for, as far as they can be found, and a note where that is not all."""
    alone = git.run(*_NAMES, *asked, cancel=cancel)
    if not lacks_objects(alone):
        return output_of(alone).decode("ascii").split(), []
    unbounded = [option for option in asked if not option.startswith(("--skip=", "--max-count="))]
    path_at = unbounded.index("--")
    walk = unbounded[: path_at + 1]
    whole = git.run(*_NAMES, "--no-merges", *walk, cancel=cancel)
    ends = f"History ends here: object {missing_object(whole)} cannot be read. {REPAIR}" if whole.status else ""
    if not whole.output:  # right behind the first commit
        tip = walk[: walk.index("--end-of-options") + 2]
        whole = git.run(*_NAMES, "--no-walk", *tip, "--", cancel=cancel)
    if not whole.output:
        raise failure(alone)
    hashes = whole.output.decode("ascii").split()
    if path_at + 1 < len(unbounded):
        hashes = list(_changing(git, hashes, unbounded[path_at:], cancel))
    return hashes[_page(asked)], [ends] if ends else []


def _page(asked: list[str]) -> slice:
    """The part of the list that the options ask for."""
    given = dict(option.partition("=")[::2] for option in asked[: asked.index("--end-of-options")])
    first = int(given.get("--skip", 0))
    return slice(first, first + int(given["--max-count"]) if "--max-count" in given else None)


def _changing(git: Git, hashes: list[str], pathspec: list[str], cancel: Cancel) -> Iterator[str]:
    """Those of the commits that changed a path, and those of which that cannot be told."""
    for _ in range(_MOST_GAPS):
        stdin = "".join(f"{each}\n" for each in hashes).encode()
        compared = git.run(*_COMPARE, *pathspec, cancel=cancel, stdin=stdin)
        lines = [*compared.output.decode("utf-8", "replace").splitlines(), ""]
        yield from (line for line, after in pairwise(lines) if OBJECT_ID.fullmatch(line) and after.startswith(":"))
        if compared.status == 0 or not lacks_objects(compared):
            output_of(compared)
            return
        done = sum(OBJECT_ID.fullmatch(line) is not None for line in lines)
        yield from hashes[done : done + 1]
        hashes = hashes[done + 1 :]
    yield from hashes


def _with_files(git: Git, hashes: list[str], asked: list[str], cancel: Cancel) -> _LogOutput:
    """Commits with the files that each changed, asked for one by one; without, where they cannot be told."""
    output, unknown = bytearray(), list[str]()
    options = [each for each in asked[: asked.index("--end-of-options")] if each in _SHAPES]
    pathspec = asked[asked.index("--") :]
    for hash_ in hashes:
        shown = [*_COMMAND, "--no-renames", *options, "--no-walk"]
        one = git.run(*shown, _FILES, "--end-of-options", hash_, *pathspec, cancel=cancel)
        if one.status != 0 and lacks_objects(one):
            unknown.append(f"{hash_[:12]} ({missing_object(one)[:12]} cannot be read)")
            one = git.run(*shown, "--no-patch", "--end-of-options", hash_, cancel=cancel)
        output += one.output
    said = f"The files that these commits changed cannot be told: {name_first_few(unknown)}. {REPAIR}"
    return bytes(output), [said] if unknown else []
