"""cairn outline"""

from __future__ import annotations

import sys
from pathlib import Path

import click

_LARGEST_FILE = 1 << 20


@click.command(help="Print the symbols of source files: kind, name, lines, signature; nested as they are in the file.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(paths: tuple[Path, ...]) -> None:
    unknown = [path for path in paths if not _outlined(path)]
    for path in unknown:
        click.echo(f"{path}: not in a language that is known, or over 1 MB", err=True)
    sys.exit(1 if unknown else 0)


def _outlined(path: Path) -> bool:
    from codecairn.parse.language import language_of
    from codecairn.parse.tags import extract

    if path.stat().st_size > _LARGEST_FILE:
        return False
    source = path.read_bytes()
    language = language_of(path.name, source)
    if language is None:
        return False
    facts = extract(language, source)
    click.echo(click.style(f"{path}", bold=True) + f"  {language.data.name}, {facts.lines} lines")
    depths: list[int] = []
    for symbol in facts.symbols:
        depths.append(depths[symbol.parent] + 1 if symbol.parent >= 0 else 0)
        place = f"{symbol.start_line}-{symbol.end_line}"
        click.echo(
            f"{place:>11}  {'  ' * depths[-1]}{symbol.kind} {click.style(symbol.name, bold=True)}  {symbol.signature}"
        )
    if facts.error_nodes:
        click.echo(f"{facts.error_nodes} stretches could not be read by the grammar", err=True)
    return True
