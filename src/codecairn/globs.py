"""Path patterns, as ignore files and shells write them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from codecairn.cache import Cache
from codecairn.errors import InvalidInput
from codecairn.paths import has_control, printable

LONGEST_GLOB = 500
_GLOB_MEMORY = 1 << 20
"""Bytes that RE2 may take for one: ten times what the longest needs."""
_globs: Cache[str, Any] = Cache("search.globs", 8 * (_GLOB_MEMORY + 1_000), lambda _: _GLOB_MEMORY)


def glob(pattern: str, param: str = "filters.file_pattern") -> Any:
    """A path pattern: `*` and `?` stay within a folder, `**` crosses folders, `[…]` is one of, `{a,b}` either.

    A pattern without a slash is about names in any folder, as in ignore files. Matched in linear time, so that no
    pattern keeps the server busy."""
    if not pattern.strip() or has_control(pattern) or len(pattern) > LONGEST_GLOB:
        raise InvalidInput(f"Not a usable glob: {printable(pattern)}", param=param, reason="malformed")
    anchored = pattern.removeprefix("./").lstrip("/")
    if anchored.endswith("/"):
        anchored += "**"
    if "/" not in anchored:
        anchored = f"**/{anchored}"
    found = _globs.get(anchored)
    return found if found is not None else _globs.put(anchored, compile_glob(anchored, param))


def path_matcher(pattern: str, param: str) -> Callable[[str], bool]:
    """The same for who asks about thousands of paths: a tenth of the time each."""
    import re2  # noqa: PLC0415 - as below

    only = re2.Set.FullMatchSet(_options())
    only.Add(glob(pattern, param).pattern)
    only.Compile()
    return lambda path: bool(only.Match(path))


def _options() -> Any:
    import re2  # noqa: PLC0415 - 15 ms, and few searches have a glob

    options = re2.Options()
    options.log_errors, options.dot_nl, options.max_mem = False, True, _GLOB_MEMORY
    return options


_GLOB_PART = re.compile(r"\*\*/|\*\*|\*|\?|\[[!^]?\]?[^\]]*\]|[{},]|.", re.DOTALL)
_MEANING = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def compile_glob(pattern: str, param: str) -> Any:
    """An expression for whole paths from the root; the pattern is taken as it stands, not as one about names."""
    import re2  # noqa: PLC0415 - as above

    try:
        return re2.compile(_translate(pattern), _options())
    except (re2.error, ValueError) as error:
        said = error.args[0] if error.args else error
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise InvalidInput(f"Malformed glob: {printable(pattern)}", param=param, reason=printable(reason)) from error


def _translate(pattern: str) -> str:
    out, depth = [], 0
    for part in _GLOB_PART.findall(pattern):
        if part == "{":
            depth += 1
        out.append(_expression_of(part, within=depth > 0))
        if part == "}" and depth:
            depth -= 1
    if depth:
        raise ValueError("a { without its }")
    return "".join(out)


def _expression_of(part: str, *, within: bool) -> str:
    if part in _MEANING:
        return _MEANING[part]
    if part == "[":
        raise ValueError("a [ without its ]")
    if part.startswith("[") and len(part) > 1:
        inside = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return f"[^/{inside[1:]}]" if inside[:1] in ("!", "^") else f"[{inside}]"
    if within and part in "{,}":
        return {"{": "(?:", ",": "|", "}": ")"}[part]
    return re.escape(part)


def is_glob(wanted: str) -> bool:
    return any(each in wanted for each in "*?[{")
