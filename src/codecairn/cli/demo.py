"""cairn demo"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from codecairn import config
from codecairn.cli.demo_subjects import DemoFunction, Subjects, find_subjects, misspelling
from codecairn.cli.tool_call import INTERRUPTED, progress_bar, root_option, translate_errors
from codecairn.errors import Busy, CairnError
from codecairn.text import number_of

_MOST_LINES = 20
_BLAMED = 8
"""Lines."""
_LOOK_EVERY_S = 0.5
"""While another process writes the index."""


@click.command(help="Show what Cairn does, on the repository you are in, through a real MCP client.")
@root_option
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=45,
    show_default=True,
    metavar="SECONDS",
    help="The longest to wait for the index; what needs it whole is left out where it takes longer.",
)
def command(root: Path | None, wait: float) -> None:
    import anyio
    from mcp import MCPError

    where = (root or Path()).resolve()
    settings = config.load((str(where),))
    _check(settings)
    try:
        with _temporary_home(settings) as home:
            anyio.run(_show, where, home, wait)
    except MCPError as error:
        raise click.ClickException(f"The server did not answer: {error}") from error
    except KeyboardInterrupt:
        click.echo("\nInterrupted. Nothing that the demo remembered is kept.", err=True)
        sys.exit(INTERRUPTED)


def _check(settings: config.Settings) -> None:
    from codecairn.project import Projects

    with translate_errors(click.UsageError):
        Projects(settings).current(())


@contextmanager
def _temporary_home(settings: config.Settings) -> Iterator[Path]:
    """A data directory that is deleted at the end, however that comes; only the index in it is the user's own."""
    from codecairn.store.folders import make_private_folder

    with tempfile.TemporaryDirectory(prefix="cairn-demo-", ignore_cleanup_errors=True) as folder:
        home = Path(folder)
        link = home / "indexes"
        # Windows may refuse links, and the user's directory may be read-only: then the index is made anew, and deleted.
        with contextlib.suppress(OSError, CairnError):
            link.symlink_to(
                make_private_folder(config.data_folder(settings).resolve() / link.name), target_is_directory=True
            )
        try:
            yield home
        finally:
            with contextlib.suppress(OSError):
                link.unlink()


async def _show(root: Path, home: Path, wait: float) -> None:
    from mcp import Client, StdioServerParameters

    _say("A client starts `cairn serve` on this repository and speaks MCP to it over stdio.")
    arguments = ["-m", "codecairn", "serve", "--log-level", "error", "--root", str(root)]
    environment = {**config.child_environment(), "CAIRN_HOME": str(home)}
    began = time.perf_counter()
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(server) as client:
        ready = (time.perf_counter() - began) * 1000
        tools = (await client.list_tools()).tools
        click.echo(f"It answered after {ready:.0f} ms and offers {len(tools)} tools.")
        kept = "the index is kept for your own client" if (home / "indexes").is_symlink() else "so is the index"
        click.echo(f"All that the demo asks and remembers is in a temporary folder, deleted at its end; {kept}.")
        demo = _Demo(client)
        is_indexed = await _await_index(client, wait)
        subjects = await demo.choose(is_indexed=is_indexed)
        await _ask_about_code(demo, subjects, is_indexed=is_indexed)
        await _ask_about_history(demo, subjects, is_indexed=is_indexed)
        if is_indexed or subjects.paths:
            await _ask_about_memory(demo, subjects)
        await _make_a_mistake(demo, subjects)
    _say("That was all.")
    click.echo(f"An agent would have read {demo.characters:,} characters in {number_of(demo.answers, 'answer')}.")
    click.echo("Connect your own client:  cairn setup")
    click.echo("One that it does not know: the command is `cairn serve`, started in the repository, over stdio.")


