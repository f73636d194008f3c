"""Calls that one node passes to another: the question, the caller, and the answer as it came.

A request is signed with the key that all nodes share (record.py), together with its time, so that nobody else may ask
in a caller's name. A node answers such a request itself or not at all: nothing is passed on twice.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from pathlib import Path
from typing import Any

import httpx2
import msgspec
from msgspec import Struct

from codecairn.errors import CairnError, NotReady
from codecairn.team.tokens import Caller
from codecairn.tools import Answers
from codecairn.tools.families import ToolReply

PATH, ARCHIVE_PATH = "/node/ask", "/node/state"
SIGNATURE, SENT_AT = "x-cairn-signature", "x-cairn-sent-at"
PATIENCE_S = 20.0
_CONNECT_S = 1.0
_SKEW_S = 60.0


class NodeSilent(CairnError):
    title = "A node does not answer"
    way_out = "Call again in a moment: its repositories move to another node."


class ReplicaAbsent(NotReady):
    title = "The repository is not ready here"
    way_out = "Call again in a moment."


class NodeQuestion(Struct, frozen=True, kw_only=True):
    kind: str
    """`call` for a tool; `resource`, `prompt` or `fact` for what is none; `archive`, or a kind of `Looks`."""
    name: str
    arguments: Any
    repositories: list[str]
    caller: Caller
    answers: Answers
    request: str


class WireError(Struct, frozen=True, kw_only=True):
    type: str
    message: str
    remedy: str
    data: dict[str, Any]


class WireReply(Struct, frozen=True, kw_only=True):
    repository: str
    text: str = ""
    value: dict[str, Any] = {}
    structured: dict[str, Any] = {}
    as_rpc_error: bool = False
    error: WireError | None = None


_replies = msgspec.json.Decoder(list[WireReply])
question_decoder = msgspec.json.Decoder(NodeQuestion)


def wire_reply(repository: str, reply: ToolReply) -> WireReply:
    return WireReply(
        repository=repository, text=reply.text, value=reply.value, structured=reply.structured,
        as_rpc_error=reply.as_rpc_error, error=wire_error(reply.error) if reply.error else None,
    )  # fmt: skip


def wire_value(repository: str, reply: ToolReply) -> WireReply:
    """A reply of which the text is not asked for; an error is whole."""
    return wire_reply(repository, reply) if reply.error else WireReply(repository=repository, value=reply.value)


def wire_error(error: CairnError) -> WireError:
    return WireError(type=type(error).__name__, message=error.message, remedy=error.remedy, data=error.data)


def tool_reply(wire: WireReply) -> ToolReply:
    error = error_of(wire.error) if wire.error else None
    return ToolReply(wire.text, wire.value, lambda: wire.structured, error, wire.as_rpc_error)


def is_elsewhere(wire: WireReply) -> bool:
    """Whether the node had no replica when it was asked, as after it let one go: another may have it."""
    return wire.error is not None and wire.error.type == ReplicaAbsent.__name__


def error_of(wire: WireError) -> CairnError:
    """The error that another node raised, of the same class."""
    classes = {each.__name__: each for each in _tree(CairnError)}
    kind = classes.get(wire.type, CairnError)
    error = kind.__new__(kind)
    CairnError.__init__(error, wire.message, remedy=wire.remedy, **wire.data)
    return error


def _tree(root: type[CairnError]) -> list[type[CairnError]]:
    return [root, *(each for child in root.__subclasses__() for each in _tree(child))]


def sign(secret: str, sent_at: str, body: bytes) -> str:
    return hmac.new(secret.encode(), sent_at.encode() + b"\n" + body, hashlib.sha256).hexdigest()


def is_signed(secret: str, sent_at: str, signature: str, body: bytes) -> bool:
    if not sent_at.isascii() or not sent_at.isdigit() or len(sent_at) > 15:
        return False
    is_now = abs(time.time() - int(sent_at)) <= _SKEW_S
    return is_now and hmac.compare_digest(sign(secret, sent_at, body).encode(), signature.encode())


class Peers:
    """The other nodes, asked over HTTP."""

    def __init__(self, secret: str) -> None:
        self._secret = secret
        self._client = httpx2.Client(timeout=httpx2.Timeout(PATIENCE_S, connect=_CONNECT_S), trust_env=False)

    def ask(self, url: str, question: NodeQuestion) -> list[WireReply]:
        body, sent_at = msgspec.json.encode(question), str(int(time.time()))
        headers = {
            SENT_AT: sent_at, SIGNATURE: sign(self._secret, sent_at, body), "content-type": "application/json",
        }  # fmt: skip
        try:
            answer = self._client.post(f"{url}{PATH}", content=body, headers=headers)
            if answer.status_code != 200:
                raise NodeSilent(f"The node at {url} answered {answer.status_code}")
            return _replies.decode(answer.content)
        except (httpx2.HTTPError, msgspec.MsgspecError) as error:
            raise NodeSilent(f"The node at {url} does not answer: {type(error).__name__}") from error

    def fetch(self, url: str, question: NodeQuestion, path: Path) -> None:
        """Fetch the archive of a repository from the node that has it."""
        body, sent_at = msgspec.json.encode(question), str(int(time.time()))
        headers = {SENT_AT: sent_at, SIGNATURE: sign(self._secret, sent_at, body)}
        try:
            with (
                self._client.stream("POST", f"{url}{ARCHIVE_PATH}", content=body, headers=headers) as answer,
                path.open("wb") as file,
            ):
                if answer.status_code != 200:
                    raise NodeSilent(f"The node at {url} answered {answer.status_code}")
                for part in answer.iter_bytes():
                    file.write(part)
        except (httpx2.HTTPError, OSError) as error:
            raise NodeSilent(f"The node at {url} does not answer: {type(error).__name__}") from error

    def close(self) -> None:
        self._client.close()
