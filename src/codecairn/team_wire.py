"""The messages between a laptop and its team server, declared once for both ends.

    POST /laptop/answer     a question about a commit that is published, while the laptop has no index yet
    POST /laptop/versions   file versions by key; those that the token may read come back
    POST /laptop/mail       letters that the laptop wrote (discoveries, uses of rules), each done once however often it
                            comes; back come their outcomes and what the team has recorded since

A laptop names its repository by the address it was cloned from, spelled as `folders.normal_remote` spells it.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ANSWER_PATH, VERSIONS_PATH, MAIL_PATH = "/laptop/answer", "/laptop/versions", "/laptop/mail"
ASKED_OF_TEAM = frozenset({"search_code", "find_symbol", "find_references", "get_call_graph"})
"""Tools whose answer on a commit is the same on every machine that has it."""
MOST_KEYS = 500
"""Of one request: some 8 MB come back."""
MOST_LETTERS, MOST_EVENTS = 100, 1000


class RemoteQuestion(Struct, frozen=True, kw_only=True):
    remote: str
    head: str
    tool: str
    arguments: dict[str, Any]


class RemoteAnswer(Struct, frozen=True, kw_only=True):
    repository: str
    commit: str
    value: dict[str, Any]


class KeysAsked(Struct, frozen=True, kw_only=True):
    remote: str
    keys: list[int]


class SentVersion(Struct, frozen=True, array_like=True):
    key: int
    on_branch: bool
    content: bytes
    """MessagePack, compressed."""


class Letter(Struct, frozen=True, kw_only=True):
    """One thing that was recorded on a laptop. Its key is random, and the same whenever it is sent again."""

    key: str
    kind: Literal["remember", "forget", "use"]
    id: str
    """Of the discovery, or of the rule."""
    at: str
    line: str = ""
    """A discovery that is remembered, as memory/archive.py writes it."""


class Mail(Struct, frozen=True, kw_only=True):
    remote: str
    letters: list[Letter] = []
    read: int = 0
    """The number of the last event that the laptop has read."""
    mark: str = ""
    """Stands for that event: where the record has another under its number, it was restored from a backup."""


class MailEvent(Struct, frozen=True, kw_only=True):
    id: str
    line: str
    """Empty where the discovery was taken back."""


class MailAnswer(Struct, frozen=True, kw_only=True):
    repository: str
    outcomes: list[str]
    """For each letter why it was refused; empty where it was done."""
    is_anew: bool
    """Whether the events are all there are, and not those since the last."""
    events: list[MailEvent]
    read: int
    mark: str
    has_more: bool
    uses: list[tuple[str, int, str]]
    """Each rule's count for all, and its last use."""
