"""cairn setup"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codecairn import clients, config
from codecairn.cli.tool_call import call_tool, progress_bar, project_around, root_option, translate_errors

if TYPE_CHECKING:
    from codecairn.clients import KnownClient
    from codecairn.setup.files import Receipts
    from codecairn.setup.plan import Change, SetupRequest

_CONTEXT = 2
_TITLE = 16


@click.command(
    help="Write Cairn into the configuration of the coding agents on this machine, index the project, and check that "
    "it works. Shows every change and asks before it writes; --remove takes all of it back."
)
@root_option
@click.option("--client", "names", multiple=True, metavar="NAME", help="Only this client (repeatable), found or not.")
@click.option("--project", "in_project", is_flag=True, help="Write the project's own files, not those of the user.")
@click.option("--url", default="", metavar="URL", help="A team's server over HTTP. CAIRN_TOKEN is the token to send.")
@click.option(
    "--team",
    default="",
    metavar="URL",
    help="Share indexes and memory with a team server. CAIRN_TEAM_TOKEN is the token; both are kept for this user.",
)
@click.option("--instructions", is_flag=True, help="Also tell agents in AGENTS.md when to use which tool.")
@click.option("--no-index", is_flag=True, help="Do not index the project.")
@click.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--remove", is_flag=True, help="Take out what an earlier run wrote.")
def command(
    root: Path | None,
    names: tuple[str, ...],
    in_project: bool,
    url: str,
    team: str,
    instructions: bool,
    no_index: bool,
    dry_run: bool,
    yes: bool,
    remove: bool,
) -> None:
    from codecairn.setup.files import Receipts
    from codecairn.setup.plan import SetupRequest, may_be_project, plan_adding, plan_guide

    settings = config.load()
    receipts = Receipts(config.data_folder(settings))
    for option, given in (("--url", url), ("--team", team)):
        if given and not given.startswith(("http://", "https://")):
            raise click.UsageError(f"{option} {given}: an address begins with http:// or https://")
    asked = SetupRequest(project_around(root), in_project, url, (settings.token or "") if url else "")
    chosen = _choose(names, asked, say=not remove)
    if team and not (remove or dry_run):
        _join(settings, team)
    if remove:
        _leave(settings, dry_run=dry_run)
        _take_back(chosen, asked, receipts, dry_run=dry_run, yes=yes)
        return
    changes = [plan_adding(each, asked, receipts) for each in chosen]
    able = [each for each, change in zip(chosen, changes, strict=True) if not change.problem]
    changes += [plan_guide(asked.root, receipts)] if instructions else []
    problems = _show(changes, secret=asked.token)
    if in_project and not url and any(each.is_needed for each in changes):
        click.echo("A project's files are often shared: the path of the command is that of this machine.\n")
    if dry_run:
        click.echo("Nothing was written.")
        sys.exit(1 if problems else 0)
    if not chosen:
        sys.exit(1)
    problems += _write(changes, receipts, yes=yes, is_private=not in_project)
    if not may_be_project(asked.root):
        _tell(None, "Index", "no project here; a server indexes the one that it is started in")
    elif not (no_index or url):
        problems += _index(asked.root)
    problems += _prove(able, asked)
    click.echo("\nTake it back: cairn setup --remove    Something is wrong: cairn doctor")
    if not instructions:
        click.echo("Optional: --instructions tells agents in AGENTS.md when to use which tool.")
    sys.exit(1 if problems else 0)


def _join(settings: config.Settings, url: str) -> None:
    """Ask the team server with the token; keep both if it answers."""
    from codecairn.setup import proof
    from codecairn.setup.team import join

    hands = proof.call(f"{url.rstrip('/')}/mcp", settings.team.token)
    if hands.problem:
        raise click.ClickException(f"The team server at {url}: {hands.problem}. CAIRN_TEAM_TOKEN is the token to send.")
    with translate_errors():
        join(config.team_file(settings), url, settings.team.token)
    _tell(True, "Team", f"{url} answers; kept in {_short(config.team_file(settings))}")


def _leave(settings: config.Settings, *, dry_run: bool) -> None:
    from codecairn.setup.team import leave

    if config.team_file(settings).exists():
        if not dry_run:
            with translate_errors():
                leave(config.team_file(settings))
        _tell(True, "Team", "would be left" if dry_run else "left; memory that was shared stays here too")


def _choose(names: tuple[str, ...], asked: SetupRequest, *, say: bool) -> list[KnownClient]:
    from codecairn.setup.plan import is_here
    from codecairn.suggestions import nearest, suggestion

    known = clients.known_clients()
    for each in names:
        if each not in known:
            hint = suggestion(nearest(each, known)) or f"Known: {', '.join(known)}"
            raise click.UsageError(f"No client {each!r}. {hint}")
    if names:
        return [known[each] for each in dict.fromkeys(names)]
    if not say:
        return list(known.values())
    here = [each for each in known.values() if is_here(each, asked.root)]
    gone = [each.title for each in known.values() if each not in here]
    click.echo(_wrap("Found here", [each.title for each in here] or ["no client that Cairn knows"]))
    click.echo(_wrap("Not found", gone) + "\n" if gone else "")
    if not here:
        click.echo(f"Name one with --client: {', '.join(known)}.")
    return here


def _wrap(head: str, words: Iterable[str]) -> str:
    return click.wrap_text(f"{head + ':':<12}{', '.join(words)}", width=79, subsequent_indent=" " * 12)


def _show(changes: list[Change], *, secret: str = "") -> int:
    """Print a plan; returns how many files have to be left alone."""
    for change in changes:
        where = f"{change.title}: {_short(change.path)}"
        if change.problem:
            click.echo(f"{click.style('✗', fg='red')} {where}\n  {change.problem}.\n")
        elif not change.is_needed:
            click.echo(f"{click.style('✓', fg='green')} {where} needs no change.\n")
        else:
            click.echo(click.style(where, bold=True) + ("  (new file)" if change.before is None else ""))
            for line in _diff(change):
                click.echo("  " + (line.replace(secret, "…") if secret else line))
            click.echo()
    return sum(bool(change.problem) for change in changes)


def _diff(change: Change) -> Iterable[str]:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    is_whole = change.before is None or change.after is None
    for line in list(difflib.unified_diff(before, after, lineterm="", n=_CONTEXT))[3 if is_whole else 2 :]:
        shown = line if len(line) < 120 else f"{line[:117]}…"
        yield click.style(shown, fg={"+": "green", "-": "red", "@": "cyan"}.get(line[:1]))


def _write(changes: list[Change], receipts: Receipts, *, yes: bool, is_private: bool) -> int:
    from codecairn.setup.plan import carry_out
    from codecairn.setup.splice import NotEditable

    needed = [each for each in changes if each.is_needed]
    if needed and not yes:
        if not sys.stdin.isatty():
            click.echo("Nothing was written: there is nobody to ask. Give --yes.")
            sys.exit(1)
        files = "this file" if len(needed) == 1 else f"these {len(needed)} files"
        click.confirm(f"Write {files}, and nothing else?", default=True, abort=True)
    problems = 0
    for change in needed:
        try:
            written = carry_out(change, receipts, is_private=is_private)
            _tell(True, change.title, f"{_short(change.path)} {'deleted' if written.after is None else 'written'}")
        except NotEditable as error:
            problems += 1
            _tell(False, change.title, f"{_short(change.path)}: {error}")
    return problems


def _take_back(chosen: list[KnownClient], asked: SetupRequest, receipts: Receipts, *, dry_run: bool, yes: bool) -> None:
    from codecairn.setup.plan import files_of, plan_removing

    places = [(each.title, path, each.keys) for each in chosen for path in files_of(each, asked.root)]
    named = {str(path) for _, path, _ in places}
    if len(chosen) == len(
        clients.known_clients()
    ):  # also what was written for other projects, or under other variables
        kept = [(Path(each), receipt) for each, receipt in receipts.all().items() if each not in named]
        places += [("Written earlier", path, tuple(receipt.keys)) for path, receipt in kept]
    changes = [plan_removing(title, path, keys, receipts) for title, path, keys in places]
    told = [each for each in changes if each.is_needed or each.problem]
    problems = _show(told)
    if not told:
        click.echo("No client here has an entry of Cairn.")
    elif dry_run:
        click.echo("Nothing was written.")
    else:
        problems += _write(told, receipts, yes=yes, is_private=True)
        click.echo(f"\nThe index and what was remembered stay in {_short(config.data_folder(config.load()))}.")
    sys.exit(1 if problems else 0)


def _index(root: Path) -> int:
    try:
        with progress_bar() as report:
            value = call_tool("index_codebase", {"path": str(root)}, report)
    except click.ClickException as error:
        _tell(False, "Index", error.message)
        return 1
    _tell(True, "Index", value["message"])
    return 0


def _prove(chosen: list[KnownClient], asked: SetupRequest) -> int:
    """Start the server as clients do, and ask those that can be asked."""
    from codecairn.setup import proof
    from codecairn.setup.plan import invocation

    hands = proof.call(asked.url, asked.token) if asked.url else proof.shake_hands([*invocation(), "serve"], asked.root)
    tools = f" with {hands.tools} tools" if hands.tools else ""
    _tell(not hands.problem, "Server", hands.problem or f"answers in {hands.seconds:.1f} s{tools}")
    problems = bool(hands.problem)
    for client in chosen:
        word = proof.ask_client(client, asked.root)
        problems |= word.is_connected is False
        _tell(word.is_connected, client.title, word.text)
    return int(problems)


def _tell(good: bool | None, title: str, text: str) -> None:
    mark = {True: click.style("✓", fg="green"), False: click.style("✗", fg="red"), None: "·"}[good]
    click.echo(f"{mark} {title:<{_TITLE}} {text}")


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
