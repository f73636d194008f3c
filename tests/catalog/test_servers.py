"""Several server processes on one catalogue, which somebody edits meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.catalog.catalogue import Catalogue, aggregate, entry
from tests.support.wait import eventually
from tests.support.wire import ServerProcess

SERVERS = 4
_PACE_S = 0.002
"""Between two edits: hundreds a second, and still some time for the servers to be asked."""


@contextmanager
def servers(catalogue: Catalogue, count: int = SERVERS) -> Iterator[list[ServerProcess]]:
    with ExitStack() as stack:
        yield [stack.enter_context(server(catalogue)) for _ in range(count)]


def server(catalogue: Catalogue) -> ServerProcess:
    return ServerProcess("--log-level", "error", folder=catalogue.root, CAIRN_HOME=str(catalogue.home))


def ask(asked: ServerProcess, method: str, **params: Any) -> dict[str, Any]:
    answer = asked.request(method, params)
    assert "result" in answer, answer
    value: dict[str, Any] = answer["result"]
    return value


def write_in_place(path: Path, text: str) -> None:
    """As a plain redirection does: emptied first, then filled in two parts that readers can see."""
    with path.open("wb") as file:
        half = len(text) // 2
        file.write(text[:half].encode())
        file.flush()
        file.write(text[half:].encode())


def write_atomically(path: Path, text: str) -> None:
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(path)


class Editor:
    """Adds entries and edits them, in both manners, and knows what every one of them holds."""

    def __init__(self, catalogue: Catalogue, chance: random.Random) -> None:
        self.catalogue = catalogue
        self.chance = chance
        self.bodies: dict[str, str] = {}

    def fill(self, count: int) -> None:
        for number in range(count):
            self.set(f"rule-{number:04}", "as it was")

    def set(self, identity: str, body: str) -> None:
        self.catalogue.folder.mkdir(exist_ok=True)
        write = self.chance.choice((write_in_place, write_atomically))
        write(self.catalogue.folder / f"{identity}.json", json.dumps(entry(identity, body=body)))
        self.bodies[identity] = body

    @contextmanager
    def working(self, changes: int) -> Iterator[None]:
        """Edits all the while, the same few entries over and over after so many changes."""
        done = threading.Event()

        def work() -> None:
            number = 0
            while not done.wait(_PACE_S):
                self.step(number % changes)
                number += 1

        writer = threading.Thread(target=work)
        writer.start()
        try:
            yield
        finally:
            done.set()
            writer.join()

    def step(self, number: int) -> str:
        """One change, finished when this returns; the id of what changed."""
        identity = self.chance.choice([f"new-{number:04}", *self.chance.choices(list(self.bodies), k=2)])
        self.set(identity, f"edit {number:06}")
        return identity


def test_an_edit_written_before_a_call_is_seen_by_that_call_on_every_server(
    catalogue: Catalogue, trials: Callable[[int], int], seeded: random.Random
) -> None:
    editor = Editor(catalogue, seeded)
    editor.fill(trials(1_000))
    with servers(catalogue) as running:
        for number in range(trials(1_000)):
            changed = editor.step(number)
            asked = seeded.choice(running)
            assert ask(asked, "instructions/get", id=changed)["item"]["body"] == editor.bodies[changed]
            other = seeded.choice(running)
            found = ask(other, "instructions/search", q=editor.bodies[changed], fields=["id"])
            assert {"id": changed} in found["items"]
        listings = [ask(each, "instructions/list", fields=["body"]) for each in running]
        assert all({item["id"]: item["body"] for item in each["items"]} == editor.bodies for each in listings)
        assert len({each["hash"] for each in listings}) == 1


def test_no_client_sees_an_entry_that_list_has_and_get_has_not(
    catalogue: Catalogue, trials: Callable[[int], int], seeded: random.Random
) -> None:
    """The editor writes all the while; a client lists at one server and gets, and diffs, at another."""
    editor = Editor(catalogue, seeded)
    editor.fill(trials(1_000))
    with servers(catalogue) as running, editor.working(500):
        for _ in range(trials(300)):
            listing, getting, syncing = seeded.choices(running, k=3)
            listed = [item["id"] for item in ask(listing, "instructions/list", fields=["id"])["items"]]
            for identity in seeded.sample(listed, 3) + listed[:2]:
                assert "item" in ask(getting, "instructions/get", id=identity), identity
            known = [{"id": identity, "sourceHash": "0"} for identity in listed]
            assert ask(syncing, "instructions/diff", known=known)["removed"] == []
            assert ask(getting, "health/check").get("problems", []) == []


def test_one_call_is_answered_from_one_state_of_the_catalogue(
    catalogue: Catalogue, trials: Callable[[int], int], seeded: random.Random
) -> None:
    """The hash of an answer is that of the very entries in it, whatever is written meanwhile."""
    editor = Editor(catalogue, seeded)
    editor.fill(50)
    with server(catalogue) as asked, editor.working(40):
        for _ in range(trials(500)):
            listed = ask(asked, "instructions/list", fields=["body"])
            assert listed["hash"] == aggregate({item["id"]: item["body"] for item in listed["items"]})


def test_no_use_is_lost_when_all_servers_count_at_once(
    catalogue: Catalogue, trials: Callable[[int], int], seeded: random.Random
) -> None:
    identities = [f"rule-{number}" for number in range(5)]
    for identity in identities:
        catalogue.add(identity)
    answered: Counter[str] = Counter()
    with servers(catalogue) as running:
        sent = []
        for _ in range(trials(2_000)):
            asked, identity = seeded.choice(running), seeded.choice(identities)
            sent.append((asked, identity, asked.start("usage/track", {"id": identity})))
        counts: dict[str, list[int]] = {identity: [] for identity in identities}
        for asked, identity, number in sent:
            answer = asked.take(number)["result"]
            answered[identity] += 1
            counts[identity].append(answer["usageCount"])
        for identity in identities:
            assert sorted(counts[identity]) == list(range(1, answered[identity] + 1))
        for asked in running:
            hot = ask(asked, "usage/hotset")["items"]
            assert {each["id"]: each["usageCount"] for each in hot} == answered
            assert [each["usageCount"] for each in hot] == sorted(answered.values(), reverse=True)


def test_a_kill_loses_no_use_that_was_answered(
    catalogue: Catalogue, trials: Callable[[int], int], seeded: random.Random
) -> None:
    """What was under way when the kill came may count or not; what was answered counts."""
    catalogue.add("a")
    sent = answered = 0
    with server(catalogue) as survivor:
        for _ in range(max(4, trials(40))):
            with server(catalogue) as victim:
                numbers = [victim.start("usage/track", {"id": "a"}) for _ in range(10)]
                awaited = seeded.randint(1, 10)
                for number in numbers[:awaited]:
                    victim.take(number)
                os.kill(victim.process.pid, signal.SIGKILL)
                assert victim.process.wait(10) == -signal.SIGKILL
                eventually(lambda: victim.closed)
                sent, answered = sent + len(numbers) + 1, answered + awaited + len(victim.received) + 1
            assert answered <= ask(survivor, "usage/track", id="a")["usageCount"] <= sent


def test_servers_that_start_at_one_moment_share_a_store_that_none_has_made(catalogue: Catalogue) -> None:
    catalogue.add("a")
    with servers(catalogue) as running:
        numbers = [(each, each.start("usage/track", {"id": "a"})) for each in running]
        counts = [each.take(number)["result"]["usageCount"] for each, number in numbers]
    assert sorted(counts) == [1, 2, 3, 4]
