"""cairn outline"""

from __future__ import annotations

import sys
from pathlib import Path

import click
import msgspec

from codecairn.cli.index import bring_up, called
from codecairn.cli.search import project_around
from codecairn.cli.show import paint, show
from codecairn.reading import Reading
from codecairn.reading.outline import outlined_file, print_outline

_LARGEST_FILE = 1 << 20


@click.command(
    help="Print the symbols of files, nested as they are in them, or of folders, each file by its top level: kind, "
    "name, lines, signature. From the index where there is one; a folder is indexed if need be."
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("-n", "limit", default=500, show_default=True, type=click.IntRange(1, 2000), help="Most symbols of each.")
@click.option("--json", "structured", is_flag=True, help="Print what get_file_outline answers.")
def command(paths: tuple[Path, ...], limit: int, structured: bool) -> None:
    failed = [path for path in paths if not _outlined(path, limit, structured=structured)]
    sys.exit(1 if failed else 0)


def _outlined(path: Path, limit: int, *, structured: bool) -> bool:
    project = project_around(path if path.is_dir() else path.parent)
    status = called("get_status", {"path": str(project)})
    if not status["indexed"] and not path.is_dir() and not structured:
        return _read(path)
    if status["metadata"]["freshness_status"] != "fresh":
        bring_up(str(project), None)
    inside = path.resolve().relative_to(project).as_posix()
    try:
        answer = called("get_file_outline", {"workspace": str(project), "path": inside, "limit": limit})
    except click.ClickException:
        if structured or path.is_dir():
            raise
        return _read(path)
    show(print_outline, answer, structured=structured)
    return True


def _read(path: Path) -> bool:
    """The outline of a file that no index knows, from the file itself."""
    from codecairn.parse.language import language_of
    from codecairn.parse.tags import extract
    from codecairn.tools.outline import nested_symbols

    source = path.read_bytes() if path.stat().st_size <= _LARGEST_FILE else b""
    language = language_of(path.name, source)
    if language is None or not source:
        click.echo(f"{path}: not in a language that is known, empty, or over 1 MB", err=True)
        return False
    facts = extract(language, source)
    symbols = msgspec.to_builtins(nested_symbols(facts.symbols))
    about = {"path": str(path), "language": language.data.name, "lines": facts.lines, "symbols": symbols}
    click.echo("\n".join(outlined_file(about, Reading(paint=paint))))
    if facts.error_nodes:
        click.echo(f"{facts.error_nodes} stretches could not be read by the grammar", err=True)
    return True
