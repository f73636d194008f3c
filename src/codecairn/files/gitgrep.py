"""git grep as an engine: a commit without a checkout, or the working tree where there is no ripgrep.

Its expressions are Perl's where git was built with them, POSIX extended ones elsewhere; the engine's name says which.
UTF-16 is binary to it. How many files are text, which git does not count, is asked for by a pattern that every line
matches, and remembered of a commit: it cannot change there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from codecairn.cache import Cache
from codecairn.errors import CairnError, InvalidPattern
from codecairn.files.grep import MatchPlace, Query, Tally, Time, is_excluded
from codecairn.files.ripgrep import LARGEST_SHOWN, texts_here
from codecairn.paths import Guard
from codecairn.source.git import Git
from codecairn.source.git_errors import failure, lacks_objects, run_in_pieces
from codecairn.source.git_objects import Missing, TreeEntry, blobs, tree
from codecairn.source.process import Finished

_COUNT = re.compile(rb"([^\0\n]*)\0(\d+)\n")
_PLACE = re.compile(rb"([^\0\n]*)\0(\d+)[\0:](\d+)[\0:][^\n]*\n")
_NO_PERL = "cannot use Perl-compatible regexes"
_MOST_OUTPUT = 1 << 25
_FILE_BYTES = 400
_OPTIONS = ("--no-color", "--no-full-name", "--no-recurse-submodules", "-I", "--null")


@dataclass(frozen=True)
class _Files:
    text: frozenset[str]
    binary: frozenset[str] = frozenset()
    ids: Mapping[str, str] = field(default_factory=dict)
    """The blob of each, in a commit."""


_commits: Cache[tuple[str, str], _Files] = Cache(
    "grep.commits", 4_000_000, lambda files: _FILE_BYTES * (len(files.text) + len(files.binary))
)
"""By repository and commit."""


@dataclass
class GitGrep:
    git: Git
    guard: Guard
    commit: str = ""
    """Empty for the working tree."""
    _dialect: str = field(default="-P", init=False)

    @property
    def name(self) -> str:
        return "git grep (Perl expressions)" if self._dialect == "-P" else "git grep (POSIX extended expressions)"

    def count(self, query: Query, time: Time) -> Tally:
        finished = self._grep(["--count"], query, (), time)
        if _NO_PERL in finished.complaint:
            self._dialect = "-E"
            finished = self._grep(["--count"], query, (), time)
        if self.commit and lacks_objects(finished):
            return self._count_around_gaps(query, time)
        if finished.status not in (0, 1) and not finished.timed_out:
            raise _error_of(query, finished)
        files = self._files(time)
        wanted = [path for path in files.text if self._is_searched(path, query)]
        binary = sum(self._is_searched(path, query) for path in files.binary) if self.commit else None
        rows = self._rows(_COUNT, finished)
        lines = {path: int(count) for path, count in rows if query.is_wanted is None or query.is_wanted(path)}
        return Tally(lines, len(wanted), binary, is_whole=not finished.timed_out)

    def _count_around_gaps(self, query: Query, time: Time) -> Tally:
        """Of a commit that is not here whole: the files that can be read, and the names of those that cannot."""
        prefix = self.git.layout(time.cancel).prefix
        entries = [each._replace(path=each.path.removeprefix(prefix)) for each in self._tree(time)]
        files = {each.path: each for each in entries if _is_regular(each) and self._is_searched(each.path, query)}
        sizes = blobs(self.git, {each.id for each in files.values()}, time.cancel, most_bytes=0)
        here = {id_ for id_, blob in sizes if not isinstance(blob, Missing)}
        readable = [path for path, each in files.items() if each.id in here]
        pieces = run_in_pieces(readable, lambda paths: self._grep(["--count"], query, paths, time), frozenset({0, 1}))
        rows = [row for finished in pieces.finished for row in self._rows(_COUNT, finished)]
        gone = [path for path, each in files.items() if each.id not in here] + pieces.lacking
        gone += [f"{each.path}/" for each in entries if each.is_lacking_folder]
        is_late = any(finished.timed_out for finished in pieces.finished)
        lines = {path: int(count) for path, count in rows}
        return Tally(lines, len(readable) - len(pieces.lacking), 0, is_whole=not is_late, lacking=tuple(sorted(gone)))

    def _tree(self, time: Time) -> list[TreeEntry]:
        return tree(self.git, self.commit, self.git.layout(time.cancel).prefix, time.cancel)

    def _is_searched(self, path: str, query: Query) -> bool:
        if is_excluded(path) or self.guard.blocks(path):
            return False
        return query.is_wanted is None or query.is_wanted(path)

    def places(self, query: Query, paths: Sequence[str], most: int, time: Time) -> Mapping[str, list[MatchPlace]]:
        finished = self._grep(["--line-number", "--column"], query, paths, time)
        found: dict[str, list[MatchPlace]] = {}
        for path, line, column in self._rows(_PLACE, finished):
            if len(rows := found.setdefault(path, [])) < most:
                rows.append(MatchPlace(int(line), int(column)))
        return found

    def texts(self, paths: Sequence[str], time: Time) -> Mapping[str, bytes]:
        if not self.commit:
            return texts_here(self.guard.root, paths, time)
        files = self._files(time)
        ids = {files.ids[path]: path for path in paths if path in files.ids}
        read = blobs(self.git, ids, time.cancel, most_bytes=LARGEST_SHOWN)
        contents = {id_: text for id_, text in read if isinstance(text, bytes)}
        return {path: contents[files.ids[path]] for path in paths if files.ids.get(path) in contents}

    def _grep(self, options: list[str], query: Query, paths: Sequence[str], time: Time) -> Finished:
        case = [] if query.is_case_sensitive else ["--ignore-case"]
        pattern = [self._dialect, *case, "-e", query.pattern]
        return self._run([*options, *pattern], paths, time)

    def _run(self, options: list[str], paths: Sequence[str], time: Time) -> Finished:
        among = [self.commit] if self.commit else []
        untracked = [] if self.commit else ["--untracked"]
        return self.git.run(
            "grep", *_OPTIONS, *untracked, *options, *among, *(("--", *paths) if paths else ()), cancel=time.cancel,
            seconds=time.left, enough=lambda output: len(output) > _MOST_OUTPUT,
        )  # fmt: skip

    def _rows(self, form: re.Pattern[bytes], finished: Finished) -> list[tuple[str, ...]]:
        head = f"{self.commit}:" if self.commit else ""
        rows = [tuple(each.decode("utf-8", "replace") for each in row) for row in form.findall(finished.output)]
        return [(path.removeprefix(head), *others) for path, *others in rows]

    def _files(self, time: Time) -> _Files:
        key = (str(self.git.root), self.commit)
        known = _commits.get(key) if self.commit else None
        if known is not None:
            return known
        finished = self._run(["--files-with-matches", "-E", "-e", ""], (), time)
        head = f"{self.commit}:" if self.commit else ""
        listed = finished.output.decode("utf-8", "replace").split("\0")
        text = frozenset(path.removeprefix(head) for path in listed if path)
        files = self._among(text, time) if self.commit else _Files(text)
        if self.commit and not finished.timed_out:
            _commits.put(key, files)
        return files

    def _among(self, text: frozenset[str], time: Time) -> _Files:
        """All files of the commit, with those that have no line; what has lines and is no text is binary."""
        prefix = self.git.layout(time.cancel).prefix
        listed = tree(self.git, self.commit, prefix, time.cancel)
        files = {each.path.removeprefix(prefix): each for each in listed if _is_regular(each)}
        empty = frozenset(path for path, each in files.items() if each.size == 0)
        ids = {path: each.id for path, each in files.items()}
        return _Files(text | empty, frozenset(files) - text - empty, ids)


_RUNAWAY = ("match limit exceeded", "JIT stack limit reached")


def _is_regular(entry: TreeEntry) -> bool:
    return not entry.is_link and not entry.is_submodule and not entry.is_lacking_folder


def _error_of(query: Query, finished: Finished) -> CairnError:
    if any(each in finished.complaint for each in _RUNAWAY):
        too_long = "matching it takes too long on some line: it has repetitions inside repetitions"
        return InvalidPattern("Invalid regex pattern", pattern=query.pattern, details=too_long)
    _, quoted, reason = finished.complaint.partition(f"'{query.pattern}': ")
    if not quoted:
        return failure(finished)
    return InvalidPattern("Invalid regex pattern", pattern=query.pattern, details=" ".join(reason.split())[:500])
