"""Draws the README's terminal: real commands, run here, and their real output as an SVG.

    python docs/pictures/terminal.py REPOSITORY [--columns 100] > docs/pictures/terminal.svg
    python docs/pictures/terminal.py REPOSITORY --graph SYMBOL > docs/pictures/graph.svg

REPOSITORY is indexed in a data directory of its own, which is removed afterwards.
"""

from __future__ import annotations

import argparse
import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

COMMANDS = (
    "cairn search 'where is a request matched to a view' -n 3",
    "cairn refs Flask.make_response",
    "cairn diff HEAD~30",
)
_MOST_LINES = 13
_COLOURS = [(176, 58, 46), (56, 118, 29), (148, 104, 0), (38, 87, 175), (125, 60, 152), (14, 116, 128)]
_THEME = TerminalTheme(
    (250, 250, 248), (40, 44, 52),
    [(40, 44, 52), *_COLOURS, (90, 94, 102)],
    [(110, 114, 122), *_COLOURS, (20, 22, 26)],
)  # fmt: skip
"""Dark on light: readable on a page of either colour."""
_TEXT = re.compile(r'(<text class="[^"]*" x=")([^"]*)(" y="[^"]*" textLength=")([^"]*)("[^>]*>)([^<]*</text>)')
_LETTER = 12.2
"""The width that rich gives a letter."""
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def output_of(command: str, root: Path, home: Path, columns: int) -> str:
    """The output on a terminal of so many columns: a pipe would get no colours."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "CAIRN_HOME": str(home), "COLUMNS": str(columns), "TERM": "xterm-256color"}
    words = [sys.executable, "-m", "codecairn", *shlex.split(command)[1:]]
    with subprocess.Popen(words, cwd=root, env=environment, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{command}: status {process.returncode}")
    return shown.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # on Linux, the end
        return b""


def picture(root: Path, home: Path, columns: int) -> str:
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True)
    for number, command in enumerate(COMMANDS):
        if number:
            console.print()
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        lines = output_of(command, root, home, columns).rstrip("\n").split("\n")
        for line in lines[:_MOST_LINES]:
            console.print(Text.from_ansi(line), no_wrap=True, crop=True)
        if len(lines) > _MOST_LINES:
            console.print(Text("…", "dim"))
    return _TEXT.sub(_tighten, _FONT.sub("", console.export_svg(title="", theme=_THEME)))


def _tighten(text: re.Match[str]) -> str:
    """A text that begins where its first letter stands: some viewers drop the spaces before it."""
    head, x, middle, length, tail, content = text.groups()
    bare = content.removesuffix("</text>").strip()
    letters = re.sub(r"^(?:&#160;)+", "", bare)
    shift = _LETTER * ((len(bare) - len(letters)) // len("&#160;"))
    shown = re.sub(r"(?:&#160;)+$", "", letters)
    cut = _LETTER * ((len(letters) - len(shown)) // len("&#160;"))
    if not shown:
        return ""
    return f"{head}{float(x) + shift:g}{middle}{float(length) - shift - cut:g}{tail}{shown}</text>"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--graph", metavar="SYMBOL")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        output_of("cairn index", given.repository, Path(home), given.columns)
        if given.graph:
            drawn = Path(home) / "graph.svg"
            output_of(f"cairn graph {given.graph} --svg {drawn}", given.repository, Path(home), given.columns)
            sys.stdout.write(drawn.read_text(encoding="utf-8"))
        else:
            sys.stdout.write(picture(given.repository, Path(home), given.columns))


if __name__ == "__main__":
    main()
