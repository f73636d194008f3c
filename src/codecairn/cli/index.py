"""cairn index"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codecairn import config, logs

if TYPE_CHECKING:
    from codecairn.project import Projects
    from codecairn.tools import Registry

_KEPT = "codecairn.opened"
Report = Callable[[float, float | None, str | None], None]


@click.command(help="Index a project, or bring its index up to date. Only files that changed are read.")
@click.argument("path", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Build the index anew, unchanged files too.")
@click.option("--no-tests", is_flag=True, help="Leave test files out.")
@click.option("--vendor", is_flag=True, help="Index vendored code too.")
@click.option("--ref", metavar="REF", help="Index a branch, tag or commit, without a checkout.")
@click.option("--json", "structured", is_flag=True, help="Print what index_codebase answers.")
def command(path: Path, force: bool, no_tests: bool, vendor: bool, ref: str | None, structured: bool) -> None:
    arguments = {
        "path": str(path.resolve()), "force_reindex": force, "include_tests": not no_tests, "include_vendor": vendor,
        "ref": ref,
    }  # fmt: skip
    with progress_bar(hidden=structured or not sys.stderr.isatty()) as report:
        value = called("index_codebase", arguments, report)
    if structured:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    statistics = value["statistics"]
    click.echo(value["message"])
    click.echo(
        f"{statistics['symbols_extracted']} symbols, {statistics['chunks_created']} chunks, "
        f"{statistics['files_removed']} files removed, {statistics['index_size_mb']:.1f} MB"
    )
    for each in value["skipped"]:
        click.echo(f"  {each['count']:>6}  {each['reason']}")
    for each in value["errors"]:
        click.echo(f"  {each['file']}: {each['error']}", err=True)
    for warning in value["metadata"].get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)


def called(tool: str, arguments: dict[str, Any], report: Report | None = None) -> dict[str, Any]:
    """A tool's value; its error ends the command."""
    from codecairn import tools
    from codecairn.connection import Connection

    logs.configure("warning", "text")
    registry, projects = _opened()
    call = tools.Call(projects, Connection("cli"), registry, "cli", report=report)
    reply = registry.call(registry.tools[tool], call, arguments)
    if reply.error is not None:
        raise click.ClickException(f"{reply.error.message}. {reply.error.remedy}")
    return reply.value


def _opened() -> tuple[Registry, Projects]:
    """Opened once a command, so that what one call has learnt of a project serves the next."""
    from codecairn import tools
    from codecairn.project import Projects

    kept = click.get_current_context().meta
    if _KEPT not in kept:
        kept[_KEPT] = (tools.standard(), Projects(config.load()))
    opened: tuple[Registry, Projects] = kept[_KEPT]
    return opened


@contextmanager
def progress_bar(*, hidden: bool) -> Iterator[Report | None]:
    if hidden:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, said: bar.update(task, completed=done, total=total, description=said or "")
