"""Work that is done once, before the first run of an index, by whoever comes first; a server begins it at its start."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Preparation:
    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._lock = threading.RLock()

    def begin(self) -> None:
        """Do the work beside whatever else is to be done."""
        threading.Thread(target=self.finish, name="cairn-prepare", daemon=True).start()

    def finish(self) -> None:
        """Returns when the work is done, here or elsewhere."""
        with self._lock:
            work, self._work = self._work, None
            if work is not None:
                work()
