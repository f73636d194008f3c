"""cairn state"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codecairn import logs
from codecairn.cli import Suggesting
from codecairn.cli.tool_call import open_project, progress_bar, project_around, root_option, translate_errors

if TYPE_CHECKING:
    from codecairn.project import Project
    from codecairn.store.discoveries import DiscoveryRow

_DISCOVERIES = "notes/discoveries.jsonl"
_SHORT = 10


@click.group(cls=Suggesting, help="Take what is indexed of a repository's commits to another clone of it, as one file.")
def command() -> None:
    pass


verbose_option = click.option("-v", "--verbose", is_flag=True, help="Say more: every ref, and what is done meanwhile.")


@contextmanager
def open_for_writing(root: Path | None, *, verbose: bool) -> Iterator[Project]:
    """The project around a folder, whose index is closed at the end; an error ends the command."""
    logs.configure("info" if verbose else "warning", "text")
    project = open_project(project_around(root))
    with translate_errors():
        yield project
        project.index.close()


@command.command("export", help="Write what is indexed of this repository's branches to PATH (.tar.zst).")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--memory", is_flag=True, help="Put the discoveries beside it that are remembered of the project.")
@root_option
@verbose_option
def export(path: Path, memory: bool, root: Path | None, verbose: bool) -> None:
    from codecairn.cancel import Cancel
    from codecairn.index.state import export_state

    with open_for_writing(root, verbose=verbose) as project, _progress() as told:
        notes = {_DISCOVERIES: _discoveries(project)} if memory else {}
        done = export_state(project.index, path.absolute(), Cancel(), told, notes)
    click.echo(f"Exported {_refs(done.manifest)} to {path}: {done.size / 1e6:.1f} MB")
    _say_more(done, verbose=verbose)


def _discoveries(project: Project) -> bytes:
    from codecairn.memory.archive import export_lines

    rows = sorted(project.discoveries.all(), key=lambda row: (row.created, row.id))
    return "".join(f"{line}\n" for line in export_lines(rows)).encode()


@command.command("import", help="Use the archive at PATH as this repository's index, and bring it up to date.")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--memory", is_flag=True, help="Remember the discoveries in it too.")
@root_option
@verbose_option
def import_(path: Path, memory: bool, root: Path | None, verbose: bool) -> None:
    from codecairn.cancel import Cancel
    from codecairn.index.state import import_state
    from codecairn.memory.archive import import_rows, parse_lines

    with open_for_writing(root, verbose=verbose) as project, _progress() as told:

        def rows(notes: Mapping[str, bytes]) -> list[DiscoveryRow]:
            return parse_lines(notes.get(_DISCOVERIES, b"").decode("utf-8", "replace").split("\n"), project.guard)

        done = import_state(project.index, path.absolute(), Cancel(), told, rows)
        counts = import_rows(project.discoveries, rows(done.notes)) if memory else None
    click.echo(
        f"Imported {_refs(done.manifest)}, exported at {done.manifest.created}; {done.files_read} files were read anew"
    )
    if counts is not None:
        click.echo(f"Discoveries: {counts.added} added, {counts.updated} updated, {counts.unchanged} known already")
    elif _DISCOVERIES in done.notes:
        click.echo("It has discoveries too: --memory takes them.")
    _say_more(done, verbose=verbose)


def _refs(manifest: Any) -> str:
    return "1 ref" if len(manifest.refs) == 1 else f"{len(manifest.refs)} refs"


def _say_more(done: Any, *, verbose: bool) -> None:
    if verbose:
        for ref in done.manifest.refs:
            default = ", the default branch" if ref.is_default else ""
            click.echo(f"  {ref.commit[:_SHORT]}  {ref.name}{default}")
        click.echo(f"  {done.manifest.size / 1e6:.1f} MB unpacked, vectors by {', '.join(done.manifest.encoders)}")
    for warning in done.warnings:
        click.echo(f"warning: {warning}", err=True)


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None]]:
    with progress_bar() as report:
        yield lambda done, total, said: report(done, total or None, said) if report else None
