"""The `cairn` command. Each subcommand is a module of this folder, imported only when it is called."""

from __future__ import annotations

import importlib

import click

from codecairn import __version__

COMMANDS = {
    "branches": "List the branches, tags and commits that are indexed.",
    "call": "Call one tool and print its answer.",
    "completion": "Print the completion script of a shell.",
    "demo": "Show what Cairn does, on the repository you are in, through a real MCP client.",
    "diff": "What a branch changed, by symbol.",
    "doctor": "Look for what is wrong on this machine, and say the way out of it.",
    "gates": "Evaluate the policy gates of the instruction catalogue.",
    "graph": "Show who calls a symbol and what it calls.",
    "grep": "Print the lines of a project that match a regular expression.",
    "index": "Index a project, or bring its index up to date.",
    "instructions": "Check the instruction catalogue, or import rules into it.",
    "link": "Link another project, to search both at once.",
    "links": "List the projects that are linked to this one.",
    "memory": "Add, list, move or harvest what is remembered of a project.",
    "open": "Open the page in a browser: search, symbols, branches, memory, the server itself.",
    "outline": "Print the symbols of files or folders.",
    "pack": "Gather the context for a task within a budget of tokens.",
    "prune-overlays": "Drop indexed branches that nobody has used for a while.",
    "projects": "List what is indexed on this machine, or prune what is gone.",
    "read": "Print a file of a project, or what it imports; also out of a commit.",
    "reference": "Print the reference of tools and commands as Markdown.",
    "refs": "Where a symbol is used, each use with its line.",
    "schemas": "Print the whole JSON Schemas of the tools.",
    "search": "Search the code of a project.",
    "serve": "Serve the tools over stdio, or over HTTP with --http.",
    "setup": "Write Cairn into the coding agents on this machine, or take it out.",
    "state": "Take what is indexed to another clone of the repository, as one file.",
    "status": "Say whether a project is indexed, how much of it, and how fresh.",
    "symbol": "Print the definition of a name with its source.",
    "unlink": "Undo a link to another project.",
}


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

    if not config.wants_colour():
        click.get_current_context().color = False
