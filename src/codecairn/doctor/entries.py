"""The clients' entries, and whether the server that they start answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codecairn import __version__
from codecairn.clients import NAME, KnownClient, known_clients
from codecairn.doctor import Finding, Patient, fault, good, warning
from codecairn.setup import edit, files, proof
from codecairn.setup.edit import ConfigEntry
from codecairn.setup.plan import command_line, files_of, invocation, is_here, starts_this
from codecairn.setup.splice import NotEditable
from codecairn.source import process

_SLOW_S = 10.0
"""Clients give a server ten seconds, some thirty, to say hello."""
_OTHER_KEYS = ("mcpServers", "servers", "mcp_servers", "context_servers")


def check_clients(patient: Patient) -> Iterator[Finding]:
    here = [each for each in known_clients().values() if is_here(each, patient.root)]
    ready = 0
    for client in here:
        for path in files_of(client, patient.root):
            finding = _judge(client, path, patient)
            if finding is not None:
                ready += finding.level == "ok"
                yield finding
    if not here:
        yield warning("Clients", "no client that Cairn knows is on this machine", "cairn setup --client NAME")
    elif not ready:
        titles = ", ".join(each.title for each in here)
        yield warning("Clients", f"none has a working entry of Cairn ({titles})", "cairn setup")


def _judge(client: KnownClient, path: Path, patient: Patient) -> Finding | None:
    """How the entry in one file stands; None where there is no entry."""
    entry = ConfigEntry(path, client.keys, NAME, None)
    again = f"cairn setup --client {client.name}{' --project' if path.is_relative_to(patient.root) else ''}"
    try:
        text = files.read(path)
        value = edit.current(text or "", entry)
        whole = edit.format_of(path).value_of(text or "")
    except NotEditable as error:
        return fault(client.title, f"cannot read {path}: {error}", "Mend the file; the client cannot read it either.")
    if value is None:
        misplaced = [key for key in _OTHER_KEYS if key not in client.keys and NAME in (whole.get(key) or ())]
        if misplaced:
            said = f"{path} has cairn under {misplaced[0]!r}, where {client.title} does not look"
            return warning(client.title, said, again)
        return None
    return _judge_command(client, value, path, again)


def _judge_command(client: KnownClient, value: Any, path: Path, again: str) -> Finding:
    line = command_line(value)
    if not line:
        url = next((value[key] for key in ("url", "httpUrl", "serverUrl") if key in value), "")
        return good(client.title, f"{path}: {url}") if url else fault(client.title, f"{path}: no command", again)
    found = line[0] if Path(line[0]).is_absolute() else process.find(line[0], outside=path)
    if found is None or not Path(found).exists():
        return fault(client.title, f"{path} starts {line[0]}, which is not there", again)
    if not starts_this(value):
        return warning(client.title, f"{path} starts another installation, {found}", again)
    return good(client.title, str(path))


def check_server(patient: Patient) -> Iterator[Finding]:
    hands = proof.shake_hands([*invocation(), "serve"], patient.root)
    if hands.problem:
        yield fault("Server", hands.problem, f"cd '{patient.root}' && cairn serve, and read what it says")
    elif hands.version != __version__:
        yield warning("Server", f"is of version {hands.version}, this is {__version__}", "cairn setup")
    elif hands.seconds > _SLOW_S:
        said = f"takes {hands.seconds:.0f} s to say hello; clients give up"
        yield warning("Server", said, "Look at the load and the disk of this machine.")
    else:
        yield good("Server", f"says hello in {hands.seconds:.1f} s, {hands.tools} tools")
