"""cairn memory"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codecairn.cli import Suggesting
from codecairn.cli.show import show_json
from codecairn.cli.tool_call import call_tool, json_option, open_project, progress_bar, root_option, translate_errors

if TYPE_CHECKING:
    from codecairn.memory.harvest import Proposal
    from codecairn.memory.team_mail import TeamMail
    from codecairn.project import Project

_TYPES = ("pattern", "rule", "decision", "issue")
_COLOURS = {"fresh": "green", "drifted": "yellow", "orphaned": "red", "unknown": None}
_SOURCES = ("adr", "rules", "commits", "todo")


@click.group(
    cls=Suggesting,
    help="Add, list, show, move or delete what is remembered of a project, or harvest what it has written down.",
)
def command() -> None:
    pass


@command.command("list", help="List the discoveries, newest first, each with how the code it is about stands.")
@root_option
@click.option("--type", "type_", type=click.Choice(_TYPES), help="Only this type.")
@click.option("--module", metavar="NAME", help="Only this module.")
@json_option
def list_(root: Path | None, type_: str | None, module: str | None, structured: bool) -> None:
    project = open_project(root)
    found = _list_rows(project, type_, module)
    if structured:
        show_json(found)
        return
    for each in found:
        first = each["content"].split("\n")[0]
        click.echo(f"{each['id']}  {each['type']:<8}  {_status(each)}{first}")
    click.echo(f"{len(found)} {'discovery' if len(found) == 1 else 'discoveries'}", err=True)


@command.command(help="Remember something of the project that its code does not say.")
@root_option
@click.argument("words", nargs=-1, required=True)
@click.option(
    "--type", "type_", type=click.Choice(_TYPES), default="decision", show_default=True, help="Of which kind."
)
@click.option("--path", metavar="FILE", help="The file it is about.")
@click.option("--symbol", metavar="NAME", help="The symbol it is about: it is then told when that changes.")
@click.option("--module", metavar="NAME", help="The folder it is about.")
@json_option
def add(root: Path | None, words: tuple[str, ...], type_: str, structured: bool, **about: str | None) -> None:
    asked = {"type": type_, "content": " ".join(words), **{name: each for name, each in about.items() if each}}
    answer = call_tool("remember", asked, root=root)
    if structured:
        show_json(answer)
    else:
        click.echo(answer["message"])


@command.command(help="Show one discovery whole.")
@root_option
@click.argument("id")
def show(root: Path | None, id: str) -> None:  # noqa: A002
    found = next((each for each in _list_rows(open_project(root)) if each["id"] == id), None)
    if found is None:
        raise click.ClickException(f"No discovery {id}.")
    for name, value in found.items():
        if name != "content" and value is not None:
            click.echo(f"{name.replace('_', ' ')}: {value}")
    click.echo(f"\n{found['content']}")


@command.command(help="Delete discoveries for good.")
@root_option
@click.argument("ids", nargs=-1, required=True)
def forget(root: Path | None, ids: tuple[str, ...]) -> None:
    from codecairn.memory import discoveries

    project = open_project(root)
    for each in ids:
        with translate_errors():
            row = discoveries.forget(project.discoveries, each)
        click.echo(f"forgotten: {row.id}  {row.content.split(chr(10))[0]}")


@command.command(help="Share discoveries with the team that were recorded here before there was one.")
@root_option
@click.argument("ids", nargs=-1, required=True)
def share(root: Path | None, ids: tuple[str, ...]) -> None:
    project = open_project(root)
    _mail(project)
    with translate_errors():
        rows = [project.discoveries.get(each) for each in ids]
        missing = [each for each, row in zip(ids, rows, strict=True) if row is None]
        if missing:
            raise click.ClickException(f"No discovery {', '.join(missing)}.")
        project.discoveries.put([row for row in rows if row is not None])
    click.echo(f"{len(rows)} for the team; `cairn memory sync` sends them now, a running server within half a minute.")


@command.command(help="Exchange memory with the team server now, and say what waits or was refused.")
@root_option
@click.option("--drop-refused", is_flag=True, help="Forget what was refused, once it is shown.")
def sync(root: Path | None, drop_refused: bool) -> None:
    mail = _mail(open_project(root))
    with translate_errors():
        before = mail.outbox.count()
        try:
            mail.exchange()
        finally:
            left, refused = mail.outbox.count(), mail.outbox.refusals()
            click.echo(f"{max(0, before - left)} sent, {left} waiting, {len(refused)} refused")
            for kind, identity, reason in refused:
                click.echo(f"  {kind} {identity}: {reason}")
        if drop_refused:
            mail.outbox.drop_refusals()


def _mail(project: Project) -> TeamMail:
    if project.mail is None:
        raise click.ClickException("There is no team server: set CAIRN_TEAM and CAIRN_TEAM_TOKEN.")
    return project.mail


@command.command(help="Print every discovery as a line of JSON, or write them to FILE.")
@root_option
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
def export(root: Path | None, file: Path | None) -> None:
    from codecairn.memory.archive import export_lines

    with translate_errors():
        lines = list(export_lines(sorted(open_project(root).discoveries.all(), key=lambda row: (row.created, row.id))))
    text = "".join(f"{line}\n" for line in lines)
    if file is None:
        click.echo(text, nl=False)
        return
    file.write_text(text, encoding="utf-8", newline="\n")
    click.echo(f"{len(lines)} exported to {file}", err=True)


@command.command(
    "import", help="Store the discoveries of FILE ('-': stdin). All are checked first; repeating it is safe."
)
@root_option
@click.argument("file", type=click.File(encoding="utf-8"))
def import_(root: Path | None, file: Any) -> None:
    from codecairn.memory.archive import import_rows, parse_lines

    project = open_project(root)
    with translate_errors():
        counts = import_rows(project.discoveries, parse_lines(_lines(file), project.guard))
    click.echo(f"{counts.added} added, {counts.updated} updated, {counts.unchanged} known already")


@command.command(help="Propose discoveries from decision records, rules, commits and TODOs. Stores what you accept.")
@root_option
@click.option("--from", "sources", multiple=True, type=click.Choice(_SOURCES), help="Only this source (repeatable).")
@click.option("--accept", "ids", multiple=True, metavar="ID", help="Store this proposal (repeatable).")
@click.option("--all", "every", is_flag=True, help="Store every proposal.")
@click.option("--json", "structured", is_flag=True, help="Print the proposals as JSON and ask nothing.")
def harvest(root: Path | None, sources: tuple[str, ...], ids: tuple[str, ...], every: bool, structured: bool) -> None:
    from codecairn.cancel import Cancel
    from codecairn.index.run import ignore_progress
    from codecairn.memory.harvest import proposals

    project = open_project(root)
    with translate_errors(), progress_bar() as report:
        found = proposals(project, Cancel(), sources or _SOURCES, report or ignore_progress)
    unknown = [each for each in ids if each not in found]
    if unknown:
        raise click.UsageError(f"No proposal {', '.join(unknown)}. Run `cairn memory harvest` to see them.")
    if structured:
        show_json([{"id": identity, **each._asdict()} for identity, each in found.items()])
        return
    if every or ids:
        _store(project, {each: found[each] for each in (found if every else ids)})
    elif sys.stdin.isatty() and sys.stdout.isatty():
        ask_one_by_one(project, found)
    else:
        for identity, each in found.items():
            _print(identity, each)
        click.echo(f"{len(found)} proposed, nothing stored: give --accept ID or --all.", err=True)


def ask_one_by_one(project: Project, found: dict[str, Proposal]) -> None:
    for identity, each in found.items():
        _print(identity, each)
        answer = click.prompt("Store it? [y/n/q]", type=click.Choice(["y", "n", "q"]), show_choices=False, default="n")
        if answer == "q":
            return
        if answer == "y":
            _store(project, {identity: each})


def _store(project: Project, chosen: dict[str, Proposal]) -> None:
    from codecairn.memory.harvest import accept

    for each in chosen.values():
        with translate_errors():
            row, action = accept(project, each)
        click.echo(f"{action}: {row.id}  {row.content[:80]}")


def _print(identity: str, each: Proposal) -> None:
    where = click.style(each.where, fg="cyan")
    click.echo(f"{click.style(identity, bold=True)}  {each.type:<8}  {where}\n    {each.content}")


def _status(each: dict[str, Any]) -> str:
    status = each["status"]
    return f"{click.style(status, fg=_COLOURS[status])}  " if status else ""


def _list_rows(project: Project, type_: str | None = None, module: str | None = None) -> list[dict[str, Any]]:
    """Discoveries as the tools show them, judged by the index as it is."""
    import msgspec

    from codecairn.tools.memory import list_discoveries

    with translate_errors():
        found = list_discoveries(project, type_, module)
    listed: list[dict[str, Any]] = msgspec.to_builtins(found)
    return listed


def _lines(file: Any) -> list[str]:
    try:
        return list(file)
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file.name} is not UTF-8 text: {error}") from error
