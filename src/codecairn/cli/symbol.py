"""cairn symbol"""

from __future__ import annotations

from pathlib import Path

import click

from codecairn.cli.index import bring_up, called, root_option
from codecairn.cli.search import project_around
from codecairn.cli.show import show
from codecairn.reading.outline import print_symbols


@click.command(help="The definition of a name with its source, exact before near. Indexes the project if need be.")
@click.argument("name")
@root_option
@click.option("--kind", metavar="KIND", help="Only this kind: fn, method, class, const, field …")
@click.option("--language", metavar="NAME", help="Only this language.")
@click.option("--path", metavar="PATH", help="Only below this folder, or matching this glob.")
@click.option("-n", "limit", default=10, show_default=True, type=click.IntRange(1, 100), help="Most symbols.")
@click.option("--ref", metavar="REF", help="A branch, tag or commit instead of the working tree.")
@click.option("--json", "structured", is_flag=True, help="Print what find_symbol answers.")
def command(
    name: str,
    root: Path,
    kind: str | None,
    language: str | None,
    path: str | None,
    limit: int,
    structured: bool,
    ref: str | None,
) -> None:
    project = str(project_around(root))
    bring_up(project, ref)
    filters = {"ref": ref, "kind": kind, "language": language, "path": path}
    answer = called("find_symbol", {"workspace": project, "symbol_name": name, "limit": limit, **filters})
    show(print_symbols, answer, structured=structured)
