"""Settings and variables under which a git runs no program that a repository names (git.py)."""

from __future__ import annotations

import os

SHORT_DIGITS = 9
"""Digits of an abbreviated commit, the same in every clone: git's own number hangs on how many objects one has. Among a
million commits one in 70,000 has a namesake."""
NEUTRAL = {
    "core.abbrev": str(SHORT_DIGITS),
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.quotePath": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": os.devnull,
    "blame.ignoreRevsFile": "",
    "blame.coloring": "none",
    "color.ui": "false",
    "credential.helper": "",
    "diff.autoRefreshIndex": "true",
    "diff.external": "",
    "diff.ignoreSubmodules": "dirty",
    "diff.orderFile": os.devnull,
    "diff.submodule": "short",
    "diff.suppressBlankEmpty": "false",
    "gc.auto": "0",
    "i18n.logOutputEncoding": "UTF-8",
    "log.follow": "false",
    "log.mailmap": "true",
    "log.showRoot": "true",
    "mailmap.file": os.devnull,
    "log.showSignature": "false",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}

QUIET = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_ASKPASS": "",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "LANGUAGE": "",
    "LC_ALL": "C",
    "SSH_ASKPASS": "",
}
