"""cairn search"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show
from codecairn.cli.tool_call import ask_tool, call_tool, project_around, tool_options
from codecairn.reading.search import print_explanation, print_search

_FLAGS = {"limit": "-n --limit", "search_mode": "--mode", "language": "--language", "path_filter": "--path"}


@click.command(help="Search the code of a project: words, a name, a path, an error message. Indexes it if need be.")
@click.argument("query", nargs=-1, required=True)
@click.option("--explain", is_flag=True, help="Show what each score is made of.")
@tool_options("search_code", _FLAGS)
def command(query: tuple[str, ...], root: Path | None, explain: bool, structured: bool, **asked: Any) -> None:
    asked["query"] = " ".join(query)
    answer = ask_tool("search_code", root, asked)
    if structured or not explain:
        show(print_search, answer, structured=structured)
    else:
        _explain(root, {name: value for name, value in asked.items() if name != "limit"}, answer)
    sys.exit(0 if answer["results"] else 1)


def _explain(root: Path | None, asked: dict[str, Any], answer: dict[str, Any]) -> None:
    project = str(project_around(root))
    for result in answer["results"]:
        place = {"result_path": result["file"]["path"], "result_line_start": result["file"]["start_line"]}
        show(print_explanation, call_tool("explain_ranking", {"workspace": project, **asked, **place}))
