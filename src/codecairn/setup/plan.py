"""What setting up would change, file by file, and the doing of it.

A plan is made from the files as they are, and made again when it is carried out: a client that runs may have written
its file meanwhile.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codecairn import config
from codecairn.clients import NAME, KnownClient
from codecairn.setup import edit, files
from codecairn.setup.edit import ConfigEntry, Receipt
from codecairn.setup.proof import find_program
from codecairn.setup.splice import NotEditable
from codecairn.source import process

GUIDE = """\
## Finding things in this repository

Cairn's MCP tools know this code. Use them before reading whole files:

- `search_code`: where something is done; `find_symbol`: a definition
- `find_references`: who uses it, before you change it
- `build_context_pack`: all that a task needs, within a budget
- `diff_context`: what a branch changed; `git_log`: when and why

An agent that sees no MCP tools (a sub-agent, a script) asks in the shell:
`cairn search "…"`, `cairn symbol NAME`, `cairn refs NAME`,
`cairn pack "…"`, `cairn diff`; each takes `--json`."""
"""When to use which tool: for AGENTS.md or CLAUDE.md."""


@dataclass(frozen=True)
class SetupRequest:
    """What the user asked for."""

    root: Path
    in_project: bool = False
    url: str = ""
    token: str = ""


@dataclass(frozen=True)
class Change:
    """A file that would change, or why it would not: `problem`, or nothing to do."""

    title: str
    path: Path
    before: str | None = None
    after: str | None = None
    entry: ConfigEntry | None = None
    receipt: Receipt | None = None
    problem: str = ""

    @property
    def is_needed(self) -> bool:
        return not self.problem and self.before != self.after


def may_be_project(root: Path) -> bool:
    """The home directory and the root of a file system never are one."""
    return root not in (Path.home(), Path(root.anchor))


def files_of(client: KnownClient, root: Path) -> list[Path]:
    """Where the client may have an entry: of the user, and of the project."""
    return list(dict.fromkeys(filter(None, (client.user_file(), client.project_file(root)))))


def is_here(client: KnownClient, outside: Path) -> bool:
    folders = [config.expand(each) for each in client.found if "/" in each]
    programs = [each for each in client.found if "/" not in each]
    return any(each and each.exists() for each in folders) or any(find_program(each, outside) for each in programs)


def invocation() -> list[str]:
    """The command line that starts this installation from anywhere."""
    here = Path(sys.executable).parent
    if any(part.startswith(("archive-v", "environments-v")) for part in here.parts):  # uv's cache, which uv clears
        uvx = process.find("uvx", outside=here)
        if uvx is not None:
            return [uvx, "codecairn"]
    script = here / ("cairn.exe" if sys.platform == "win32" else "cairn")
    return [str(script)] if script.exists() else [sys.executable, "-m", "codecairn"]


def entry_for(client: KnownClient, asked: SetupRequest) -> ConfigEntry:
    path = client.project_file(asked.root) if asked.in_project else client.user_file()
    if path is None:
        raise NotEditable(f"{client.title} has no configuration for a project")
    if asked.url and client.remote is None:
        raise NotEditable(f"{client.title} takes no server by its URL from a file")
    if client.needs_root and not asked.url and not may_be_project(asked.root):
        raise NotEditable(f"{client.title} has to be told which project: run this in one, or name it with --root")
    line = [*invocation(), "serve", *(("--root", str(asked.root)) if client.needs_root else ())]
    token = client.token if asked.in_project and asked.token else asked.token
    if asked.in_project and asked.token and "$token" in str(client.remote) and not client.token:
        raise NotEditable(f"{client.title} cannot read a token from the environment, and a project's file is shared")
    words = {"$command": line[0], "$args": line[1:], "$line": line, "$url": asked.url}
    template = client.remote if asked.url else client.local
    return ConfigEntry(path, client.keys, NAME, _fill(template or {}, words, token))


def _fill(template: Mapping[str, Any], words: Mapping[str, Any], token: str) -> dict[str, Any]:
    """The entry of a template; without a token, without what sends one."""
    filled: dict[str, Any] = {}
    for name, value in template.items():
        if isinstance(value, Mapping):
            if not value or token:
                filled[name] = _fill(value, words, token)
        elif name != "bearer_token_env_var" or token:
            filled[name] = words.get(value, value.replace("$token", token))
    return filled


def plan_adding(client: KnownClient, asked: SetupRequest, receipts: files.Receipts) -> Change:
    try:
        entry = entry_for(client, asked)
    except NotEditable as error:
        return Change(client.title, client.user_file(), problem=str(error))
    try:
        text = files.read(entry.path)
        there = edit.current(text or "", entry)
    except NotEditable as error:
        return Change(client.title, entry.path, problem=f"{error}; it was left alone")
    if not (asked.url or client.needs_root) and starts_this(there):
        return Change(client.title, entry.path, text, text, entry)
    if isinstance(there, dict) and receipts.of(entry.path) is None:  # what the user added to the entry stays
        ours = {*client.local, *(client.remote or {})}
        kept = {name: value for name, value in there.items() if name not in ours}
        entry = replace(entry, value={**entry.value, **kept})
    return plan_entry(client.title, entry, receipts)


def plan_guide(root: Path, receipts: files.Receipts) -> Change:
    names = ("AGENTS.md", "CLAUDE.md")
    path = next((root / each for each in names if (root / each).exists()), root / names[0])
    return plan_entry(path.name, ConfigEntry(path, (), NAME, GUIDE), receipts)


def plan_entry(title: str, entry: ConfigEntry, receipts: files.Receipts) -> Change:
    change = Change(title, entry.path, entry=entry)
    try:
        text = files.read(entry.path)
        if edit.current(text or "", entry) == entry.value:
            return replace(change, before=text, after=text)
        after, receipt = edit.add(text or "", entry, receipts.of(entry.path))
    except NotEditable as error:
        return replace(change, problem=f"{error}; it was left alone")
    return replace(change, before=text, after=after, receipt=receipt)


def starts_this(value: Any) -> bool:
    """Whether an entry starts this installation's server, under whichever name and with whichever options."""
    line, ours = command_line(value), invocation()
    if "serve" not in line or line[1 : len(ours)] != ours[1:]:
        return False
    command = line[0] if Path(line[0]).is_absolute() else process.find(line[0], outside=Path(line[0]))
    return command is not None and _are_one(command, ours[0])


