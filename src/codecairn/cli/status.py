"""cairn status"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show_json, show_warnings
from codecairn.cli.tool_call import call_tool, tool_options
from codecairn.text import number_of


@click.command(help="Say whether a project is indexed, how much of it, how fresh, and what was left out.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@tool_options("get_status", {})
def command(path: Path | None, root: Path | None, structured: bool) -> None:
    answer = call_tool("get_status", {"path": str((path or root or Path()).resolve())})
    if structured:
        show_json(answer)
        return
    click.echo(answer["message"])
    if answer["statistics"] is not None:
        _show_counts(answer["statistics"], answer["metadata"], answer["project"]["languages"])
    show_warnings(answer["metadata"])


def _show_counts(counts: dict[str, Any], metadata: dict[str, Any], languages: list[str]) -> None:
    when = counts["last_indexed_at"]
    click.echo(f"  {metadata['freshness_status']}, on {metadata['ref']}{f', indexed {when}' if when else ''}")
    click.echo(
        f"  {counts['total_files']} files: {counts['files_indexed']} indexed "
        f"({counts['files_as_text']} of them as text alone), "
        f"{counts['total_files'] - counts['files_indexed']} listed and not read"
    )
    click.echo(
        f"  {number_of(counts['total_symbols'], 'symbol')}, {number_of(counts['total_chunks'], 'chunk')}, "
        f"{number_of(counts['total_lines'], 'line')}, {counts['index_size_mb']:.1f} MB"
    )
    click.echo(f"  {', '.join(languages)}")
    if counts["files_with_errors"]:
        click.echo(f"  {number_of(counts['files_with_errors'], 'file')} read around syntax errors")
    if counts["skipped"]:
        click.echo("  left out, by reason (files, or folders where it says so):")
    for each in counts["skipped"]:
        click.echo(f"  {each['count']:>6}  {each['reason']}")
