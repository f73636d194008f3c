"""cairn outline"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from codecairn.cli.show import paint, show
from codecairn.cli.tool_call import bring_up, call_tool, project_around, tool_options
from codecairn.reading import PrintContext
from codecairn.reading.outline import file_lines, print_outline

_LARGEST_FILE = 1 << 20


@click.command(
    help="Print the symbols of files, nested as they are in them, or of folders, each file by its top level: kind, "
    "name, lines, signature. From the index where there is one; a folder is indexed if need be."
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@tool_options("get_file_outline", {"limit": "-n --limit"}, limit=500)
def command(paths: tuple[Path, ...], root: Path | None, structured: bool, **asked: Any) -> None:
    are_shown = [_show_outline(path, root, asked, structured=structured) for path in paths]
    sys.exit(0 if all(are_shown) else 1)


def _show_outline(path: Path, root: Path | None, asked: dict[str, Any], *, structured: bool) -> bool:
    project = project_around(root or (path if path.is_dir() else path.parent))
    can_parse = not structured and not path.is_dir() and asked["ref"] is None
    if can_parse and not call_tool("get_status", {"path": str(project)})["indexed"]:
        return _show_parsed(path)
    bring_up(str(project), asked["ref"])
    inside = path.resolve().relative_to(project).as_posix()
    try:
        answer = call_tool("get_file_outline", {"workspace": str(project), "path": inside, **asked})
    except click.ClickException:
        if not can_parse:
            raise
        return _show_parsed(path)
    show(print_outline, answer, structured=structured)
    return True


def _show_parsed(path: Path) -> bool:
    """Show the outline of a file that no index knows, from the file itself."""
    from codecairn.parse.extract import extract
    from codecairn.parse.language import language_of
    from codecairn.tools.outline import nest_symbols

    source = path.read_bytes() if path.stat().st_size <= _LARGEST_FILE else b""
    language = language_of(path.name, source)
    if language is None or not source:
        click.echo(f"{path}: not in a language that is known, empty, or over 1 MB", err=True)
        return False
    facts = extract(language, source)
    symbols = msgspec.to_builtins(nest_symbols(facts.symbols))
    about = {"path": str(path), "language": language.data.name, "lines": facts.lines, "symbols": symbols}
    click.echo("\n".join(file_lines(about, PrintContext(paint=paint))))
    if facts.error_nodes:
        click.echo(f"{facts.error_nodes} stretches could not be read by the grammar", err=True)
    return True
