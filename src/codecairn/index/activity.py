"""What an open index consists of: its stores, the run under way, and who keeps it up."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from codecairn.cancel import Cancel
from codecairn.errors import CairnError
from codecairn.index.batch import Report
from codecairn.index.run import Options
from codecairn.source.refs import Tip
from codecairn.store.index import IndexStore
from codecairn.store.lexical import Lexical


@dataclass(frozen=True)
class Opened:
    """The stores in use."""

    folder: Path
    store: IndexStore
    lexical: Lexical


@dataclass
class Activity:
    """The run under way."""

    options: Options
    explicit: bool
    cancel: Cancel
    is_whole: bool = True
    """Whether it is about the whole working tree, and not some paths that changed, or a ref."""
    ref: Tip | None = None
    done: int = 0
    total: int = 0
    said: str = ""
    report: Report | None = None
    failure: CairnError | None = None

    def __post_init__(self) -> None:
        self.ended = threading.Event()


class Keeping(Protocol):
    """Who keeps the index up with the files (keeper.py)."""

    @property
    def is_watching(self) -> bool: ...
    @property
    def is_behind(self) -> bool: ...
    @property
    def warnings(self) -> list[str]: ...
    def look_again(self) -> None: ...
    def mend(self) -> None: ...
    def close(self) -> None: ...
