"""cairn diff"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around

_SIGNS = {"added": ("+", "green"), "modified": ("~", "yellow"), "deleted": ("-", "red")}
_LIVE = "live"


@click.command(
    help="What HEAD changed since it left BASE, by symbol. BASE defaults to the default branch, HEAD to what is "
    "checked out; `live` is the working tree. Indexes what it needs."
)
@click.argument("base", required=False)
@click.argument("head", required=False)
@root_option
@click.option("--path", metavar="PATH", help="Only below this folder, or matching this glob.")
@click.option("-n", "limit", default=1000, show_default=True, type=click.IntRange(1, 1000), help="Most symbols.")
@click.option("--json", "structured", is_flag=True, help="Print what diff_context answers.")
def command(base: str | None, head: str | None, root: Path, path: str | None, limit: int, structured: bool) -> None:
    project = str(project_around(root))
    bring_up(project, None, *(ref for ref in (base, head) if ref not in (None, _LIVE)))
    asked = {"workspace": project, "base_ref": base, "head_ref": head, "path_filter": path, "limit": limit}
    answer = called("diff_context", asked)
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        _print(answer)


def _print(answer: dict[str, Any]) -> None:
    files = {each["path"]: each for each in answer["file_changes"]}
    for path, rows in groupby(answer["changes"], key=lambda row: row["path"]):
        click.echo(_heading(files.pop(path, {"path": path})))
        for row in rows:
            _print_row(row)
    for each in files.values():
        click.echo(_heading(each))
    shown, total = len(answer["changes"]), answer["total_changes"]
    counted = f"{shown} of {total}" if shown < total else str(total)
    said = f"{counted} symbols in {answer['affected_files']} files, {answer['base_ref']} → {answer['head_ref']}"
    click.echo(click.style(f"{said} (since {answer['merge_base_commit'][:9]})", dim=True), err=True)
    for warning in answer["metadata"].get("warnings", []):
        click.echo(click.style(warning, fg="yellow"), err=True)


def _heading(file: dict[str, Any]) -> str:
    was = f"renamed from {file['old_path']}" if "old_path" in file else file.get("change_type", "")
    why = f"not compared: {file['not_indexed']}" if "not_indexed" in file else ""
    return f"{click.style(file['path'], fg='cyan')}  {click.style(', '.join(filter(None, (was, why))), dim=True)}"


def _print_row(row: dict[str, Any]) -> None:
    sign, colour = _SIGNS[row["change_type"]]
    number = click.style(format(row["lines"]["start"], ">6"), dim=True)
    record = row["after"] or row["before"]
    said = click.style("  ".join(_told(row)), dim=True)
    click.echo(f"{number}  {click.style(sign, fg=colour)} {record['kind']} {record['signature'][:120]}  {said}")
    if row.get("signature_changed") and row["before"]:
        click.echo(" " * 8 + click.style(f"was {row['before']['signature'][:120]}", dim=True))


def _told(row: dict[str, Any]) -> list[str]:
    """What is worth saying of a change besides that there is one."""
    was = [f"{name.replace('_', ' ')} {row[name]}" for name in ("moved_from", "renamed_from") if name in row]
    flags = {"whitespace_or_comments_only": "layout or comments only", "only_members": "members only"}
    callers = {row[side] for side in ("callers_at_base", "callers_at_head") if side in row}
    calls = " → ".join(str(row.get(side, "–")) for side in ("callers_at_base", "callers_at_head"))
    return [*was, *(text for flag, text in flags.items() if row.get(flag)), *([f"callers {calls}"] if callers else [])]
