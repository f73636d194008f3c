"""A change of a text at one place, and why a text cannot be changed."""

from __future__ import annotations

from dataclasses import dataclass


class NotEditable(Exception):
    """The text is not what its format says, or our entry has no place in it. Says why."""


@dataclass(frozen=True)
class Splice:
    start: int
    old: str
    new: str

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.start + len(self.old) :]


def newline_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
