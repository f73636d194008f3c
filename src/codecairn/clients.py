"""The clients that Cairn knows, read from clients.toml, which says what each field means."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from codecairn import config

NAME = "cairn"
"""The name of our entry in every client's configuration."""


@dataclass(frozen=True)
class KnownClient:
    name: str
    title: str
    found: tuple[str, ...]
    user: tuple[str, ...]
    keys: tuple[str, ...]
    local: Mapping[str, Any]
    docs: str
    project: tuple[str, ...] = ()
    remote: Mapping[str, Any] | None = None
    needs_root: bool = False
    token: str = ""
    check: tuple[str, ...] = ()
    connected: str = ""
    pending: str = ""
    hint: str = ""
    link: str = ""
    info: str = ""
    since: str = ""

    def user_file(self) -> Path:
        by_variable = [config.expand(each) for each in self.user if each.startswith("$")]
        plain = [config.expand(each) for each in self.user if not each.startswith("$")]
        return _first_there([path for path in by_variable if path] or [path for path in plain if path])

    def project_file(self, root: Path) -> Path | None:
        return _first_there([root / each for each in self.project]) if self.project else None


@cache
def known_clients(platform: str = sys.platform) -> dict[str, KnownClient]:
    raw = tomllib.loads(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8"))
    return {each["name"]: _client(each, platform) for each in raw["client"]}


def _client(raw: dict[str, Any], platform: str) -> KnownClient:
    fields: dict[str, Any] = {name: value for name, value in raw.items() if not name.startswith("user-")}
    fields["user"] = raw.get(f"user-{platform}", raw["user"])
    for name in ("found", "user", "keys", "project", "check"):
        fields[name] = tuple(fields.get(name, ()))
    return KnownClient(**fields)


def _first_there(paths: Sequence[Path]) -> Path:
    return next((path for path in paths if path.exists()), paths[0])
