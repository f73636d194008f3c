"""cairn grep"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from codecairn.cli.index import called, root_option
from codecairn.cli.search import project_around
from codecairn.cli.show import show
from codecairn.reading.grep import print_grep


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
        "context": 2 if context else None,
    }
    answer = called("grep_codebase", asked, root=project_around(root))
    show(print_grep, answer, structured=structured, context=context)
    sys.exit(0 if answer["matches"] else 1)
