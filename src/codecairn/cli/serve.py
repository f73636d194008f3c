"""cairn serve"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from codecairn import allocator, config, logs
from codecairn.cli.tool_call import translate_errors
from codecairn.errors import CairnError

if TYPE_CHECKING:
    from pathlib import Path

    from codecairn.page.running_servers import PageMark
    from codecairn.project import Projects
    from codecairn.serve import Service
    from codecairn.serve.http import Address, HttpAccess

_INDEX_FAMILIES = frozenset({"index", "refs", "files", "context"})
_WAITING = """\
cairn: waiting for an MCP client on stdin. Ctrl-C ends it.
  Clients start this command themselves: `cairn setup` writes it into yours.
  In a shell, use `cairn search WORDS` or `cairn --help`; over HTTP, --http."""
_FIRST_LINE_S = 0.1
"""Most clients have said their first line by now; a later one is answered beside the imports."""
_LEVELS = ["debug", "info", "warning", "error"]


@click.command(help="Serve the tools over stdio, or over HTTP with --http.")
@click.option(
    "--root",
    "--workspace",
    "roots",
    multiple=True,
    metavar="PATH",
    help="The project to serve. Repeat it to allow more; callers may then name no other.",
)
@click.option(
    "--http",
    "address",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[HOST:PORT]",
    help="Serve HTTP instead of stdio (default 127.0.0.1:8417).",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A further Host name under which HTTP clients reach this server.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="Answer HTTP in so many processes over one index.",
)
@click.option("--behind-front", is_flag=True, hidden=True)
@click.option("--tools", "selection", default="", metavar="NAME,…", help="Offer only these tools, by name or family.")
@click.option("--no-watch", is_flag=True, help="Index once at the start and look at the files when asked, no more.")
@click.option("--no-index", is_flag=True, help="Index nothing that no call asks for.")
@click.option(
    "--worktrees",
    is_flag=True,
    help="Check out a ref that a client switches to, in the data directory: adds to the repository's .git/worktrees.",
)
@click.option(
    "--answers",
    type=click.Choice(["auto", "text", "both"]),
    default="auto",
    show_default=True,
    help="Send the text of an answer alone, or its structured value too; auto: what each client shows its model.",
)
@click.option("--log-level", type=click.Choice(_LEVELS), default="info", show_default=True)
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    roots: tuple[str, ...],
    address: str | None,
    hosts: tuple[str, ...],
    workers: int,
    behind_front: bool,
    selection: str,
    no_watch: bool,
    no_index: bool,
    worktrees: bool,
    answers: Literal["auto", "text", "both"],
    log_level: str,
    log_format: str,
) -> None:
    logs.configure(log_level, log_format)
    allocator.spare()
    end_on_signals()
    settings = config.load(roots, local=address is None, worktrees=worktrees, answers=answers)
    names = tuple(part.strip() for part in selection.split(",") if part.strip())
    make = partial(make_service, settings, names, watch=not no_watch, index=not no_index)
    if workers > 1 and address is None:
        raise click.UsageError("--workers is for --http: a client on stdio has a process of its own.")
    with translate_errors(click.UsageError):
        if address is None:
            _serve_stdio(make, names, answers)
        else:
            access = _access(settings, address, hosts)
            if behind_front:
                _serve_behind_front(make(), access)
            elif workers > 1:
                _serve_front(settings, access, _worker_options(click.get_current_context()), workers)
            else:
                serve_pages(make(), access)


def _worker_options(context: click.Context) -> list[str]:
    """The options of this command that a worker is given, too."""
    given = context.params
    roots = [f"--root={root}" for root in given["roots"]]
    flags = [f"--{name.replace('_', '-')}" for name in ("no_watch", "no_index", "worktrees") if given[name]]
    values = [f"--{name.replace('_', '-')}={given[name]}" for name in ("answers", "log_level", "log_format")]
    return [*roots, *flags, *values, f"--tools={given['selection']}"]


def make_service(settings: config.Settings, selection: tuple[str, ...], *, watch: bool, index: bool) -> Service:
    from codecairn import tools
    from codecairn.doctor import servers
    from codecairn.project import Projects
    from codecairn.serve import Service
    from codecairn.serve.upkeep import Upkeep
    from codecairn.tools.team_answers import ask_team

    registry = tools.standard(selection)
    registry.elsewhere = ask_team
    if not registry.tools:
        raise click.UsageError(
            f"--tools {','.join(selection)} selects nothing. Known: {', '.join(tools.standard().tools)}"
        )
    projects = Projects(settings)
    servers.announce(config.data_folder(settings), " ".join(["cairn", *sys.argv[1:]]))
    is_asked_of_it = any(tool.family in _INDEX_FAMILIES for tool in registry.tools.values())
    return Service(registry, projects, Upkeep(projects, watch=watch) if index and is_asked_of_it else None)


def _serve_stdio(make: Callable[[], Service], selection: tuple[str, ...], answers: str) -> None:
    """Answer the handshake at once; what else a client asks waits for the tools and the SDK to be imported."""
    from codecairn.greeting.greeter import Greeter
    from codecairn.greeting.line_stream import LineStream
    from codecairn.greeting.rendered import Greeting, Rendered

    if sys.stdin is not None and sys.stdin.isatty():
        click.echo(_WAITING, err=True)
    rendered = Rendered.load()
    tools, wire, greeter = rendered.select(selection), LineStream.of_process(), None
    if tools:  # where nothing is selected, the command fails and greets nobody
        greeter = Greeter(wire, Greeting(rendered, tools, answers))
        greeter.start()
        greeter.wait_for_line(_FIRST_LINE_S)
    with _no_collection():
        from codecairn.serve import stdio

        service = make()
    stdio.serve(service, wire, greeter)
    leave(0)


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Nothing that is imported is garbage: the collector waits until it is done, and never looks at it again."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _serve_behind_front(service: Service, access: HttpAccess) -> None:
    from codecairn.page.site import PageSite
    from codecairn.serve import front, http

    def announce(port: int) -> None:
        click.echo(port)
        threading.Thread(target=_end_with_front, name="cairn-front", daemon=True).start()
        if service.upkeep is not None:
            service.upkeep.begin_after_answer()

    settings = service.projects.settings
    pages = PageSite(service, settings.page_token, front.page_key(settings.token or ""), is_one_of_several=True)
    http.serve(service, replace(access, front=front.CALLER), announce, pages)
    leave(0)


def _end_with_front() -> None:
    """Its end of our stdin is closed when it is gone, however it went."""
    sys.stdin.buffer.read()
    leave(0)


def _serve_front(settings: config.Settings, access: HttpAccess, options: list[str], workers: int) -> None:
    from codecairn.project import Projects
    from codecairn.serve import front

    home, secret = config.data_folder(settings), front.make_secret()
    end_on_signals(partial(_withdraw_mark, home))

    def announce(port: int) -> None:
        _announce(access.address, port)
        _leave_mark(home, access.address, port, _roots(Projects(settings)), front.page_key(secret))

    front.serve(access, options, workers, announce, secret)
    _withdraw_mark(home)
    leave(0)


def _leave_mark(home: Path, where: Address, port: int, roots: list[str], key: bytes) -> PageMark:
    """Leave the mark by which `cairn open` finds the page."""
    from codecairn.page import running_servers
    from codecairn.serve import http

    here = where if not where.is_any else http.Address("127.0.0.1", port)
    mark = running_servers.PageMark(here.origin(port), roots, key.hex())
    running_servers.leave(home, mark)
    click.echo(f"cairn: the page is {mark.url}/; `cairn open` logs a browser in", err=True)
    return mark


def _withdraw_mark(home: Path) -> None:
    from codecairn.page import running_servers

    running_servers.withdraw(home)


def _access(settings: config.Settings, address: str, hosts: tuple[str, ...]) -> HttpAccess:
    from codecairn.serve import http

    try:
        where = http.Address.parse(address or http.DEFAULT_ADDRESS)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if not where.is_loopback and not settings.token:
        raise click.UsageError(
            f"{where.host} is reachable from other machines: set CAIRN_TOKEN to the bearer token clients must send."
        )
    if not where.is_loopback and not settings.roots:
        raise click.UsageError(
            f"{where.host} is reachable from other machines: name the roots they may see with --root."
        )
    return http.HttpAccess(where, settings.token, frozenset(host.lower() for host in hosts))


def _announce(where: Address, port: int) -> None:
    click.echo(f"cairn: serving {where.origin(port)}/mcp", err=True)


def serve_pages(service: Service, access: HttpAccess, on_ready: Callable[[str], None] | None = None) -> None:
    """Serve HTTP until a signal. The page's mark is left meanwhile; `on_ready` is given an address that logs in."""
    from codecairn.page.site import PageSite
    from codecairn.serve import http

    settings = service.projects.settings
    home, pages = config.data_folder(settings), PageSite(service, settings.token)
    end_on_signals(partial(_withdraw_mark, home))

    def announce(port: int) -> None:
        _announce(access.address, port)
        mark = _leave_mark(home, access.address, port, _roots(service.projects), pages.sessions.key)
        if on_ready is not None:
            on_ready(mark.login)
        if service.upkeep is not None:
            service.upkeep.begin_after_answer()

    http.serve(service, access, announce, pages)
    _withdraw_mark(home)
    leave(0)


def _roots(projects: Projects) -> list[str]:
    """The roots that are served, the one that calls are about first; none where no project can be."""
    try:
        current = projects.current().root
    except CairnError:
        return []
    return list(dict.fromkeys([str(current), *map(str, projects.settings.roots)]))


def end_on_signals(before: Callable[[], None] | None = None) -> None:
    def end(number: int, _frame: object) -> None:
        if before is not None:
            before()
        leave(128 + number)

    for name in ("SIGTERM", "SIGINT"):
        signal.signal(getattr(signal, name), end)


def leave(status: int) -> None:
    """End now: threads still waiting for a child must not hold the process, and no child outlives it."""
    from codecairn.doctor import servers
    from codecairn.source import process

    servers.withdraw(config.data_folder(config.load()))
    process.leave()
    with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be broken, closed or missing
        sys.stderr.flush()
    os._exit(status)
