"""The run under way in an index that a process has open."""

from __future__ import annotations

import threading
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
    is_whole: bool = True
    """Whether it is about the whole working tree, and not some paths that changed, or a ref."""
    ref: Tip | None = None
    done: int = 0
    total: int = 0
    said: str = ""
    report: Report | None = None
    failure: CairnError | None = None
    ended: threading.Event = field(default_factory=threading.Event)
