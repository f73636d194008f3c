"""Looks for what is wrong on this machine: each finding says how grave it is, and the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from codecairn.config import Settings

Level = Literal["ok", "warning", "error"]


class Finding(Struct, frozen=True, kw_only=True):
    level: Level
    subject: str
    text: str
    remedy: str = ""


class Patient(Struct, frozen=True):
    """What is examined: a project, the settings, and the places of the system that tests put elsewhere."""

    root: Path
    settings: Settings
    home: Path
    """The data directory."""
    inotify: Path = Path("/proc/sys/fs/inotify")
    least_free_mb: int = 500


Check = Callable[[Patient], Iterator[Finding]]


def good(subject: str, text: str) -> Finding:
    return Finding(level="ok", subject=subject, text=text)


def warning(subject: str, text: str, remedy: str) -> Finding:
    return Finding(level="warning", subject=subject, text=text, remedy=remedy)


def fault(subject: str, text: str, remedy: str) -> Finding:
    return Finding(level="error", subject=subject, text=text, remedy=remedy)
