"""What a caller wants to see of what was found."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from codecairn.cache import Cache
from codecairn.errors import InvalidInput
from codecairn.nearness import nearest, suggestion
from codecairn.parse.formats import documents, other_names
from codecairn.parse.language import languages
from codecairn.paths import has_control, module_name, printable
from codecairn.store.version import SymbolRow
from codecairn.store.view import FileRow

_LONGEST_GLOB = 500
_GLOB_MEMORY = 1 << 20
"""Bytes that RE2 may take for one: ten times what the longest needs."""
_globs: Cache[str, Any] = Cache("search.globs", 8 * (_GLOB_MEMORY + 1_000), lambda _: _GLOB_MEMORY)


@dataclass(frozen=True)
class Filters:
    kinds: frozenset[str] = frozenset()
    patterns: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    file_pattern: str = ""
    path_filter: str = ""
    language: str = ""
    min_relevance: float = 0.0
    module: str = ""
    """The folder a file lies in, by its last name; of one at the root the project's."""
    project: str = ""

    @property
    def asks_of_symbols(self) -> bool:
        return bool(self.kinds or self.patterns or self.packages)

    def keep(self, file: FileRow, symbol: SymbolRow) -> bool:
        return self.keep_file(file) and self.keep_symbol(file, symbol)

    def keep_file(self, file: FileRow) -> bool:
        if self.language and file.language != self.language:
            return False
        if self.file_pattern and not glob(self.file_pattern).fullmatch(file.path):
            return False
        if self.module and module_name(file.path, self.project).casefold() != self.module.casefold():
            return False
        return not self.path_filter or _is_under(file.path, self.path_filter)

    def keep_symbol(self, file: FileRow, symbol: SymbolRow | None) -> bool:
        if self.kinds and (symbol is None or symbol.kind not in self.kinds):
            return False
        if self.patterns and (symbol is None or self.patterns.isdisjoint(symbol.tags.split(","))):
            return False
        return not self.packages or not self.packages.isdisjoint({package_of(file), module_of(file), file.package})


def module_of(file: FileRow) -> str:
    """The module a file is, as its language writes it; its folder where it has no language."""
    language = languages().get(file.language)
    if language is None:
        return str(PurePosixPath(file.path).parent) if "/" in file.path else ""
    return language.module_path(file.path, file.package)


def package_of(file: FileRow) -> str:
    """The package a file names in itself, else the last part of its module."""
    if file.package:
        return file.package
    return re.split(r"[./:\\]+", module_of(file))[-1]


def qualified_name(file: FileRow, symbol: SymbolRow) -> str:
    """The symbol's name with its module before it, joined as the language joins them."""
    module = module_of(file)
    language = languages().get(file.language)
    return f"{module}{language.data.separator if language else '.'}{symbol.path}" if module else symbol.path


def checked_language(name: str) -> str:
    known = {*languages(), *documents()}
    wanted = name.strip().lower()
    if wanted not in known:
        near = [other_names()[wanted]] if wanted in other_names() else nearest(wanted, known)
        raise InvalidInput(
            f"Unknown language: {printable(name)}", param="language", reason=f"one of {', '.join(sorted(known))}",
            near=near, remedy=suggestion(near) or None,
        )  # fmt: skip
    return wanted


def checked_path(wanted: str) -> str:
    """A `path_filter`: a folder or a file, or a glob, which must be one."""
    if _is_glob(wanted):
        glob(wanted, "path_filter")
    return wanted


def glob(pattern: str, param: str = "filters.file_pattern") -> Any:
    """A path pattern: `*` and `?` stay within a folder, `**` crosses folders, `[…]` is one of, `{a,b}` either.

    A pattern without a slash is about names in any folder, as in ignore files. Matched in linear time, so that no
    pattern keeps the server busy."""
    if not pattern.strip() or has_control(pattern) or len(pattern) > _LONGEST_GLOB:
        raise InvalidInput(f"Not a usable glob: {printable(pattern)}", param=param, reason="malformed")
    anchored = pattern.removeprefix("./").lstrip("/")
    if anchored.endswith("/"):
        anchored += "**"
    if "/" not in anchored:
        anchored = f"**/{anchored}"
    found = _globs.get(anchored)
    return found if found is not None else _globs.put(anchored, _compiled(anchored, param))


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


def _compiled(pattern: str, param: str) -> Any:
    import re2  # noqa: PLC0415 - as above

    try:
        return re2.compile(_translated(pattern), _options())
    except (re2.error, ValueError) as error:
        said = error.args[0] if error.args else error
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise InvalidInput(f"Malformed glob: {printable(pattern)}", param=param, reason=printable(reason)) from error


def _translated(pattern: str) -> str:
    out, depth = [], 0
    for part in _GLOB_PART.findall(pattern):
        if part == "{":
            depth += 1
        out.append(_meant(part, within=depth > 0))
        if part == "}" and depth:
            depth -= 1
    if depth:
        raise ValueError("a { without its }")
    return "".join(out)


def _meant(part: str, *, within: bool) -> str:
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


def _is_glob(wanted: str) -> bool:
    return any(each in wanted for each in "*?[{")


def _is_under(path: str, wanted: str) -> bool:
    if _is_glob(wanted):
        return glob(wanted).fullmatch(path) is not None
    folder = wanted.removeprefix("./").strip("/")
    return not folder or path == folder or path.startswith(f"{folder}/")
