"""cairn outline"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called
from codecairn.cli.search import project_around

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
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        return True
    _print(answer)
    return True


def _print(answer: dict[str, Any]) -> None:
    for each in answer["folders"]:
        click.echo(f"{click.style(each['path'] + '/', fg='cyan')}  {each['files']} files")
    for file in answer["files"]:
        _print_head(file["path"], file["language"], file["lines"])
        _print_symbols(file["symbols"], 0)
        if more := file.get("omitted_symbols"):
            click.echo(f"{'…':>11}  {more} more")
    for warning in answer["metadata"].get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)
    if answer["next_cursor"] is not None:
        click.echo(click.style(f"more of {answer['total_symbols']} symbols: -n", dim=True), err=True)


def _print_symbols(symbols: list[dict[str, Any]], depth: int) -> None:
    for each in symbols:
        lines = (each["line_start"], each["line_end"])
        _print_symbol(lines, depth, each["kind"], each["name"], each.get("signature", ""))
        _print_symbols(each.get("children", []), depth + 1)


def _print_head(path: object, language: str, lines: int) -> None:
    click.echo(click.style(f"{path}", bold=True) + f"  {language}, {lines} lines")


def _print_symbol(lines: tuple[int, int], depth: int, kind: str, name: str, signature: str) -> None:
    place = f"{lines[0]}-{lines[1]}"
    click.echo(f"{place:>11}  {'  ' * depth}{kind} {click.style(name, bold=True)}  {signature}".rstrip())


def _read(path: Path) -> bool:
    """The outline of a file that no index knows, from the file itself."""
    from codecairn.parse.language import language_of
    from codecairn.parse.tags import extract
    from codecairn.rank.explain import SHORT_KINDS

    source = path.read_bytes() if path.stat().st_size <= _LARGEST_FILE else b""
    language = language_of(path.name, source)
    if language is None or not source:
        click.echo(f"{path}: not in a language that is known, empty, or over 1 MB", err=True)
        return False
    facts = extract(language, source)
    _print_head(path, language.data.name, facts.lines)
    depths: list[int] = []
    for each in facts.symbols:
        depths.append(depths[each.parent] + 1 if each.parent >= 0 else 0)
        kind = SHORT_KINDS.get(each.kind, each.kind)
        _print_symbol((each.start_line, each.end_line), depths[-1], kind, each.name, each.signature)
    if facts.error_nodes:
        click.echo(f"{facts.error_nodes} stretches could not be read by the grammar", err=True)
    return True
