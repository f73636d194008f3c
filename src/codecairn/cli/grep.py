"""cairn grep"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import called, root_option
from codecairn.cli.search import project_around


@click.command(
    help="Print the lines of a project that match a regular expression. What git ignores, secrets and built output are "
    "not searched. Ends with status 1 where nothing matches."
)
@click.argument("pattern")
@root_option
@click.option("--glob", "file_pattern", metavar="GLOB", help="Only files whose path matches: '**/*.ts'.")
@click.option("-s", "--case-sensitive", is_flag=True, help="Tell upper from lower case.")
@click.option("-n", "limit", default=50, show_default=True, type=click.IntRange(1, 100), help="Most matches.")
@click.option("-C", "--context", is_flag=True, help="Two lines before and after each match.")
@click.option("--ref", metavar="REF", help="Search this branch, tag or commit, without a checkout.")
@click.option("--json", "structured", is_flag=True, help="Print what grep_codebase answers.")
def command(
    pattern: str,
    root: Path,
    file_pattern: str | None,
    case_sensitive: bool,
    limit: int,
    context: bool,
    ref: str | None,
    structured: bool,
) -> None:
    asked = {
        "pattern": pattern,
        "filePattern": file_pattern,
        "caseSensitive": case_sensitive,
        "limit": limit,
        "ref": ref,
    }
    answer = called("grep_codebase", asked, root=project_around(root))
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        _print(answer, context=context)
    sys.exit(0 if answer["matches"] else 1)


def _print(answer: dict[str, Any], *, context: bool) -> None:
    for each in answer["matches"]:
        place = f"{click.style(each['file'], fg='cyan')}:{each['line']}:{each['column']}"
        if not context:
            click.echo(f"{place}: {each['text'].strip()}")
            continue
        click.echo(place)
        _print_lines(each)
    shown, total = len(answer["matches"]), answer["totalMatches"]
    count = f"{shown} of {total} matches" if shown < total else f"{total} match{'' if total == 1 else 'es'}"
    said = f"{count} in {answer['filesSearched']} files, {answer['searchTime']:.0f} ms, {answer['engine']}"
    click.echo(click.style(said, dim=True), err=True)
    if "message" in answer and total:
        click.echo(answer["message"], err=True)


def _print_lines(each: dict[str, Any]) -> None:
    before, after = each["context"]["before"], each["context"]["after"]
    for number, line in enumerate([*before, each["text"], *after], each["line"] - len(before)):
        mark = ">" if number == each["line"] else " "
        click.echo(f"{click.style(format(number, '>6'), dim=True)} {mark} {line}")
