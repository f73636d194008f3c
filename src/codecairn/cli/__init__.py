"""The `cairn` command. Each subcommand is a module of this folder, imported only when it is called."""

from __future__ import annotations

import atexit
import gc
import importlib

import click

from codecairn import __version__
from codecairn.commands import COMMANDS

_COLLECT_AFTER = 50_000
"""Objects made before those that only name each other are looked for; Python's own figure is 700."""


class Suggesting(click.Group):
    """A group that asks whether another of its commands is meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            from codecairn.suggestions import nearest, suggestion

            ctx.fail(f"No such command {name!r}. {suggestion(nearest(name, known))}".rstrip())
        return super().resolve_command(ctx, args)


class _Lazy(Suggesting):
    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = "references" if cmd_name == "refs" else cmd_name.replace("-", "_")
        command: click.Command = importlib.import_module(f"codecairn.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        # The help of every command without importing any of them.
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cairn")
def main() -> None:
    """The context server a coding agent runs beside a repository."""
    from codecairn import config

    # Nearly all that is made at first stays, and at the end the system takes everything at once: looking through it
    # for circles took a seventh of a search.
    gc.set_threshold(_COLLECT_AFTER, 20, 50)
    atexit.register(gc.freeze)
    if not config.wants_colour():
        click.get_current_context().color = False