class _Demo:
    """A client that shows what it asks and reads, and counts it."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.answers = 0
        self.characters = 0

    async def choose(self, *, is_indexed: bool) -> Subjects:
        began, calls = time.perf_counter(), 0

        async def ask(tool: str, **arguments: Any) -> dict[str, Any] | None:
            nonlocal calls
            calls += 1
            result = await self._client.call_tool(tool, arguments)
            value: dict[str, Any] | None = None if result.is_error else result.structured_content
            return value

        subjects = await find_subjects(ask, is_indexed=is_indexed)
        seconds = time.perf_counter() - began
        click.echo(f"{number_of(calls, 'call')} in {seconds:.1f} s chose what to ask about: {_choice(subjects)}.")
        return subjects

    async def show(self, question: str, tool: str, **arguments: Any) -> dict[str, Any]:
        _say(question)
        given = json.dumps(arguments, ensure_ascii=False) if arguments else ""
        click.echo(click.style(f"→ {tool} {given}".rstrip(), fg="cyan"))
        began = time.perf_counter()
        result = await self._client.call_tool(tool, arguments)
        elapsed = (time.perf_counter() - began) * 1000
        text = result.content[0].text
        self.answers += 1
        self.characters += len(text)
        _print_answer(text)
        click.echo(click.style(f"  ({elapsed:.0f} ms, {len(text):,} characters)", dim=True))
        return result.structured_content or {}


def _print_answer(text: str) -> None:
    lines = text.splitlines()
    for line in lines[:_MOST_LINES]:
        click.echo(f"  │ {line}".rstrip())
    if len(lines) > _MOST_LINES:
        click.echo(f"  │ … {number_of(len(lines) - _MOST_LINES, 'more line')}")


def _choice(subjects: Subjects) -> str:
    if subjects.function is not None:
        return f"{subjects.function.name} of {subjects.function.path}, {number_of(subjects.function.uses, 'use')}"
    if subjects.commits:
        return "the last commits, as no function is known here"
    return "files alone, as neither functions nor commits are known here" if subjects.paths else "nothing is here"


async def _await_index(client: Any, wait: float) -> bool:
    """Whether everything is indexed in time."""
    import anyio

    click.echo(f"The server indexes the repository by itself; the demo waits for it, at most {wait:.0f} s.")
    began = time.perf_counter()
    with progress_bar() as report, anyio.move_on_after(wait) as limit:

        async def draw(done: float, total: float | None, said: str | None) -> None:
            if report is not None:
                report(done, total, said)

        result = await client.call_tool("index_codebase", {}, progress_callback=draw)
        while result.is_error and result.structured_content["error"]["code"] == Busy.number:
            await anyio.sleep(_LOOK_EVERY_S)
            result = await client.call_tool("index_codebase", {}, progress_callback=draw)
    if limit.cancelled_caught:
        click.echo(
            "It takes longer. What needs the whole index is left out below; `cairn index` makes it at leisure. "
            "Meanwhile a call waits ten seconds at most, and says how much is indexed by then."
        )
        return False
    if result.is_error:
        _print_answer(result.content[0].text)
        return False
    status = await client.call_tool("get_status", {})
    counts = (status.structured_content or {}).get("statistics") or {"total_files": 0, "total_symbols": 0}
    click.echo(
        f"Ready after {time.perf_counter() - began:.1f} s: {number_of(counts['total_files'], 'file')}, "
        f"{number_of(counts['total_symbols'], 'symbol')}."
    )
    return True


async def _ask_about_code(demo: _Demo, subjects: Subjects, *, is_indexed: bool) -> None:
    function = subjects.function
    if function is not None:
        await _ask_about_function(demo, function)
    elif subjects.task is not None:
        await demo.show("Where is this done?", "search_code", query=subjects.task, limit=5)
    elif subjects.paths:
        stem = Path(subjects.paths[0]).stem
        await demo.show(f"What is said about {stem}?", "search_code", query=stem, limit=5)
    else:
        _pass_over("There is no code and no document yet, so nothing is searched.")
    if function is None and is_indexed and subjects.paths:
        await demo.show("What does this repository hold?", "get_file_outline", path=".")


async def _ask_about_function(demo: _Demo, function: DemoFunction) -> None:
    name, path = function.name, function.path
    await demo.show("Where is this done?", "search_code", query=function.question, limit=5)
    await demo.show(f"What does {name} look like?", "find_symbol", symbol_name=name, path=path, limit=1)
    await demo.show(f"Who uses {name}?", "find_references", symbol_name=name, path=path, line=function.line)
    await demo.show(f"Who calls {name}, and what does it call?", "get_call_graph", symbol_name=function.qualified)


async def _ask_about_history(demo: _Demo, subjects: Subjects, *, is_indexed: bool) -> None:
    if not subjects.commits:
        _pass_over("There are no commits here, so nothing is asked about history.")
        return
    await demo.show("What was done lately?", "git_log", maxCount=3)
    function = subjects.function
    if function is not None:
        end = min(function.end, function.line + _BLAMED)
        question = f"Who wrote the first lines of {function.name}, and why?"
        await demo.show(question, "git_blame", filePath=function.path, startLine=function.line, endLine=end)
    elif subjects.paths:
        path = subjects.paths[0]
        await demo.show(
            f"Who wrote the first line of {path}, and why?", "git_blame", filePath=path, startLine=1, endLine=1
        )
    if not is_indexed:
        return
    if subjects.refs_to_compare is not None:
        base, head = subjects.refs_to_compare
        await demo.show(
            "What did the last changes do, and whom do they concern?", "diff_context", base_ref=base, head_ref=head
        )
    else:
        _pass_over("There is one commit, so there is nothing to compare.")
    if subjects.task is not None:
        await demo.show(
            "What has to be known for a task like the last one?", "build_context_pack", task=subjects.task,
            max_tokens=2_000,
        )  # fmt: skip


async def _ask_about_memory(demo: _Demo, subjects: Subjects) -> None:
    function = subjects.function
    about = function.name if function else subjects.paths[0] if subjects.paths else "this repository"
    note = f"Whoever changes {about} tells the others first. (cairn demo decided so, to show how a decision is kept.)"
    binding = {"symbol": function.name, "path": function.path} if function else {}
    stored = await demo.show("What if something is learnt?", "remember", type="decision", content=note, **binding)
    await demo.show(
        "Does another agent find it, some day?", "context_search", query=f"who changes {about}", type="decision"
    )
    if stored.get("discovery"):
        await demo.show("And if it is wrong?", "forget", id=stored["discovery"]["id"])


async def _make_a_mistake(demo: _Demo, subjects: Subjects) -> None:
    question = "And where it cannot answer, what does it say?"
    if subjects.function is not None:
        await demo.show(question, "find_references", symbol_name=misspelling(subjects.function.name))
    elif subjects.paths:
        folder, _, name = subjects.paths[0].rpartition("/")
        wrong = f"{folder}/{misspelling(name)}".lstrip("/")
        await demo.show(question, "read_file", path=wrong)
    else:
        await demo.show(question, "read_file", path="README.md")


def _say(text: str) -> None:
    click.echo("\n" + click.style(text, bold=True))


def _pass_over(text: str) -> None:
    click.echo("\n" + click.style(text, dim=True))
