"""Facts of git as values: commits (`log`), the author of each line (`blame`), differences (`diff`)."""

from codecairn.history.blame import blame
from codecairn.history.diff import diff
from codecairn.history.log import log
from codecairn.history.pages import blame_page, commit_page, diff_page

__all__ = ["blame", "blame_page", "commit_page", "diff", "diff_page", "log"]
