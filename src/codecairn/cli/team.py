"""cairn team: many repositories for many people, on PostgreSQL."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codecairn import allocator, config, logs
from codecairn.cli import Suggesting
from codecairn.cli.tool_call import translate_errors

if TYPE_CHECKING:
    from codecairn.serve.http import HttpAccess
    from codecairn.team.record import Record

DEFAULT_ADDRESS = "127.0.0.1:8418"
_LEVELS = ["debug", "info", "warning", "error"]
_database = click.option(
    "--database", metavar="URL", help="PostgreSQL (default: CAIRN_DATABASE, else one in the data directory)."
)


@click.group(cls=Suggesting, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Serve many repositories to a team, on PostgreSQL."""


def _open(database: str | None, lease_s: float | None = None) -> Record:
    """The record, its schema up to date."""
    record = _record(database, lease_s)
    with translate_errors(click.ClickException):
        record.migrate()
    return record


def _record(database: str | None, lease_s: float | None = None) -> Record:
    try:
        from codecairn.team.embedded import embedded_url
        from codecairn.team.record import Record
    except ImportError as error:
        raise click.ClickException(f"{error}. The team server needs: pip install 'codecairn[team]'") from error
    with translate_errors(click.ClickException):
        url = database or config.team_database() or embedded_url(config.data_folder(config.load()))
        return Record(url, lease_s) if lease_s else Record(url)


def _serving(function: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        _database,
        click.option("--http", "address", default=DEFAULT_ADDRESS, metavar="HOST:PORT", show_default=True),
        click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="A further Host name of this node."),
        click.option("--url", metavar="URL", help="Where other nodes reach this one, if not at its address."),
        click.option("--openid", type=click.Path(path_type=Path), help="A file of rules for an OpenID provider."),
        click.option("--log-level", type=click.Choice(_LEVELS), default="info", show_default=True),
        click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True),
    ):
        function = option(function)
    return function


@command.command(help="Run everything in one process: migrations, a node and a worker.")
@_serving
def up(**given: Any) -> None:
    _serve(**given, with_worker=True)


@command.command(help="Run a node: it keeps replicas and answers.")
@_serving
def node(**given: Any) -> None:
    _serve(**given, with_worker=False)


def _serve(
    *, database: str | None, address: str, hosts: tuple[str, ...], url: str | None, openid: Path | None,
    log_level: str, log_format: str, with_worker: bool,
) -> None:  # fmt: skip
    logs.configure(log_level, log_format)
    allocator.spare()
    access, record = _access(address, hosts), _open(database)
    from codecairn.source import process
    from codecairn.team.clones import Clones
    from codecairn.team.node import ServingNode, widen_caches
    from codecairn.team.openid import OpenId, read_openid_settings
    from codecairn.team.worker import TeamWorker

    widen_caches()
    settings = config.load(local=False)
    worker = TeamWorker(record, Clones(settings)) if with_worker else None
    if worker is not None:
        threading.Thread(target=worker.serve, name="cairn-worker", daemon=True).start()
    with translate_errors(click.ClickException):
        serving = ServingNode(record, settings, access, url)
        serving.directory.openid = OpenId(read_openid_settings(openid)) if openid else None
        _on_signals(serving.stop)  # uvicorn gives a signal back when it has ended, and that is to end nothing more
        serving.serve(lambda port: click.echo(f"cairn: team node at {access.address.origin(port)}", err=True))
    if worker is not None:
        worker.close()
    process.leave()
    record.close()


def _on_signals(end: Callable[[], None]) -> None:
    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), lambda *_: end())


def _access(address: str, hosts: tuple[str, ...]) -> HttpAccess:
    from codecairn.serve.http import Address, HttpAccess

    try:
        return HttpAccess(Address.parse(address), None, frozenset(host.lower() for host in hosts))
    except ValueError as error:
        raise click.UsageError(str(error)) from error


@command.command(help="Run a worker: it fetches, indexes and publishes.")
@_database
@click.option("--http", "address", metavar="HOST:PORT", help="Answer GET /health and GET /metrics there.")
@click.option("--lease", "lease_s", type=float, help="Seconds until the job of a silent worker is another's (30).")
@click.option("--log-level", type=click.Choice(_LEVELS), default="info", show_default=True)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def work(database: str | None, address: str | None, lease_s: float | None, log_level: str, log_format: str) -> None:
    logs.configure(log_level, log_format)
    record = _open(database, lease_s)
    from codecairn.source import process
    from codecairn.team.clones import Clones
    from codecairn.team.monitor import serve_monitor
    from codecairn.team.worker import TeamWorker

    worker = TeamWorker(record, Clones(config.load(local=False)))
    _on_signals(worker.close)
    said = ""
    if address is not None:
        where = _access(address, ()).address
        said = f", monitored at http://{where.host}:{serve_monitor(worker, record, where.host, where.port)}"
    click.echo(f"cairn: team worker {worker.name}{said}", err=True)
    worker.serve()
    process.leave()
    record.close()


