"""cairn status"""

from __future__ import annotations

import json
from pathlib import Path

import click

from codecairn.cli.index import called, root_option
from codecairn.text import number_of


@click.command(help="Say whether a project is indexed, how much of it, how fresh, and what was left out.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@root_option
@click.option("--json", "structured", is_flag=True, help="Print what get_status answers.")
def command(path: Path | None, root: Path, structured: bool) -> None:
    value = called("get_status", {"path": str((path or root).resolve())})
    if structured:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    metadata, statistics, project = value["metadata"], value["statistics"], value["project"]
    click.echo(value["message"])
    if statistics is not None:
        when = statistics["last_indexed_at"]
        click.echo(f"  {metadata['freshness_status']}, on {metadata['ref']}{f', indexed {when}' if when else ''}")
        click.echo(
            f"  {statistics['total_files']} files: {statistics['files_indexed']} indexed "
            f"({statistics['files_as_text']} of them as text alone), "
            f"{statistics['total_files'] - statistics['files_indexed']} listed and not read"
        )
        click.echo(
            f"  {number_of(statistics['total_symbols'], 'symbol')}, {number_of(statistics['total_chunks'], 'chunk')}, "
            f"{number_of(statistics['total_lines'], 'line')}, {statistics['index_size_mb']:.1f} MB"
        )
        click.echo(f"  {', '.join(project['languages'])}")
        if statistics["files_with_errors"]:
            click.echo(f"  {number_of(statistics['files_with_errors'], 'file')} read around syntax errors")
        if statistics["skipped"]:
            click.echo("  left out, by reason (files, or folders where it says so):")
        for each in statistics["skipped"]:
            click.echo(f"  {each['count']:>6}  {each['reason']}")
    for warning in metadata.get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)
