"""cairn search"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.show import show
from codecairn.reading.search import print_explanation, print_search


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
    if structured or not explain:
        show(print_search, answer, structured=structured)
    else:
        _show_explained(project, asked, answer)
    sys.exit(0 if answer["results"] else 1)


def project_around(root: Path) -> Path:
    """The repository around the folder, as a person inside a subfolder means."""
    here = root.resolve()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _show_explained(project: str, asked: dict[str, Any], answer: dict[str, Any]) -> None:
    names = {name: asked[name] for name in ("query", "search_mode", "language", "path_filter", "ref")}
    for result in answer["results"]:
        place = {"result_path": result["file"]["path"], "result_line_start": result["file"]["start_line"]}
        show(print_explanation, called("explain_ranking", {"workspace": project, **names, **place}))
