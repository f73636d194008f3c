"""Every check of the doctor, in order."""

from __future__ import annotations

from collections.abc import Iterator

from codecairn.doctor import Check, Finding, Patient, data, entries, machine, project, servers

CHECKS: tuple[Check, ...] = (
    machine.check_packages, machine.check_command, machine.check_git, machine.check_ripgrep,
    data.check_folder, data.check_leftovers, project.check_project, project.check_encoder,
    entries.check_clients, entries.check_server, servers.check_running,
)  # fmt: skip
"""In the order in which they are shown: the ones that others rest on come first."""


def examine(patient: Patient) -> Iterator[Finding]:
    for check in CHECKS:
        yield from check(patient)
