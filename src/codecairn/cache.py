"""Everything that is kept only to be faster: under a name, up to so many bytes, listed in metrics_snapshot.

A cache belongs to the process, not to a project: however many projects a server opens, the bounds below their names are
all that caches take. Weights are estimates of what an entry and its key take in memory, measured when they were
written down; an entry that is heavier than the whole cache may be is not kept.

`Cache` forgets what was used longest ago, and a state of something as soon as a later state of it is kept: nobody asks
about the generations of an index that edits leave behind, nor about an index that was built anew since. Caches of whole
views have a bound on their number too, or a server of a small project that is asked about ever other commits would fill
them for days. `Memo` is for millions of short questions whose answers are worked out in a microsecond, where even a
lock would cost more than the answer: it is a dict while the answer is known, and forgets everything at its bound.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from itertools import count
from typing import Generic, NamedTuple, TypeVar, overload
from weakref import WeakValueDictionary

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Default = TypeVar("_Default")

ENTRY_BYTES = 200
"""The place of an entry in a cache, with a key of a few parts."""
MOST_VIEWS = 12
"""Views that one server is asked about in turns: its working tree, some branches, linked projects."""
_MEMO_BYTES = 200
_LONGEST_TEXT = 500
"""Characters of a question that a memo keeps."""


class CacheState(NamedTuple):
    name: str
    entries: int
    bytes: int
    most_bytes: int


class NamedCache:
    """A cache among those of the process; one that nobody refers to any more is not listed."""

    def __init__(self, name: str, most_bytes: int) -> None:
        self.name = name
        self.most_bytes = most_bytes
        self.most_entries = math.inf
        with _lock:
            _caches[next(_numbers)] = self

    def state(self) -> CacheState:
        raise NotImplementedError

    def clear(self) -> None:
        raise NotImplementedError


_lock = threading.Lock()
_numbers = count()
_caches: WeakValueDictionary[int, NamedCache] = WeakValueDictionary()


def caches() -> list[CacheState]:
    """The caches of this process, by name."""
    with _lock:
        listed = list(_caches.values())
    return sorted(each.state() for each in listed)


def forget_all() -> None:
    """Empty every cache of this process: what they keep by content may have been read from a damaged index."""
    with _lock:
        listed = list(_caches.values())
    for each in listed:
        each.clear()


def widen(factors: Mapping[str, int]) -> None:
    """Let caches grow to so many times their bounds, by name, and hold any number of entries: for a process that serves
    hundreds of projects."""
    with _lock:
        for each in list(_caches.values()):
            each.most_bytes *= factors.get(each.name, 1)
            each.most_entries = math.inf


class Cache(NamedCache, Generic[_Key, _Value]):
    """Values by key, the latest used, up to a weight. Any thread may use it.

    `subject` names the thing that a key is a state of; only the state that was put last is kept. `let_go` is told of
    each value that is forgotten, so that what other caches keep about it goes with it."""

    def __init__(
        self,
        name: str,
        most_bytes: int,
        weigh: Callable[[_Value], int],
        subject: Callable[[_Key], Hashable] | None = None,
        most_entries: float = math.inf,
        let_go: Callable[[_Key, _Value], None] | None = None,
    ) -> None:
        super().__init__(name, most_bytes)
        self.most_entries = most_entries
        self._let_go = let_go
        self._dropped: list[tuple[_Key, _Value]] = []
        self._weigh = weigh
        self._subject = subject
        self._states: dict[Hashable, _Key] = {}
        self._bytes = 0
        self._kept: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    @overload
    def get(self, key: _Key) -> _Value | None: ...
    @overload
    def get(self, key: _Key, default: _Default) -> _Value | _Default: ...
    def get(self, key: _Key, default: _Default | None = None) -> _Value | _Default | None:
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return default
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: _Key, value: _Value) -> _Value:
        """Keep a value in place of what the key had; the value itself, for who made it to go on with."""
        with self._lock:
            self._put(key, value, ENTRY_BYTES + self._weigh(value))
        self._tell()
        return value

    def _put(self, key: _Key, value: _Value, weight: int) -> None:
        self._drop(key)
        if weight > self.most_bytes:
            return
        self._drop_earlier_state(key)
        self._kept[key] = (value, weight)
        self._bytes += weight
        while self._bytes > self.most_bytes or len(self._kept) > self.most_entries:
            self._drop(next(iter(self._kept)))

    def _drop_earlier_state(self, key: _Key) -> None:
        if self._subject is None:
            return
        subject = self._subject(key)
        if subject in self._states:
            self._drop(self._states[subject])
        self._states[subject] = key

    def drop(self, key: _Key) -> None:
        with self._lock:
            self._drop(key)
        self._tell()

    def forget(self, is_dead: Callable[[_Key], bool]) -> None:
        """Drop every key that nobody will ask for again; takes as long as there are keys."""
        with self._lock:
            for key in [key for key in self._kept if is_dead(key)]:
                self._drop(key)
        self._tell()

    def values(self) -> list[_Value]:
        with self._lock:
            return [value for value, _ in self._kept.values()]

    def _tell(self) -> None:
        """Tell of what was dropped, with no lock held: whoever is told turns to other caches."""
        while self._dropped and self._let_go is not None:
            try:
                key, value = self._dropped.pop()
            except IndexError:  # another thread was faster
                return
            self._let_go(key, value)

    def _drop(self, key: _Key) -> None:
        before = self._kept.pop(key, None)
        if before is None:
            return
        self._bytes -= before[1]
        if self._let_go is not None:
            self._dropped.append((key, before[0]))
        if self._subject is not None:
            self._states.pop(self._subject(key), None)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._states.clear()
            self._bytes = 0

    def state(self) -> CacheState:
        with self._lock:
            return CacheState(self.name, len(self._kept), self._bytes, self.most_bytes)


class Memo(NamedCache, dict[_Key, _Value]):
    """Answers by their question, which is text or a tuple with texts in it: `memo[question]` works out what is missing.

    The answer to a question that is longer than five hundred characters is not kept."""

    def __init__(self, name: str, most_bytes: int, answer: Callable[[_Key], _Value]) -> None:
        super().__init__(name, most_bytes)
        self._answer = answer
        self._bytes = 0
        self._lock = threading.Lock()

    def __missing__(self, question: _Key) -> _Value:
        answer = self._answer(question)
        length = _length(question)
        if length <= _LONGEST_TEXT:
            weight = _MEMO_BYTES + length + _length(answer)
            with self._lock:
                if self._bytes + weight > self.most_bytes:
                    self._forget()
                if question not in self:
                    self[question] = answer
                    self._bytes += weight
        return answer

    def clear(self) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        dict.clear(self)
        self._bytes = 0

    def state(self) -> CacheState:
        with self._lock:
            return CacheState(self.name, len(self), self._bytes, self.most_bytes)


def _length(value: object) -> int:
    """Bytes of a text or of the texts in a tuple, more or less."""
    if isinstance(value, str):
        return len(value)
    if not isinstance(value, tuple):
        return 0
    length = _LONGER * len(value)
    for each in value:  # a generator takes twice as long, and a listing asks some ten thousand times
        length += len(each) if isinstance(each, str) else _length(each) if each else 0
    return length


_LONGER = 50
"""Bytes of a text besides its characters."""
