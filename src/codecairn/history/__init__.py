"""What git knows, as values: what changed and when (`log`), who wrote each line (`blame`), what differs (`diff`)."""

from codecairn.history.blame import blame
from codecairn.history.diff import diff
from codecairn.history.log import log

__all__ = ["blame", "diff", "log"]
