"""cairn demo"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

_MOST_LINES = 24


@click.command(help="Show what Cairn does, on the repository you are in, through a real MCP client.")
@click.option("--root", "--workspace", "root", default=".", metavar="PATH", help="The repository to show it on.")
def command(root: str) -> None:
    import anyio

    anyio.run(_show, root)


async def _show(root: str) -> None:
    from mcp import Client, StdioServerParameters

    _say("A client starts `cairn serve` on this repository and speaks MCP to it over stdio.")
    arguments = ["-m", "codecairn", "serve", "--log-level", "error", "--root", root]
    began = time.perf_counter()
    async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
        ready = (time.perf_counter() - began) * 1000
        tools = (await client.list_tools()).tools
        name = client.server_info.name if client.server_info else "The server"
        _line(f"{name} answered in {ready:.0f} ms, {len(tools)} tools:")
        for tool in tools:
            _line(f"  {tool.name:<20} {(tool.description or '').split('. ')[0]}.")
        await _call(client, "health_check", {}, "Is it well?")
        here = {"path": str(Path(root).resolve())}
        if await _index(client, here, "Is everything indexed? (The server began by itself.)"):
            question = {**here, "query": "where are the tools declared and called", "limit": 3}
            await _search(client, question, "Where is this done?")
        log = await _call(client, "git_log", {"maxCount": 3}, "What was done lately?")
        path = _a_text_file(log)
        if path is not None:
            blame = {"filePath": path, "startLine": 1, "endLine": 6}
            await _call(client, "git_blame", blame, f"Who wrote the first lines of {path}, and why?")
        if log and len(log.get("commits", [])) > 1:
            refs = {"ref1": log["commits"][1]["hash"][:10], "ref2": "HEAD", "summary": True}
            await _call(client, "git_diff", refs, "What did the last commit change?")
        prompt = {"prompt": "Audience: release engineers. Deploy with key AKIAIOSFODNN7EXAMPLE."}
        await _call(client, "prompt_review", prompt, "May this prompt be shared?")
        await _call(
            client, "git_diff", {"ref1": "no-such-branch"}, "And when it cannot answer, it says why and what to do:"
        )
    _say("Connect it to your own client:  claude mcp add cairn -- cairn serve")


async def _index(client: Any, arguments: Mapping[str, Any], question: str) -> bool:
    _say(f"{question}  → index_codebase {dict(arguments)}")
    began = time.perf_counter()
    result = await client.call_tool("index_codebase", dict(arguments))
    elapsed = (time.perf_counter() - began) * 1000
    if result.is_error or not result.structured_content:
        _line(f"  │ {result.content[0].text}")
        return False
    counts, metadata = result.structured_content["statistics"], result.structured_content["metadata"]
    _line(f"  │ {result.structured_content['message']}")
    _line(
        f"  │ {counts['symbols_extracted']} symbols, {counts['chunks_created']} chunks, "
        f"{counts['index_size_mb']:.1f} MB; {metadata['freshness_status']}, {metadata['result_completeness']}, "
        f"on {metadata['ref']}"
    )
    _line(click.style(f"  ({elapsed:.0f} ms)", dim=True))
    return True


async def _search(client: Any, arguments: Mapping[str, Any], question: str) -> None:
    _say(f"{question}  → search_code {dict(arguments)}")
    began = time.perf_counter()
    found = (await client.call_tool("search_code", dict(arguments))).structured_content
    elapsed = (time.perf_counter() - began) * 1000
    for result in found["results"]:
        symbol, file = result["symbol"], result["file"]
        said = symbol["signature"] if symbol else result["content"].strip().split("\n")[0]
        _line(
            f"  │ {result['rank']}. {file['path']}:{file['start_line']}  {said[:90]}  {result['relevance_score']:.2f}"
        )
    _line(click.style(f"  ({elapsed:.0f} ms)", dim=True))


async def _call(client: Any, tool: str, arguments: Mapping[str, Any], question: str) -> dict[str, Any] | None:
    _say(f"{question}  → {tool} {dict(arguments) or ''}")
    began = time.perf_counter()
    result = await client.call_tool(tool, dict(arguments))
    elapsed = (time.perf_counter() - began) * 1000
    lines = result.content[0].text.splitlines()
    for line in lines[:_MOST_LINES]:
        _line(f"  │ {line}")
    if len(lines) > _MOST_LINES:
        _line(f"  │ … {len(lines) - _MOST_LINES} more lines")
    _line(click.style(f"  ({elapsed:.0f} ms)", dim=True))
    value: dict[str, Any] | None = result.structured_content
    return value


def _a_text_file(log: dict[str, Any] | None) -> str | None:
    """A file of the latest commits that is still there and reads like source."""
    changes = [change for commit in (log or {}).get("commits", []) for change in commit["files"]]
    paths = [change["path"] for change in changes if change["status"] != "deleted"]
    preferred = [path for path in paths if path.endswith((".py", ".ts", ".js", ".go", ".rs", ".java", ".md"))]
    return next(iter(preferred or paths), None)


def _say(text: str) -> None:
    click.echo("\n" + click.style(text, bold=True))


def _line(text: str) -> None:
    click.echo(text)