@command.command(help="Add a repository, or change the URL or refs of one.")
@click.argument("url", metavar="GIT_URL")
@click.option("--name", help="Its name, such as org/repo (default: the end of the URL).")
@click.option("--refs", default="", metavar="GLOB,…", help="Branches and tags to index beside the default branch.")
@_database
def add(url: str, name: str | None, refs: str, database: str | None) -> None:
    record = _open(database)
    from codecairn.team.repositories import name_from_url

    with translate_errors(click.ClickException):
        called = name or name_from_url(url)
        number = record.repositories.add(called, url, [part.strip() for part in refs.split(",") if part.strip()])
        record.jobs.ask(number)
        click.echo(f"{called} is added, and a worker will index it.")
    record.close()


@command.command(name="list", help="List the repositories.")
@_database
def list_(database: str | None) -> None:
    record = _open(database)
    with translate_errors(click.ClickException):
        for each in record.repositories.all():
            said = f"  {each.reason}" if each.reason else ""
            click.echo(f"{each.name:40} {each.state:12} {each.default_branch:12}{said}")
    record.close()


@command.command(help="Remove a repository, with its memory.")
@click.argument("name")
@_database
def remove(name: str, database: str | None) -> None:
    record = _open(database)
    with translate_errors(click.ClickException):
        if not record.repositories.remove(name):
            raise click.ClickException(f"No repository {name}. `cairn team list` names them.")
        click.echo(f"{name} is removed.")
    record.close()


@command.command(name="export", help="Write the whole record into FILE, from a running server.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_database
def export_(file: Path, database: str | None) -> None:
    record = _open(database)
    from codecairn.team.backup import export_record

    with translate_errors(click.ClickException):
        done = export_record(record.database, file)
    click.echo(f"{sum(done.rows.values())} rows of {len(done.rows)} tables, {file.stat().st_size / 1e6:.1f} MB")
    record.close()


@command.command(name="import", help="Read FILE into an empty database. Nodes and workers are started afterwards.")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_database
def import_(file: Path, database: str | None) -> None:
    record = _record(database)
    from codecairn.team.backup import import_record
    from codecairn.team.record import STEPS

    with translate_errors(click.ClickException):
        done = import_record(record.database, file, STEPS)
    click.echo(f"{sum(done.rows.values())} rows of {len(done.rows)} tables, as of {done.created}")
    record.close()


@command.group(help="Make, list and revoke the tokens that callers present.")
def token() -> None:
    pass


@token.command(help="Make a token and print it, once.")
@click.argument("name")
@click.option("--repositories", default="**", show_default=True, metavar="GLOB,…", help="The repositories it opens.")
@click.option("--role", type=click.Choice(["reader", "writer", "admin"]), default="reader", show_default=True)
@click.option("--days", type=float, help="It ends after so many days (default: never).")
@_database
def create(name: str, repositories: str, role: str, days: float | None, database: str | None) -> None:
    record = _open(database)
    with translate_errors(click.ClickException):
        globs = [part.strip() for part in repositories.split(",") if part.strip()]
        click.echo(record.tokens.create(name, globs, role, days))
    record.close()


@token.command(help="Revoke a token; nodes forget it within seconds.")
@click.argument("name")
@_database
def revoke(name: str, database: str | None) -> None:
    record = _open(database)
    with translate_errors(click.ClickException):
        if not record.tokens.revoke(name):
            raise click.ClickException(f"No token {name}. `cairn team token list` names them.")
        click.echo(f"{name} is revoked.")
    record.close()


@token.command(name="list", help="List the tokens, without their secrets.")
@_database
def list_tokens(database: str | None) -> None:
    record = _open(database)
    with translate_errors(click.ClickException):
        for each in record.tokens.all():
            used = each.last_used.strftime("%Y-%m-%d %H:%M") if each.last_used else "never"
            ends = each.expires.strftime("%Y-%m-%d") if each.expires else "never"
            click.echo(f"{each.name:24} {each.role:7} {','.join(each.globs):30} ends {ends}, last used {used}")
    record.close()


@command.command(help="Print where forges send their push events, and the secret to give them.")
@_database
def webhook(database: str | None) -> None:
    record = _open(database)
    from codecairn.team.webhooks import PATH

    with translate_errors(click.ClickException):
        click.echo(f"URL:    the address of a node, and {PATH}; content type application/json, push events")
        click.echo(f"Secret: {record.webhook_secret}")
    record.close()


@command.command(help="Say how nodes, jobs and repositories stand; exit 1 where something is wrong.")
@_database
def status(database: str | None) -> None:
    record = _open(database)
    with translate_errors(click.ClickException):
        nodes, replicas, known = record.nodes.living(), record.nodes.replicas(), record.repositories.all()
        click.echo(f"{len(nodes)} nodes, {record.jobs.depth()} jobs due, {len(known)} repositories")
        for one in nodes:
            count = sum(one.id in each for each in replicas.values())
            click.echo(f"  node {one.id} at {one.url}, version {one.version}, {count} replicas")
        wrong = [each for each in known if each.state in ("failing", "quarantined")]
        for each in wrong:
            click.echo(f"  {each.name}: {each.state}: {each.reason}")
    record.close()
    sys.exit(1 if wrong or not nodes else 0)
