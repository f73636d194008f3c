"""The conditions a caller sets for what is found."""

from __future__ import annotations

from msgspec import Struct

from codecairn.errors import InvalidInput
from codecairn.globs import glob, is_glob
from codecairn.names.qualified import module_of, package_of
from codecairn.parse.formats import documents, other_names
from codecairn.parse.language import languages
from codecairn.paths import module_name, printable
from codecairn.store.file_version import SymbolRow
from codecairn.store.view import FileRow
from codecairn.suggestions import nearest, suggestion


class Filters(Struct, frozen=True):
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


def check_language(name: str) -> str:
    known = {*languages(), *documents()}
    wanted = name.strip().lower()
    if wanted not in known:
        near = [other_names()[wanted]] if wanted in other_names() else nearest(wanted, known)
        raise InvalidInput(
            f"Unknown language: {printable(name)}", param="language", reason=f"one of {', '.join(sorted(known))}",
            near=near, remedy=suggestion(near) or None,
        )  # fmt: skip
    return wanted


def check_path(wanted: str) -> str:
    """A `path_filter`: a folder or a file, or a glob, which must be one."""
    if is_glob(wanted):
        glob(wanted, "path_filter")
    return wanted


def _is_under(path: str, wanted: str) -> bool:
    if is_glob(wanted):
        return glob(wanted).fullmatch(path) is not None
    folder = wanted.removeprefix("./").strip("/")
    return not folder or path == folder or path.startswith(f"{folder}/")
