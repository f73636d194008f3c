"""Laptops: what a local server asks of the team server beside its archive (team_wire.py).

Everything is answered for the token: versions that a readable repository holds, questions about a readable repository,
letters that this caller may write. Nothing that a laptop has parsed is taken: the key of a version says which path and
content it is of, not what was found in it, so whoever sent a wrong one would answer for everybody, and checking one
takes the very parse that it saves. A worker parses the files of a push in the time that a laptop took to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from codecairn.errors import CairnError, Denied, InvalidInput, NotFound
from codecairn.memory.archive import export_lines, row_of
from codecairn.paths import Guard
from codecairn.serve.http import body_of, too_large
from codecairn.store.discoveries import DiscoveryRow
from codecairn.team.clones import Clones
from codecairn.team.directory import Directory
from codecairn.team.record import Record
from codecairn.team.repositories import TeamRepository
from codecairn.team.service import TeamAnswers
from codecairn.team.team_call import TeamCall
from codecairn.team.tokens import Caller
from codecairn.team_wire import (
    ANSWER_PATH,
    ASKED_OF_TEAM,
    MAIL_PATH,
    MOST_EVENTS,
    MOST_KEYS,
    MOST_LETTERS,
    VERSIONS_PATH,
    KeysAsked,
    Letter,
    Mail,
    MailAnswer,
    MailEvent,
    RemoteAnswer,
    RemoteQuestion,
)

_TOOLS = {"remember": "remember", "forget": "forget", "use": "usage_track"}
_LONGEST_ID, _LONGEST_KEY = 200, 64
Work = Callable[[Caller, str, Any], bytes]


class NotPublished(CairnError):
    title = "Commit not published"
    way_out = "Answer it here: the team server has another commit."


_STATUS: dict[type[CairnError], int] = {NotFound: 404, InvalidInput: 400, Denied: 403, NotPublished: 409}


class Laptops:
    def __init__(self, answers: TeamAnswers, directory: Directory, record: Record, clones: Clones) -> None:
        self._answers, self._directory, self._record, self._clones = answers, directory, record, clones

    def answer(self, caller: Caller, request: str, asked: RemoteQuestion) -> bytes:
        """Answer a question about a published commit, from a replica that has it."""
        if asked.tool not in ASKED_OF_TEAM:
            raise InvalidInput(f"Not answered for laptops: {asked.tool}", param="tool")
        repository = self._directory.state.find_remote(caller, asked.remote)
        published = self._record.repositories.refs(repository.id)
        ref = next((each.name for each in published if each.commit == asked.head), None)
        if ref is None:
            raise NotPublished(f"{repository.name} has no published ref at {asked.head[:12]}")
        named = {} if ref == repository.default_branch else {"ref": ref.removeprefix("refs/tags/")}
        given = {**asked.arguments, **named, "project": repository.name}
        reply = self._answers.answer(TeamCall(self._answers.inner.tools[asked.tool], given, caller, "json", request))
        if reply.error is not None:
            raise reply.error
        if reply.value["metadata"]["freshness_status"] != "fresh":
            raise NotPublished(f"{repository.name} is on its way to a newer commit")
        return msgspec.json.encode(
            RemoteAnswer(repository=repository.name, commit=asked.head, value=reply.value)
        )  # fmt: skip

    def versions(self, caller: Caller, request: str, asked: KeysAsked) -> bytes:
        """File versions by key, of whatever repository the caller may read."""
        if len(asked.keys) > MOST_KEYS:
            raise InvalidInput(f"keys: at most {MOST_KEYS} of one request", param="keys")
        readable = [each.id for each in self._answers.readable(caller)]
        found = msgspec.msgpack.encode(self._record.versions.held(asked.keys, readable))
        self._answers.audit(caller, request, "versions", "", "ok", len(found))
        return found

    def exchange(self, caller: Caller, request: str, mail: Mail) -> bytes:
        """Do what the letters ask for, each once, in their order; then say what was recorded since."""
        if len(mail.letters) > MOST_LETTERS:
            raise InvalidInput(f"letters: at most {MOST_LETTERS} of one request", param="letters")
        repository = self._directory.state.find_remote(caller, mail.remote)
        outcomes = [self._deliver(caller, request, repository, each) for each in mail.letters]
        book = self._record.notebook
        is_anew = mail.read == 0 or book.mark(repository.id, mail.read) != mail.mark
        events = book.since(repository.id, 0 if is_anew else mail.read)
        shown = events[:MOST_EVENTS]
        last = shown[-1].number if shown else 0 if is_anew else mail.read
        return msgspec.json.encode(
            MailAnswer(
                repository=repository.name, outcomes=outcomes, is_anew=is_anew, read=last,
                events=[MailEvent(id=each.discovery, line=_line(each.row)) for each in shown],
                mark=book.mark(repository.id, last), has_more=len(shown) < len(events), uses=book.uses(repository.id),
            )
        )  # fmt: skip

    def _deliver(self, caller: Caller, request: str, repository: TeamRepository, letter: Letter) -> str:
        refused, row = "", None
        try:
            row = self._open_letter(caller, repository, letter)
        except (CairnError, msgspec.MsgspecError, ValueError) as error:
            refused = error.message if isinstance(error, CairnError) else str(error)
        outcome = self._record.notebook.deliver(repository.id, letter, row, caller.name, refused)
        tool, said = _TOOLS[letter.kind], "refused" if outcome else "ok"
        self._answers.audit(caller, request, tool, repository.name, said, len(letter.line))
        return outcome

    def _open_letter(self, caller: Caller, repository: TeamRepository, letter: Letter) -> DiscoveryRow | None:
        """The discovery that a letter brings; raises where the letter is to be refused."""
        if not 16 <= len(letter.key) <= _LONGEST_KEY or not 0 < len(letter.id) <= _LONGEST_ID:
            raise InvalidInput("A letter has a key of 16 to 64 characters and an id", param="key")
        if letter.kind != "use" and not caller.may_write(repository.name):
            raise Denied(f"{letter.kind} is for writers; you read here", remedy="Ask for a writer's token.")
        if letter.kind != "remember":
            return None
        row = row_of(letter.line, Guard(self._clones.at(repository).root))
        if row.id != letter.id:
            raise InvalidInput("A letter is about the discovery that it brings", param="id")
        return structs.replace(row, session=caller.name)


def _line(row: DiscoveryRow | None) -> str:
    return next(iter(export_lines([row] if row is not None else [])), "")


def laptop_routes(laptops: Laptops, caller_of: Callable[[Request], tuple[Caller, str]]) -> list[Route]:
    def route(path: str, form: type[Any], work: Work, kind: str) -> Route:
        async def handle(request: Request) -> Response:
            body = await body_of(request)
            if body is None:
                return too_large()
            try:
                asked = msgspec.json.decode(body, type=form)
                caller, number = caller_of(request)
                return Response(await anyio.to_thread.run_sync(work, caller, number, asked), media_type=kind)
            except msgspec.MsgspecError as error:
                return PlainTextResponse(f"Bad Request: {error}", 400)
            except CairnError as error:
                return _refusal(error)

        return Route(path, handle, methods=["POST"])

    return [
        route(ANSWER_PATH, RemoteQuestion, laptops.answer, "application/json"),
        route(VERSIONS_PATH, KeysAsked, laptops.versions, "application/msgpack"),
        route(MAIL_PATH, Mail, laptops.exchange, "application/json"),
    ]


def _refusal(error: CairnError) -> Response:
    status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 503)
    return PlainTextResponse(error.message, status, {"Retry-After": "5"} if status == 503 else {})
