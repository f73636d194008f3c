"""What git knows, as values: what changed and when (`log`), who wrote each line (`blame`), what differs (`diff`)."""

from codecairn.history.blame import blame
from codecairn.history.diff import diff
from codecairn.history.log import log
from codecairn.history.page import blame_page, commit_page, diff_page

__all__ = ["blame", "blame_page", "commit_page", "diff", "diff_page", "log"]
