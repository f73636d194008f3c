"""cairn open"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codecairn import allocator, config, logs
from codecairn.cli.tool_call import project_around, root_option, translate_errors

if TYPE_CHECKING:
    from codecairn.serve.http import Address


@click.command(
    help="Open the page in a browser: search, symbols, branches, memory, the server itself. Uses the HTTP server that "
    "runs for the project, or serves it until Ctrl-C."
)
@root_option
@click.option("--print", "only_print", is_flag=True, help="Print the address that logs in, and open no browser.")
def command(root: Path | None, only_print: bool) -> None:
    from codecairn.page import running_servers

    project = project_around(root)
    mark = running_servers.find(config.data_folder(config.load()), project)
    if mark is not None:
        _visit(mark.login, only_print=only_print)
        return
    _serve(project, only_print=only_print)


def _visit(login: str, *, only_print: bool) -> None:
    """The address is printed too: it opens one session, and is good for two minutes."""
    import webbrowser

    click.echo(login)
    if not only_print and not webbrowser.open(login):
        click.echo("cairn: no browser was found; open the address above in one", err=True)


def _serve(project: Path, *, only_print: bool) -> None:
    from codecairn.cli.serve import make_service, serve_pages
    from codecairn.serve.http import HttpAccess

    logs.configure("warning", "text")
    allocator.spare()
    settings = config.load((str(project),), local=False)
    with translate_errors(click.UsageError):
        service = make_service(settings, (), watch=True, index=True)
        access = HttpAccess(_free_address(), settings.token)
        serve_pages(service, access, lambda login: _visit(login, only_print=only_print))


def _free_address() -> Address:
    """The usual port where it is free, else any."""
    from codecairn.serve.http import DEFAULT_ADDRESS, Address

    usual = Address.parse(DEFAULT_ADDRESS)
    try:
        socket.create_server((usual.host, usual.port)).close()
    except OSError:
        return Address(usual.host, 0)
    return usual
