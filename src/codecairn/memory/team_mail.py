"""Memory that is shared with a team: discoveries and uses of rules go to the team server, and the team's come here.

What is recorded in a clone with a team server is recorded here first, with a letter in the outbox; the letters are
delivered behind the call, and again until the server has said what became of them. While it is away everything works
on what is here. Discoveries that were here before the team, and those that were harvested, stay here.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable

import msgspec

from codecairn.clock import timestamp
from codecairn.errors import CairnError
from codecairn.memory.archive import export_lines, row_of
from codecairn.paths import Guard
from codecairn.store.discoveries import Discoveries, DiscoveryRow, delete_row, put_rows
from codecairn.store.memory import Memory, Usage
from codecairn.store.outbox import Outbox, TeamNews, TeamPosition, is_known_to_team, post_letter
from codecairn.team_client import TeamClient
from codecairn.team_wire import MAIL_PATH, MOST_LETTERS, Mail, MailAnswer, MailEvent
from codecairn.text import number_of

EVERY_S = 30.0
_MOST_ROUNDS = 1000


class SharedDiscoveries(Discoveries):
    """Discoveries of a clone whose team is told of them."""

    def __init__(self, memory: Memory, on_post: Callable[[], None]) -> None:
        super().__init__(memory)
        self._on_post = on_post

    def put(self, rows: Iterable[DiscoveryRow]) -> None:
        listed = list(rows)
        with self._memory.writing() as database:
            put_rows(database, listed)
            for row in listed:
                if row.origin is None:
                    post_letter(database, "remember", row.id, next(export_lines([row])))
        self._on_post()

    def remove(self, identity: str) -> bool:
        with self._memory.writing() as database:
            if is_known_to_team(database, identity):
                post_letter(database, "forget", identity)
            removed = delete_row(database, identity)
        self._on_post()
        return removed


class TeamMail:
    def __init__(self, memory: Memory, team: TeamClient, guard: Guard) -> None:
        self.outbox = Outbox(memory)
        self._memory, self._team, self._guard = memory, team, guard
        self._turn = threading.Lock()
        self._due = threading.Event()
        self._closed = threading.Event()

    def track(self, identity: str) -> Usage:
        """Count a use of a rule here, and have it counted for all."""
        used = self._memory.track(identity, timestamp(), lambda database: post_letter(database, "use", identity))
        self.wake()
        return used

    def wake(self) -> None:
        self._due.set()

    def close(self) -> None:
        self._closed.set()
        self._due.set()

    def run(self) -> None:
        """Exchange until closed: when something was written, and every half minute."""
        while not self._closed.is_set():
            self._due.clear()
            with contextlib.suppress(CairnError):  # the client keeps what is wrong, and status says it
                self.exchange()
            self._due.wait(EVERY_S)

    def exchange(self) -> None:
        """Deliver what waits and take what is new; raises where the team server cannot be asked: nothing is lost."""
        if not self._team.remote:
            return
        with self._turn:
            for _ in range(_MOST_ROUNDS):
                letters, news = self._ask()
                self.outbox.take(news)
                if len(letters) < MOST_LETTERS:
                    return

    def _ask(self) -> tuple[list[str], TeamNews]:
        """One round: the keys of the letters that were sent, and everything that came back."""
        letters, read = self.outbox.waiting(MOST_LETTERS), self.outbox.position()
        answer = self._post(Mail(remote=self._team.remote, letters=letters, read=read.number, mark=read.mark))
        rows, keys, first = self._rows(answer.events), [each.key for each in letters], answer
        while answer.has_more:
            answer = self._post(Mail(remote=self._team.remote, read=answer.read, mark=answer.mark))
            if answer.is_anew:  # the record was restored between two pages
                raise CairnError("The team server's record changed meanwhile")
            rows |= self._rows(answer.events)
        outcomes = dict(zip(keys, first.outcomes, strict=True))
        position = TeamPosition(answer.read, answer.mark, answer.repository)
        return keys, TeamNews(outcomes, first.is_anew, rows, answer.uses, position)

    def _post(self, mail: Mail) -> MailAnswer:
        try:
            return msgspec.json.decode(self._team.post(MAIL_PATH, msgspec.json.encode(mail)), type=MailAnswer)
        except msgspec.MsgspecError as error:
            raise CairnError(f"The team server's answer cannot be read: {error}") from error

    def _rows(self, events: Iterable[MailEvent]) -> dict[str, DiscoveryRow | None]:
        """The last word on each discovery; a line that is none is passed over."""
        found: dict[str, DiscoveryRow | None] = {}
        for event in events:
            with contextlib.suppress(CairnError, msgspec.MsgspecError, ValueError):
                found[event.id] = row_of(event.line, self._guard) if event.line else None
        return found

    def remarks(self) -> list[str]:
        """How it stands between this clone and its team, where there is anything to say."""
        waiting, refused = self.outbox.count(), self.outbox.refusals()
        said = []
        if self._team.trouble:
            kept = f"; {number_of(waiting, 'note')} for the team wait here" if waiting else ""
            said.append(f"{self._team.trouble}. Everything works on what is here{kept}.")
        if refused:
            kind, identity, reason = refused[-1]
            more = f" and {len(refused) - 1} more" if len(refused) > 1 else ""
            said.append(f"The team server refused {kind} {identity}{more}: {reason}. `cairn memory sync` shows them.")
        return said
