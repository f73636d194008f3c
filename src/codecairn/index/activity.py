"""The run under way in an index that a process has open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.run import Options, Report
from codecairn.source.refs import Tip


@dataclass
class Activity:
    options: Options
    explicit: bool
    cancel: Cancel
    paths: set[str] | None = None
    """The paths of the working tree that it is about; None for all of it, or for a ref."""
    ref: Tip | None = None
    force: bool = False
    """Whether every file is read anew."""
    done: int = 0
    total: int = 0
    said: str = ""
    report: Report | None = None
    failure: CairnError | None = None
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def is_whole(self) -> bool:
        """Whether it is about the whole working tree, and not some paths that changed, or a ref."""
        return self.paths is None and self.ref is None

    def note_progress(self, done: int, total: int, said: str) -> None:
        self.done, self.total, self.said = done, total, said


class Claims:
    """Explicit calls that wait for their turn. The server's own runs give way to them: a storm of edits has no end."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        return self._count > 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        with self._lock:
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1
