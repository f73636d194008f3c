"""Commands share these: the project, calls of tools, options made from a tool's schema, errors and progress."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codecairn import config, logs
from codecairn.errors import CairnError

if TYPE_CHECKING:
    from codecairn.project import Project, Projects
    from codecairn.tools import Registry
    from codecairn.tools.families import ToolReply

_OPEN = "codecairn.open"
INTERRUPTED = 130
"""The status of a command that Ctrl-C ended, as shells reckon it."""
Report = Callable[[float, float | None, str | None], None]

root_option = click.option(
    "--root",
    "--workspace",
    "root",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The project (default: the one you are in).",
)
ref_option = click.option("--ref", metavar="REF", help="A branch, tag or commit instead of the working tree.")
json_option = click.option("--json", "structured", is_flag=True, help="Print the value as JSON.")


def tool_options(tool: str, flags: Mapping[str, str], **defaults: Any) -> Callable[[Any], Any]:
    """Gives a command the options of a tool: --root, --json, --ref where the tool takes one, and a flag for each
    parameter that is named, with the type, the choices, the bounds and the help of its schema."""
    from codecairn import tools

    properties = tools.declared(tool).input_schema["properties"]
    forms = {name: {**properties[name], **({"default": defaults[name]} if name in defaults else {})} for name in flags}
    made = [_option(flags[name], name, form) for name, form in forms.items()]
    every = [root_option, *made, *([ref_option] if "ref" in properties else []), json_option]
    return lambda function: reduce(lambda inner, option: option(inner), reversed(every), function)


def _option(flags: str, name: str, form: Mapping[str, Any]) -> Callable[[Any], Any]:
    said = f"{form['description']}." if "description" in form else None
    if form.get("type") == "boolean":
        return click.option(*flags.split(), name, is_flag=True, help=said)
    default = form.get("default")
    kind: click.ParamType[Any] = click.STRING
    if "enum" in form:
        kind = click.Choice(form["enum"])
    elif form.get("type") == "integer":
        kind = click.IntRange(form.get("minimum"), form.get("maximum"))
    return click.option(*flags.split(), name, type=kind, default=default, show_default=default is not None, help=said)


def project_around(root: Path | None) -> Path:
    """The repository around the folder, as a person inside a subfolder means."""
    here = (root or Path()).resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


@contextmanager
def translate_errors(into: type[click.ClickException] = click.ClickException) -> Iterator[None]:
    """An error of ours ends the command with its message and its remedy."""
    try:
        yield
    except CairnError as error:
        from codecairn.reading.code import code_text

        raise into(code_text(_sentence(error))) from error


def _sentence(error: CairnError) -> str:
    if candidates := error.data.get("candidates"):
        width = max(len(each["qualified_name"]) for each in candidates)
        rows = [f"  {each['qualified_name']:<{width}}  {each['path']}:{each['line_start']}" for each in candidates]
        more = error.data["total_candidates"] - len(candidates)
        left = [f"  and {more} more"] if more else []
        return "\n".join([f"{error.message.partition(':')[0]}:", *rows, *left, error.remedy])
    details = error.data.get("details")
    detail = f": {details}" if isinstance(details, str) and details not in error.message else ""
    return f"{error.message}{detail}. {error.remedy}"


def open_tools(root: Path | None = None) -> tuple[Registry, Projects]:
    """The registry and the projects of a command, opened once: what one call has learnt of a project serves the next.
    `root` is the project for tools that take none."""
    from codecairn import tools
    from codecairn.project import Projects

    state = click.get_current_context().meta
    if _OPEN not in state:
        state[_OPEN] = (tools.Registry(), Projects(config.load((str(root),) if root else ())))
    found: tuple[Registry, Projects] = state[_OPEN]
    return found


def open_project(root: Path | None, into: type[click.ClickException] = click.ClickException) -> Project:
    """The project at a root; where none is given, the one that the user is in or has set."""
    with translate_errors(into):
        _, projects = open_tools()
        return projects.project_at(str(root.resolve()), param="root") if root else projects.current()


def call_tool(
    tool: str, arguments: Mapping[str, Any], report: Report | None = None, *, root: Path | None = None
) -> dict[str, Any]:
    """Returns a tool's value; its error ends the command."""
    with translate_errors():
        reply = _reply(tool, arguments, report, root)
        if reply.error is not None:
            raise reply.error
    return reply.value


def _reply(tool: str, arguments: Mapping[str, Any], report: Report | None, root: Path | None) -> ToolReply:
    from codecairn import tools
    from codecairn.connection import Connection

    logs.configure("warning", "text")
    registry, projects = open_tools(root)
    call = tools.Call(projects, Connection("cli"), registry, "cli", report=report)
    return registry.call(tools.declared(tool), call, dict(arguments))


def ask_tool(tool: str, root: Path | None, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool's value about the project around a folder, or a ref of it, as it is now.

    The answer itself says whether it is fresh; only where it is not, the files are indexed and the tool asked again.
    """
    project = str(project_around(root))
    arguments = {"workspace": project, **asked}
    if asked.get("ref") is None:
        with translate_errors(), _nothing_collected():
            reply = _reply(tool, arguments, None, None)
        if reply.error is None and reply.value["metadata"]["freshness_status"] == "fresh":
            return reply.value
    bring_up(project, asked.get("ref"))
    return call_tool(tool, arguments)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """One answer leaves little that only names itself, and to look for it takes 7 ms of a search's 240."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def bring_up(project: str, *refs: str | None) -> None:
    """Index what a command asks about as it is now: these refs, None for the working tree."""
    with progress_bar() as report:
        for ref in refs:
            if ref is not None or call_tool("get_status", {"path": project})["metadata"]["freshness_status"] != "fresh":
                call_tool("index_codebase", {"path": project, "ref": ref}, report)


@contextmanager
def progress_bar() -> Iterator[Report | None]:
    """Draws how far a command is, where somebody looks at a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total, said: bar.update(task, completed=done, total=total, description=said or "")
