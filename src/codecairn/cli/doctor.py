"""cairn doctor"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from codecairn import config
from codecairn.cli.tool_call import project_around, root_option

if TYPE_CHECKING:
    from codecairn.doctor import Finding

_MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red")}
_SUBJECT = 14


@click.command(
    help="Look for what is wrong: versions, programs, limits, the data directory, this project's index, the clients' "
    "entries. Each line says the way out; the exit code is 1 where one is marked ✗."
)
@root_option
@click.option("--clean", is_flag=True, help="First delete what runs that were killed left behind.")
@click.option("--json", "structured", is_flag=True, help="Print it as JSON.")
def command(root: Path | None, clean: bool, structured: bool) -> None:
    import msgspec

    from codecairn import logs
    from codecairn.doctor import Patient
    from codecairn.doctor.examination import examine

    logs.configure("error", "text")
    settings = config.load()
    patient = Patient(project_around(root), settings, config.data_folder(settings))
    if clean:
        from codecairn.doctor.data import clean as clean_up

        click.echo(f"{clean_up(patient.home)} deleted", err=True)
    found = []
    for finding in examine(patient):
        found.append(finding)
        if not structured:
            click.echo("\n".join(_lines(finding)))
    if structured:
        click.echo(json.dumps([msgspec.to_builtins(each) for each in found], indent=2, ensure_ascii=False))
    sys.exit(1 if any(each.level == "error" for each in found) else 0)


def _lines(finding: Finding) -> Iterator[str]:
    mark, colour = _MARKS[finding.level]
    width = min(120, max(40, shutil.get_terminal_size().columns - 1))
    indent = " " * (_SUBJECT + 3)
    text = click.wrap_text(finding.text, width=width, initial_indent=indent, subsequent_indent=indent)
    yield f"{click.style(mark, fg=colour)} {finding.subject:<{_SUBJECT}} {text.lstrip()}"
    if finding.remedy:
        remedy = click.wrap_text(f"→ {finding.remedy}", width=width, initial_indent=indent, subsequent_indent=indent)
        yield click.style(remedy, bold=True)
