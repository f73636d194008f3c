"""What an admin does over HTTP, without the database: `POST /admin/VERB` with a JSON object.

    add-repository      url, name, refs      a worker fetches it with its own credentials, so only addresses of a
                                             network are taken here; folders are added beside the worker
    remove-repository   name                 with its memory
    create-token        name, repositories, role, days      the answer has the secret, once
    revoke-token        name
    list-tokens
    audit               since, limit         who asked which tool of which repository, newest first

An admin acts within its globs: on repositories that one of them matches, on tokens all of whose globs they cover, on
rows of the audit about such repositories. Anything else does not exist for it. Each verb is audited itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

import anyio.to_thread
import msgspec
from msgspec import Meta, Struct
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from codecairn.errors import CairnError, Denied, InvalidInput, NotFound
from codecairn.paths import printable
from codecairn.serve.http import body_of, too_large
from codecairn.team.audit import Audit
from codecairn.team.record import Record
from codecairn.team.repositories import name_from_url
from codecairn.team.service import TeamAnswers
from codecairn.team.tokens import Caller, TokenRow

PATH = "/admin/{verb}"
_MOST_ROWS = 1000
_OF_A_NETWORK = re.compile(r"(https|ssh|git)://[^/]|[\w.-]+@[\w.-]+:[^/]")
_Name = Annotated[str, Meta(min_length=1, max_length=200)]


class AddRepository(Struct, frozen=True, forbid_unknown_fields=True):
    url: _Name
    name: _Name | None = None
    refs: list[_Name] = []


class ByName(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name


class CreateToken(Struct, frozen=True, forbid_unknown_fields=True):
    name: _Name
    repositories: Annotated[list[_Name], Meta(min_length=1, max_length=100)]
    role: Literal["reader", "writer", "admin"] = "reader"
    days: Annotated[float, Meta(gt=0, le=36_500)] | None = None


class NothingMore(Struct, frozen=True, forbid_unknown_fields=True):
    pass


class AuditAsked(Struct, frozen=True, forbid_unknown_fields=True):
    since: datetime | None = None
    """The last day, where nothing is said."""
    limit: Annotated[int, Meta(ge=1, le=_MOST_ROWS)] = 100


class Administration:
    def __init__(self, record: Record, answers: TeamAnswers, audit: Audit) -> None:
        self._record, self._answers, self._audit = record, answers, audit
        self.verbs: dict[str, tuple[type[Any], Callable[[Caller, Any], Any]]] = {
            "add-repository": (AddRepository, self._add_repository),
            "remove-repository": (ByName, self._remove_repository),
            "create-token": (CreateToken, self._create_token),
            "revoke-token": (ByName, self._revoke_token),
            "list-tokens": (NothingMore, self._list_tokens),
            "audit": (AuditAsked, self._list_audit),
        }

    def perform(self, caller: Caller, request: str, verb: str, body: bytes) -> bytes:
        """Do what an admin asks for; it is audited, whatever comes of it."""
        outcome, said = "ok", b""
        try:
            if verb not in self.verbs:
                raise NotFound(f"No verb {printable(verb)}", remedy=f"There are {', '.join(self.verbs)}.")
            if not caller.administered:
                raise Denied(f"{verb} is for administrators", remedy="Ask for an admin's token.")
            form, work = self.verbs[verb]
            said = msgspec.json.encode(work(caller, msgspec.json.decode(body or b"{}", type=form)))
        except CairnError as error:
            outcome = error.code
            raise
        except msgspec.MsgspecError as error:
            outcome = InvalidInput.code
            raise InvalidInput(str(error), param="body") from error
        finally:
            self._answers.audit(caller, request, f"admin/{verb[:40]}", "", outcome, len(said))
        return said

    def _add_repository(self, caller: Caller, asked: AddRepository) -> dict[str, Any]:
        if not _OF_A_NETWORK.match(asked.url):
            raise InvalidInput("url: https, ssh or git; a folder is added beside the worker", param="url")
        name = asked.name or name_from_url(asked.url)
        if not caller.may_administer(name):
            raise Denied(f"{printable(name)} is outside what this token administers")
        self._record.jobs.ask(self._record.repositories.add(name, asked.url, asked.refs))
        return {"repository": name, "message": "A worker will index it."}

    def _remove_repository(self, caller: Caller, asked: ByName) -> dict[str, Any]:
        if not caller.may_administer(asked.name) or not self._record.repositories.remove(asked.name):
            raise NotFound(f"No repository {printable(asked.name)}")
        return {"repository": asked.name, "message": "It is removed, with its memory."}

    def _create_token(self, caller: Caller, asked: CreateToken) -> dict[str, Any]:
        beyond = [each for each in asked.repositories if not caller.may_administer(each)]
        if beyond:
            raise Denied(f"{printable(beyond[0])} is outside what this token administers")
        secret = self._record.tokens.create(asked.name, asked.repositories, asked.role, asked.days)
        return {"name": asked.name, "token": secret}

    def _revoke_token(self, caller: Caller, asked: ByName) -> dict[str, Any]:
        known = {each.name for each in self._own_tokens(caller)}
        if asked.name not in known or not self._record.tokens.revoke(asked.name):
            raise NotFound(f"No token {printable(asked.name)}")
        return {"name": asked.name, "message": "It is revoked; nodes forget it within seconds."}

    def _list_tokens(self, caller: Caller, asked: NothingMore) -> dict[str, Any]:
        del asked
        return {"tokens": [each._asdict() for each in self._own_tokens(caller)]}

    def _own_tokens(self, caller: Caller) -> list[TokenRow]:
        return [each for each in self._record.tokens.all() if all(map(caller.may_administer, each.globs))]

    def _list_audit(self, caller: Caller, asked: AuditAsked) -> dict[str, Any]:
        since = asked.since or datetime.now(UTC) - timedelta(days=1)
        rows = self._audit.rows(since.isoformat(), _MOST_ROWS * 10)
        shown = [each._asdict() for each in rows if caller.may_administer(each.repository or "**")]
        return {"rows": shown[: asked.limit]}


_STATUS: dict[type[CairnError], int] = {NotFound: 404, InvalidInput: 400, Denied: 403}


def admin_route(administration: Administration, caller_of: Callable[[Request], tuple[Caller, str]]) -> Route:
    async def handle(request: Request) -> Response:
        body = await body_of(request)
        if body is None:
            return too_large()
        caller, number = caller_of(request)
        verb = str(request.path_params["verb"])
        try:
            said = await anyio.to_thread.run_sync(administration.perform, caller, number, verb, body)
        except CairnError as error:
            status = next((number for kind, number in _STATUS.items() if isinstance(error, kind)), 503)
            return PlainTextResponse(f"{error.message}. {error.remedy}", status)
        return Response(said, media_type="application/json")

    return Route(PATH, handle, methods=["POST"])
