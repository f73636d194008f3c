"""cairn completion"""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_WHERE = {
    "bash": "source it from ~/.bashrc: source <(cairn completion bash)",
    "zsh": "source it from ~/.zshrc: source <(cairn completion zsh)",
    "fish": "cairn completion fish > ~/.config/fish/completions/cairn.fish",
}


@click.command(
    help="Print the script that completes commands and options in a shell. "
    + "; ".join(f"{shell}: {where}" for shell, where in _WHERE.items())
)
@click.argument("shell", type=click.Choice(list(_WHERE)))
def command(shell: str) -> None:
    from codecairn.cli import main

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "cairn", "_CAIRN_COMPLETE").source())
