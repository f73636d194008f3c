"""cairn memory"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codecairn import config
from codecairn.cli import Suggesting
from codecairn.cli.index import called, progress_bar
from codecairn.errors import CairnError

if TYPE_CHECKING:
    from codecairn.memory.gleanings import Gleaned
    from codecairn.project import Project
    from codecairn.tools.memory import Discovery

_TYPES = ("pattern", "rule", "decision", "issue")
_COLOURS = {"fresh": "green", "drifted": "yellow", "orphaned": "red", "unknown": None}
_SOURCES = ("adr", "rules", "commits", "todo")
_root = click.option("--root", "--workspace", "root", metavar="PATH", help="The project (default: the one you are in).")


@click.group(
    cls=Suggesting,
    help="Add, list, show, move or delete what is remembered of a project, or harvest what it has written down.",
)
def command() -> None:
    pass


@command.command("list", help="List the discoveries, newest first, each with how the code it is about stands.")
@_root
@click.option("--type", "type_", type=click.Choice(_TYPES), help="Only this type.")
@click.option("--module", metavar="NAME", help="Only this module.")
@click.option("--json", "structured", is_flag=True, help="Print JSON.")
def list_(root: str | None, type_: str | None, module: str | None, structured: bool) -> None:
    project = _project(root)
    found = _shown(project, type_, module)
    if structured:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    for each in found:
        first = each["content"].split("\n")[0]
        click.echo(f"{each['id']}  {each['type']:<8}  {_status(each)}{first}")
    click.echo(f"{len(found)} {'discovery' if len(found) == 1 else 'discoveries'}", err=True)


@command.command(help="Remember something of the project that its code does not say.")
@_root
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--type", "type_", type=click.Choice(_TYPES), default="decision", show_default=True, help="Of which kind."
)
@click.option("--path", metavar="FILE", help="The file it is about.")
@click.option("--symbol", metavar="NAME", help="The symbol it is about: it is then told when that changes.")
@click.option("--module", metavar="NAME", help="The folder it is about.")
@click.option("--json", "structured", is_flag=True, help="Print what remember answers.")
def add(
    root: str | None,
    words: tuple[str, ...],
    type_: str,
    path: str | None,
    symbol: str | None,
    module: str | None,
    structured: bool,
) -> None:
    about = {"path": path, "symbol": symbol, "module": module}
    asked = {"type": type_, "content": " ".join(words), **{name: each for name, each in about.items() if each}}
    answer = called("remember", asked, root=Path(root) if root else None)
    click.echo(json.dumps(answer, indent=2, ensure_ascii=False) if structured else answer["message"])


@command.command(help="Show one discovery whole.")
@_root
@click.argument("id")
def show(root: str | None, id: str) -> None:  # noqa: A002
    found = next((each for each in _shown(_project(root)) if each["id"] == id), None)
    if found is None:
        raise click.ClickException(f"No discovery {id}.")
    for name, value in found.items():
        if name != "content" and value is not None:
            click.echo(f"{name.replace('_', ' ')}: {value}")
    click.echo(f"\n{found['content']}")


@command.command(help="Delete discoveries for good.")
@_root
@click.argument("ids", nargs=-1, required=True)
def forget(root: str | None, ids: tuple[str, ...]) -> None:
    from codecairn.memory import discoveries

    project = _project(root)
    for each in ids:
        with _told():
            row = discoveries.forget(project.discoveries, each)
        click.echo(f"forgotten: {row.id}  {row.content.split(chr(10))[0]}")


@command.command(help="Print every discovery as a line of JSON, or write them to FILE.")
@_root
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
def export(root: str | None, file: Path | None) -> None:
    from codecairn.memory.archive import exported

    with _told():
        lines = list(exported(sorted(_project(root).discoveries.all(), key=lambda row: (row.created, row.id))))
    text = "".join(f"{line}\n" for line in lines)
    if file is None:
        click.echo(text, nl=False)
        return
    file.write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"{len(lines)} exported to {file}", err=True)


@command.command(
    "import", help="Store the discoveries of FILE ('-': stdin). All are checked first; repeating it is safe."
)
@_root
@click.argument("file", type=click.File(encoding="utf-8"))
def import_(root: str | None, file: Any) -> None:
    from codecairn.memory.archive import imported, parsed

    project = _project(root)
    with _told():
        counts = imported(project.discoveries, parsed(_lines(file), project.guard))
    click.echo(f"{counts.added} added, {counts.updated} updated, {counts.unchanged} known already")


@command.command(help="Propose discoveries from decision records, rules, commits and TODOs. Stores what you accept.")
@_root
@click.option("--from", "sources", multiple=True, type=click.Choice(_SOURCES), help="Only this source (repeatable).")
@click.option("--accept", "ids", multiple=True, metavar="ID", help="Store this proposal (repeatable).")
@click.option("--all", "every", is_flag=True, help="Store every proposal.")
@click.option("--json", "structured", is_flag=True, help="Print the proposals as JSON and ask nothing.")
def harvest(root: str | None, sources: tuple[str, ...], ids: tuple[str, ...], every: bool, structured: bool) -> None:
    from codecairn.cancel import Cancel
    from codecairn.index.run import unheard
    from codecairn.memory.harvest import proposals

    project = _project(root)
    with _told(), progress_bar() as report:
        found = proposals(project, Cancel(), sources or _SOURCES, report or unheard)
    unknown = [each for each in ids if each not in found]
    if unknown:
        raise click.UsageError(f"No proposal {', '.join(unknown)}. Run `cairn memory harvest` to see them.")
    if structured:
        rows = [{"id": identity, **each._asdict()} for identity, each in found.items()]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    if every or ids:
        _store(project, {each: found[each] for each in (found if every else ids)})
    elif sys.stdin.isatty() and sys.stdout.isatty():
        _ask(project, found)
    else:
        for identity, each in found.items():
            _print(identity, each)
        click.echo(f"{len(found)} proposed, nothing stored: give --accept ID or --all.", err=True)


def _ask(project: Project, found: dict[str, Gleaned]) -> None:
    for identity, each in found.items():
        _print(identity, each)
        answer = click.prompt("Store it? [y/n/q]", type=click.Choice(["y", "n", "q"]), show_choices=False, default="n")
        if answer == "q":
            return
        if answer == "y":
            _store(project, {identity: each})


def _store(project: Project, chosen: dict[str, Gleaned]) -> None:
    from codecairn.memory.harvest import accept

    for each in chosen.values():
        with _told():
            row, action = accept(project, each)
        click.echo(f"{action}: {row.id}  {row.content[:80]}")


def _print(identity: str, each: Gleaned) -> None:
    where = click.style(each.where, fg="cyan")
    click.echo(f"{click.style(identity, bold=True)}  {each.type:<8}  {where}\n    {each.content}")


def _status(each: dict[str, Any]) -> str:
    status = each["status"]
    return f"{click.style(status, fg=_COLOURS[status])}  " if status else ""


def _shown(project: Project, type_: str | None = None, module: str | None = None) -> list[dict[str, Any]]:
    """Discoveries as the tools show them, judged by the index as it is."""
    import msgspec

    from codecairn.cancel import Cancel
    from codecairn.index.standing import standing
    from codecairn.tools.memory import judged

    with _told():
        rows = project.discoveries.all(type_, module)
        found: list[Discovery] = judged(project, standing(project.index, Cancel()), rows)
    listed: list[dict[str, Any]] = msgspec.to_builtins(found)
    return listed


def _lines(file: Any) -> list[str]:
    try:
        return list(file)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file.name} is not UTF-8 text: {error}") from error


def _project(root: str | None) -> Project:
    from codecairn.project import Projects

    with _told():
        return Projects(config.load((root,) if root else ())).current()


@contextmanager
def _told() -> Iterator[None]:
    """An error of ours ends the command with its message and its remedy."""
    try:
        yield
    except CairnError as error:
        raise click.ClickException(f"{error.message}. {error.remedy}") from error
