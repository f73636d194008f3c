"""cairn read"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from codecairn.cli.show import show_json, show_warnings
from codecairn.cli.tool_call import bring_up, call_tool, project_around, tool_options
from codecairn.reading.code import code_line
from codecairn.text import one_line


@click.command(
    help="Print a file with its lines numbered, as it is or as a branch, tag or commit has it. With --deps also the "
    "files of the project that it imports, which indexes the project if need be."
)
@click.argument("path")
@click.option("--lines", metavar="A-B", help="Only these lines: 10-20, 10- or 10.")
@click.option("--plain", is_flag=True, help="Only the text: no numbers, no heading.")
@tool_options("read_file", {"includeDeps": "--deps"})
def command(path: str, root: Path | None, lines: str | None, plain: bool, structured: bool, **asked: Any) -> None:
    place = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow a link, which is read_file's to judge
    project = project_around(root or _nearest(place.parent))
    start, end = _range(lines)
    if asked["includeDeps"]:
        bring_up(str(project), None)
    about = {"workspace": str(project), "path": _inside(place, project), "startLine": start, "endLine": end}
    answer = call_tool("read_file", {**about, **asked})
    if structured:
        show_json(answer)
    elif plain:
        click.echo(answer["file"]["content"], nl=False)
    else:
        _print(answer)


def _nearest(folder: Path) -> Path:
    """The folder, or the one above it that is there: a commit may have folders that are gone."""
    return next(each for each in (folder, *folder.parents) if each.is_dir())


def _inside(place: Path, project: Path) -> str:
    try:
        return place.relative_to(project).as_posix()
    except ValueError:
        return Path(place.parent.resolve() / place.name).relative_to(project).as_posix()


def _range(lines: str | None) -> tuple[int | None, int | None]:
    if lines is None:
        return None, None
    found = re.fullmatch(r"(\d{1,9})(-)?(\d{1,9})?", lines)
    if found is None or int(found[1]) < 1:
        raise click.UsageError(f"--lines {lines}: give 10-20, 10- or 10")
    start = int(found[1])
    return start, int(found[3]) if found[3] else None if found[2] else start


def _print(answer: dict[str, Any]) -> None:
    file, about = answer["file"], answer["metadata"]
    said = [
        file["language"],
        f"{file['lines']} lines",
        about["role"],
        file.get("encoding"),
        about.get("commit", "")[:12],
    ]
    click.echo(f"{click.style(one_line(file['path']), bold=True)}  {', '.join(filter(None, said))}")
    lines = file["content"].split("\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], file.get("startLine", 1)):
        click.echo(f"{click.style(format(number, '>6'), dim=True)}  {code_line(line)}")
    for each in answer["dependencies"]:
        why = f"  {each['omitted']}" if "omitted" in each else f"  {each['content'].count(chr(10))} lines"
        click.echo(f"{click.style('imports', dim=True)}  {click.style(one_line(each['path']), fg='cyan')}{why}")
    for name in ("external", "unresolved"):
        if answer.get(name):
            click.echo(f"{click.style(name, dim=True)}  {one_line(', '.join(answer[name]))}")
    show_warnings(about)