def command_line(value: Any) -> list[str]:
    """The command of an entry and its arguments; empty where it is no local server."""
    command = value.get("command") if isinstance(value, dict) else None
    line = command if isinstance(command, list) else [command, *(value.get("args") or [])] if command else []
    return [str(each) for each in line]


def _are_one(path: str, other: str) -> bool:
    try:
        return Path(path).samefile(other)
    except OSError:
        return path == other


def plan_removing(title: str, path: Path, keys: tuple[str, ...], receipts: files.Receipts) -> Change:
    receipt = receipts.of(path)
    entry = ConfigEntry(path, keys, NAME, None)
    change = Change(title, path, entry=entry, receipt=receipt)
    try:
        text = files.read(path)
        if text is None or edit.current(text, entry) is None:
            return replace(change, before=text, after=text)
        after: str | None = edit.remove(text, path, receipt) if receipt else edit.remove_unreceipted(text, entry)
    except NotEditable as error:
        return replace(change, before=None, problem=f"{error}; it was left alone")
    if receipt is not None and receipt.created and (after or "").strip() in ("", "{}"):
        after = None
    return replace(change, before=text, after=after)


def carry_out(change: Change, receipts: files.Receipts, *, is_private: bool) -> Change:
    """Write what was planned, as the file now is, and keep or forget its receipt. Raises NotEditable."""
    entry = change.entry
    assert entry is not None
    if entry.value is None:
        change = plan_removing(change.title, entry.path, entry.keys, receipts)
    else:
        change = plan_entry(change.title, entry, receipts)
    if change.problem:
        raise NotEditable(change.problem)
    receipt = change.receipt
    if change.after is None:
        left = files.delete(change.path, receipt.folders if receipt else [])
        receipts.hand_on(change.path, left)
    else:
        folders = files.write(change.path, change.after, mode=0o600 if is_private else 0o644)
        if change.before is None and receipt is not None:
            receipt = edit.with_origin(receipt, folders=folders)
    receipts.put(change.path, None if entry.value is None else receipt)
    return change
