"""cairn search"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option

_MOST_LINES = 5


@click.command(help="Search the code of a project: words, a name, a path, an error message. Indexes it if need be.")
@click.argument("query", nargs=-1, required=True)
@root_option
@click.option("-n", "limit", default=10, show_default=True, type=click.IntRange(1, 100), help="Most results.")
@click.option("--mode", type=click.Choice(["hybrid", "vector", "keyword"]), default="hybrid", show_default=True)
@click.option("--language", metavar="NAME", help="Only this language.")
@click.option("--path", "path_filter", metavar="PATH", help="Only below this folder, or matching this glob.")
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@click.option("--ref", metavar="REF", help="A branch, tag or commit instead of the working tree.")
@click.option("--json", "structured", is_flag=True, help="Print what search_code answers.")
def command(
    query: tuple[str, ...],
    root: Path,
    limit: int,
    mode: str,
    language: str | None,
    path_filter: str | None,
    explain: bool,
    structured: bool,
    ref: str | None,
) -> None:
    project = str(project_around(root))
    options = {"language": language, "path_filter": path_filter, "ref": ref}
    asked = {"path": project, "query": " ".join(query), "limit": limit, "search_mode": mode, **options}
    bring_up(project, ref)
    answer = called("search_code", asked)
    if structured:
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
        sys.exit(0 if answer["results"] else 1)
    words = _words(" ".join(query))
    for result in answer["results"]:
        _print(result, words)
        if explain:
            _print_explained(project, asked, result)
    for warning in answer["metadata"].get("warnings", ()):
        click.echo(f"warning: {warning}", err=True)
    click.echo(click.style(answer["message"], dim=True), err=True)
    sys.exit(0 if answer["results"] else 1)


def project_around(root: Path) -> Path:
    """The repository around the folder, as a person inside a subfolder means."""
    here = root.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _words(query: str) -> re.Pattern[str]:
    words = sorted(set(re.findall(r"\w{3,}", query)), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)) or r"(?!)", re.IGNORECASE)


def _print(result: dict[str, Any], words: re.Pattern[str]) -> None:
    file, symbol = result["file"], result["symbol"]
    place = click.style(f"{file['path']}:{file['start_line']}", fg="cyan")
    title = click.style(symbol["signature"].split("\n")[0][:100], bold=True) if symbol else ""
    click.echo(f"{place}  {title}  {click.style(format(result['relevance_score'], '.2f'), dim=True)}")
    for number, line in _lines_that_matter(result, words):
        marked = words.sub(lambda found: click.style(found[0], fg="yellow"), line[:160])
        click.echo(f"{click.style(format(number or '', '>6'), dim=True)}  {marked}")


def _lines_that_matter(result: dict[str, Any], words: re.Pattern[str]) -> list[tuple[int, str]]:
    lines = list(_numbered(result["content"].split("\n"), result["content_start_line"]))
    matching = [each for each in lines if words.search(each[1])]
    return (matching or [each for each in lines if each[1].strip()])[:_MOST_LINES]


def _numbered(lines: list[str], first: int) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; 0 for those after an elision, which are further down than they seem."""
    from codecairn.rank.show import ELISION

    until = lines.index(ELISION) if ELISION in lines else len(lines)
    return ((first + at if at < until else 0, line) for at, line in enumerate(lines))


def _print_explained(project: str, asked: dict[str, Any], result: dict[str, Any]) -> None:
    names = {name: asked[name] for name in ("query", "search_mode", "language", "path_filter", "ref")}
    place = {"result_path": result["file"]["path"], "result_line_start": result["file"]["start_line"]}
    why = called("explain_ranking", {"workspace": project, **names, **place})
    for signal, value in why["scoring"].items():
        reason = why["scoring_details"].get(f"{signal}_reason") or why["scoring_details"].get(f"{signal}_source", "")
        if value:
            click.echo(f"      {value:>8.3f}  {signal:<16} {click.style(reason, dim=True)}")
