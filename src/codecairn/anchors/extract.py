"""Anchors in a text of rules: what it names that can be looked up.

    path      `src/app.py`, `docs/`, `tests/*.py` (by its folder), src/app.py in a shell block, a row of a drawn tree
    link      [text](docs/setup.md), [text]: docs/setup.md, and @docs/setup.md where the tool imports it
    symbol    `parse_config()`, `Config.load`, `MAX_SIZE`: a code span that is written as names of code are
    command   `make test`, `npm run build`, `cairn search`: in a code span or a shell block

Placeholders (`<name>`, `$DIR`, `path/to/file`), addresses and options are no anchors. Each line is looked at once, and
what stands in one is found in time linear in its length; a line over LONGEST_LINE is left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple
from urllib.parse import unquote

from codecairn.parse.formats import format_of
from codecairn.parse.language import language_of

AnchorKind = Literal["path", "link", "symbol", "command"]
LONGEST_LINE = 20_000
_LONGEST_ANCHOR = 300
_FENCE = re.compile(r"[ \t>*-]{0,12}(`{3,}|~{3,})[ \t]*([\w+-]*)(.*)")
_TICKS = re.compile(r"`+")
_LINK = re.compile(r"\]\(<([^<>]{1,300})>\)|\]\(([^()\s<>]{1,300})(?:[ \t]+[\"'(][^)\"']{0,200}[\"')])?\)")
_REFERENCE = re.compile(r" {0,3}\[[^\]]{1,200}\]:[ \t]+<?([^\s<>]{1,300})>?")
_IMPORT = re.compile(r"(?:^|[ \t])@((?:\.{1,2}/)?[\w][\w./-]{0,200}\.[A-Za-z]{1,5})(?=$|[\s,.;)])")
_SHELL = re.compile(r"|[a-z]{0,2}sh|shell\w*|console|terminal|te?xt|plaintext", re.I)
"""The tags of fences around lines that are typed, or drawn."""
_TREE = re.compile(r"^([\s│|]*)(?:├|└|\+|`|\|)[─-]{1,3}[ ]?(\S[^#←]*)")
_PLACEHOLDER = re.compile(
    r"[<>{}$%~|=\"'\\,;^!…&]|\.\.\.|://|\bpath/to\b|\byour[-_]|\bfoo\b|\bbar\b|\bexample\b|XXX|\bxxx\b", re.I
)
_LINE_NUMBER = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_COMPONENT = re.compile(r"[\w.@+()\[\] -]+")
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*(\(\))?")
_IS_CODE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\(\)$|::|[a-z]\.[A-Za-z_]|[A-Z]\w+\.\w|[A-Z][a-z]+[A-Z]")
_SCRIPT = re.compile(
    r"(?:npm|pnpm|yarn|bun)(?:[ \t]+(?:-C|--prefix|--filter|-F|--dir|--cwd)[ \t=]\S+)*"
    r"[ \t]+(?:run|run-script)[ \t]+([\w@][\w:.@/-]*)"
)
_MAKE = re.compile(r"(?:g?make)((?:[ \t]+(?:-[a-zA-Z]\S*|[A-Z_]+=\S*))*)((?:[ \t]+[a-zA-Z][\w.-]*)+)")
_CAIRN = re.compile(r"cairn[ \t]+([a-z][a-z-]*)")
_ABSENCE = re.compile(
    r"\b(?:removed?|removing|deleted?|deprecated|no longer|formerly|previously|renamed?|replac\w+|obsolete|gone|legacy|"
    r"used to|moved|migrat\w+|retired|does ?n[o']t exist|not exist|historical\w*|old|gitignored|generated|"
    r"auto-generated|creates?d?|creating|never|don't|do not|avoid|instead of|optional\w*|untracked|"
    r"if (?:it |they )?(?:exists?|present)|local(?:ly)?[- ]only|not (?:committed|tracked|in)|outside|other repo\w*|"
    r"upstream|output\w*|writes?|written|produced?s?|e\.g|for example|hypothetical\w*)\b",
    re.I,
)
"""Words of a line that speaks of something which need not be there."""


class Anchor(NamedTuple):
    kind: AnchorKind
    text: str
    line: int
    """From 1."""
    is_negated: bool = False
    """Whether its line says that it is gone, to be made, or elsewhere: then its absence is no news."""


class AnchorText(NamedTuple):
    anchors: list[Anchor]
    long_lines: int


def read_anchors(text: str, *, imports: bool = False) -> AnchorText:
    """The anchors of a text, each once a line; `imports` reads `@path` as one."""
    reader = _Reader(imports=imports)
    found: dict[Anchor, None] = {}
    long_lines = 0
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if len(line) > LONGEST_LINE:
            long_lines += 1
            continue
        is_negated = _ABSENCE.search(reader.remark(line)) is not None
        for kind, each in reader.line(line):
            if len(each) <= _LONGEST_ANCHOR:
                found[Anchor(kind, each, number, is_negated)] = None
    return AnchorText(list(found), long_lines)


Found = Iterator[tuple[AnchorKind, str]]


class _Reader:
    """Goes through the lines of a text; knows the fence that is open and the tree that is drawn in it."""

    def __init__(self, *, imports: bool) -> None:
        self._imports = imports
        self._fence = ""
        self._is_shell = False
        self._tree: list[tuple[int, str]] = []

    def remark(self, line: str) -> str:
        """The words of a line beside the anchors: its prose, or in a fence the comment."""
        return line.partition("#")[2] or line.partition("←")[2] if self._fence else _NAMED.sub(" ", line)

    def line(self, line: str) -> Found:
        fence = _FENCE.match(line)
        if fence is not None and (not self._fence or fence[1].startswith(self._fence)):
            self._open_or_close(fence)
        elif self._fence:
            yield from self._in_fence(line)
        else:
            yield from _links(line)
            yield from _spans(line)
            if self._imports:
                yield from (("link", each) for each in _IMPORT.findall(_TICKED.sub("", line)))

    def _open_or_close(self, fence: re.Match[str]) -> None:
        self._tree = []
        self._is_shell = not self._fence and _SHELL.fullmatch(fence[2]) is not None
        self._fence = "" if self._fence else fence[1]

    def _in_fence(self, line: str) -> Found:
        row = _TREE.match(line)
        if row is not None:
            yield from self._tree_row(len(row[1]), row[2].split("  ")[0].strip())
            return
        bare = line.strip()
        if re.fullmatch(r"[\w./@-]+/", bare):
            self._tree = [(-1, bare.strip("/").removeprefix("./"))]
        elif self._is_shell:
            yield from _shell_line(bare)

    def _tree_row(self, indent: int, name: str) -> Found:
        """A row of a drawn tree stands for the path that the rows above it lead to."""
        if not _is_path_text(name) or " " in name:
            return
        while self._tree and self._tree[-1][0] >= indent:
            self._tree.pop()
        self._tree.append((indent, name.strip("/")))
        path = "/".join(each for _, each in self._tree)
        yield "path", f"{path}/" if name.endswith("/") else path


_TICKED = re.compile(r"`[^`]*`")
_NAMED = re.compile(r"`[^`]*`|\]\([^()\s]*\)|\]:[ \t]+\S+")


def _links(line: str) -> Found:
    for angled, plain in _LINK.findall(line):
        if (target := _link_target(angled or plain)) is not None:
            yield "link", target
    if (reference := _REFERENCE.match(line)) and (target := _link_target(reference[1])) is not None:
        yield "link", target


def _link_target(target: str) -> str | None:
    """The file that a link leads to; None where it leads elsewhere."""
    bare = unquote(target.removeprefix("mdc:").partition("#")[0].partition("?")[0])
    if not bare or re.match(r"[A-Za-z][\w+.-]*:|//|#|~", bare) or _PLACEHOLDER.search(bare) or "*" in bare:
        return None
    if "\0" in bare or not (bare.endswith("/") or _has_file_ending(bare.rpartition("/")[2])):
        return None  # a page of a site, most likely
    return bare


def _spans(line: str) -> Found:
    for text in _code_spans(line):
        yield from _span(text.strip())


def _code_spans(line: str) -> Iterator[str]:
    """The texts between equal runs of backticks; each run looks its match up, so the time is that of the line."""
    runs = list(_TICKS.finditer(line))
    following: dict[int, int] = {}
    match_of: list[int | None] = [None] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = len(runs[at][0])
        match_of[at] = following.get(length)
        following[length] = at
    at = 0
    while at < len(runs):
        close = match_of[at]
        if close is None:
            at += 1
            continue
        yield line[runs[at].end() : runs[close].start()]
        at = close + 1


def _span(text: str) -> Found:
    commands = list(_commands(text))
    if commands:
        yield from commands
    elif " " in text:
        yield from (each for each in _shell_line(text) if "/" in each[1]) if _looks_run(text) else ()
    elif (path := path_text(text)) is not None:
        yield "path", path
    elif (name := symbol_text(text)) is not None:
        yield "symbol", name


def _looks_run(text: str) -> bool:
    return re.match(r"(?:\./|[a-z][\w.-]*[ \t]+)\S", text) is not None


def _shell_line(line: str) -> Found:
    bare = line.removeprefix("$ ").partition(" #")[0]
    if bare.startswith("#"):
        return
    yield from _commands(bare)
    for word in bare.split():
        path = path_text(word.strip("()[]")) if _RUN_PATH.search(word) and not word.startswith(_NO_PATHS) else None
        if path is not None:
            yield "path", path


_RUN_PATH = re.compile(r"/.*(?:\.\w{1,5}$|/$|\.\w+::)|/$")
_NO_PATHS = ("-", "/", "@", "http")


def _commands(text: str) -> Found:
    bare = text.removeprefix("$ ").strip()
    if _PLACEHOLDER.search(bare.partition(" && ")[0]):
        return
    if script := _SCRIPT.match(bare):
        name = script[1].rstrip(".:")
        if "/" not in name and not re.search(r"\.\w{1,4}$", name):
            yield "command", f"npm run {name}"
    elif (make := _MAKE.fullmatch(bare)) and " -C" not in make[1] and " -f" not in make[1]:
        yield from (("command", f"make {each}") for each in make[2].split())
    elif verb := _CAIRN.match(bare):
        yield "command", f"cairn {verb[1]}"


def path_text(text: str) -> str | None:
    """The path that a word names; None where it is something else. A pattern stands for the folder it begins with."""
    bare = _LINE_NUMBER.sub("", text.strip().rstrip(":,.;")).partition("::")[0].removeprefix("./")
    if "*" in bare or "?" in bare:
        bare = re.split(r"[^/]*[*?]", bare, maxsplit=1)[0]
        if "/" not in bare.rstrip("/"):
            return None
    return bare if _is_path_text(bare) else None


def _is_path_text(bare: str) -> bool:
    if not bare or bare.startswith(("/", "-", "@", "#", "..")) or _PLACEHOLDER.search(bare) or "//" in bare:
        return False
    if bare.endswith("()") or not all(_COMPONENT.fullmatch(each) for each in bare.rstrip("/").split("/")):
        return False
    name = bare.rstrip("/").rpartition("/")[2]
    return "/" in bare or (re.fullmatch(r"[\w.@+-]+\.[a-z]{1,5}\d?", name) is not None and _has_file_ending(name))


def _has_file_ending(name: str) -> bool:
    return language_of(name) is not None or format_of(name) != "text" or name.endswith(".txt")


def symbol_text(text: str) -> str | None:
    """The name of code that a span is; None where it is a word, a value or an expression."""
    found = _NAME.fullmatch(text)
    if found is None or len(text) < 4 or not _IS_CODE.search(text) or _PLACEHOLDER.search(text):
        return None
    return text.removesuffix("()")
