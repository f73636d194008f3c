"""cairn index"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from codecairn import allocator
from codecairn.cli.show import show_json, show_warnings
from codecairn.cli.tool_call import INTERRUPTED, call_tool, progress_bar, tool_options
from codecairn.text import number_of

_FLAGS = {"force_reindex": "--force", "include_vendor": "--vendor"}


@click.command(help="Index a project, or bring its index up to date. Only files that changed are read.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--no-tests", is_flag=True, help="Leave test files out.")
@tool_options("index_codebase", _FLAGS)
def command(path: Path | None, root: Path | None, no_tests: bool, structured: bool, **asked: Any) -> None:
    allocator.spare()
    place = str((path or root or Path()).resolve())
    try:
        with progress_bar() as report:
            answer = call_tool("index_codebase", {"path": place, "include_tests": not no_tests, **asked}, report)
    except KeyboardInterrupt:
        click.echo("Interrupted. What was read so far is kept: cairn index reads the rest.", err=True)
        sys.exit(INTERRUPTED)
    if structured:
        show_json(answer)
        return
    statistics = answer["statistics"]
    click.echo(answer["message"])
    click.echo(
        f"{number_of(statistics['symbols_extracted'], 'symbol')}, {number_of(statistics['chunks_created'], 'chunk')}, "
        f"{number_of(statistics['files_removed'], 'file')} removed, {statistics['index_size_mb']:.1f} MB"
    )
    if answer["skipped"]:
        click.echo("left out, by reason (files, or folders where it says so):")
    for each in answer["skipped"]:
        click.echo(f"  {each['count']:>6}  {each['reason']}")
    for each in answer["errors"]:
        click.echo(f"  {each['file']}: {each['error']}", err=True)
    show_warnings(answer["metadata"])
