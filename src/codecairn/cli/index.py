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
from codecairn.text import number_of

if TYPE_CHECKING:
    from codecairn.errors import CairnError
    from codecairn.project import Projects
    from codecairn.tools import Registry

_KEPT = "codecairn.opened"
INTERRUPTED = 130
"""The status of a command that Ctrl-C ended, as shells reckon it."""
Report = Callable[[float, float | None, str | None], None]


root_option = click.option(
    "--root", "--workspace", "root", default=".", metavar="PATH", type=click.Path(path_type=Path), help="The project."
)


@click.command(help="Index a project, or bring its index up to date. Only files that changed are read.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@root_option
@click.option("--force", is_flag=True, help="Build the index anew, unchanged files too.")
@click.option("--no-tests", is_flag=True, help="Leave test files out.")
@click.option("--vendor", is_flag=True, help="Index vendored code too.")
@click.option("--ref", metavar="REF", help="Index a branch, tag or commit, without a checkout.")
@click.option("--json", "structured", is_flag=True, help="Print what index_codebase answers.")
def command(
    path: Path | None, root: Path, force: bool, no_tests: bool, vendor: bool, ref: str | None, structured: bool
) -> None:
    arguments = {
        "path": str((path or root).resolve()), "force_reindex": force, "include_tests": not no_tests,
        "include_vendor": vendor, "ref": ref,
    }  # fmt: skip
    try:
        with progress_bar() as report:
            value = called("index_codebase", arguments, report)
    except KeyboardInterrupt:
        click.echo("Interrupted. What was read so far is kept: cairn index reads the rest.", err=True)
        sys.exit(INTERRUPTED)
    if structured:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    statistics = value["statistics"]
    click.echo(value["message"])
    click.echo(
        f"{number_of(statistics['symbols_extracted'], 'symbol')}, {number_of(statistics['chunks_created'], 'chunk')}, "
        f"{number_of(statistics['files_removed'], 'file')} removed, {statistics['index_size_mb']:.1f} MB"
    )
    for each in value["skipped"]:
        click.echo(f"  {each['count']:>6}  {each['reason']}")
    for each in value["errors"]:
        click.echo(f"  {each['file']}: {each['error']}", err=True)
    for warning in value["metadata"].get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)


def called(
    tool: str, arguments: dict[str, Any], report: Report | None = None, *, root: Path | None = None
) -> dict[str, Any]:
    """A tool's value; its error ends the command. `root` is the project for a tool that takes no path to one."""
    from codecairn import tools
    from codecairn.connection import Connection

    logs.configure("warning", "text")
    registry, projects = opened(root)
    call = tools.Call(projects, Connection("cli"), registry, "cli", report=report)
    reply = registry.call(registry.tools[tool], call, arguments)
    if reply.error is not None:
        raise click.ClickException(_said(reply.error))
    return reply.value


def _said(error: CairnError) -> str:
    if candidates := error.data.get("candidates"):
        width = max(len(each["qualified_name"]) for each in candidates)
        rows = [f"  {each['qualified_name']:<{width}}  {each['path']}:{each['line_start']}" for each in candidates]
        more = error.data["total_candidates"] - len(candidates)
        left = [f"  and {more} more"] if more else []
        return "\n".join([f"{error.message.partition(':')[0]}:", *rows, *left, error.remedy])
    details = error.data.get("details")
    more = f": {details}" if isinstance(details, str) and details not in error.message else ""
    return f"{error.message}{more}. {error.remedy}"


def opened(root: Path | None = None) -> tuple[Registry, Projects]:
    """Opened once a command, so that what one call has learnt of a project serves the next."""
    from codecairn import tools
    from codecairn.project import Projects

    kept = click.get_current_context().meta
    if _KEPT not in kept:
        kept[_KEPT] = (tools.standard(), Projects(config.load((str(root),) if root else ())))
    found: tuple[Registry, Projects] = kept[_KEPT]
    return found


def bring_up(project: str, *refs: str | None) -> None:
    """Index what a command asks about as it is now: these refs, None for the working tree."""
    with progress_bar() as report:
        for ref in refs:
            if ref is not None:
                called("index_codebase", {"path": project, "ref": ref}, report)
            elif called("get_status", {"path": project})["metadata"]["freshness_status"] != "fresh":
                called("index_codebase", {"path": project}, report)


@contextmanager
def progress_bar() -> Iterator[Report | None]:
    """Draws how far a command is, where somebody looks at a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, said: bar.update(task, completed=done, total=total, description=said or "")
