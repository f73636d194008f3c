"""A soak: every tool against every tool on two servers, beside a storm and a writer, each answer judged."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tests.soak import scenery as scenes
from tests.soak.calls import EXACT, MINGLED, RANKED, FixedCalls, Vocabulary, vocabulary
from tests.soak.ledger import Ledger
from tests.soak.reference import Asked, Reference, comparable, narrow, reference
from tests.soak.result import Known, Plan, Result
from tests.soak.scenery import Fixed, Scenery
from tests.soak.servers import Server, processes_of
from tests.soak.storm import Storm
from tests.soak.worker import Worker
from tests.soak.writer import Writer

AT_ONCE = 8
PAGES = 3
_MOST_DEATHS = 20


class Trial:
    def __init__(self, plan: Plan, place: Path) -> None:
        self.plan = plan
        self.place = place
        self.home = place / "home"
        self.result = Result(plan)
        self._lock = threading.Lock()
        self._given_out = 0
        self._is_stopped = False
        self._remembered: list[str] = []
        self._wrongs = place / "wrong.jsonl"

    def run(self) -> Result:
        began = time.monotonic()
        self.scenery = self._scenery()
        self._phase("scenery", began)
        self.lobby = self._lobby()
        with ExitStack() as stack:
            self.known = self._learn()
            self.ledger = Ledger(self.scenery.root)
            self.storm = Storm(self.scenery, self.ledger, self.plan.seed, self.plan.storm_pause_s)
            self.writer = Writer(self.scenery, self.home, self.place, self.plan.seed)
            self.servers = [self._server("one", reads_only_lobby=False), self._server("two", reads_only_lobby=True)]
            self._phase("learn", began)
            self._soak()
            self._phase("soak", began)
            self._rest(stack)
            self._end()
        self.result.seconds = time.monotonic() - began
        return self.result

    def _phase(self, name: str, began: float) -> None:
        self.result.phases[name] = round(time.monotonic() - began, 1)

    def _scenery(self) -> Scenery:
        plan = self.plan
        if plan.repository is None:
            return scenes.make(self.place, plan.seed, files=plan.files, commits=plan.commits, refs=plan.refs)
        return scenes.clone(self.place, plan.repository, random.Random(f"refs {plan.seed}"), refs=plan.refs)

    def _lobby(self) -> str:
        """A file that every fixed ref has: one server reads no other, so that what it ranks stays comparable."""
        listed = [
            set(self.scenery.repo.git("ls-tree", "-r", "--name-only", each.commit).splitlines())
            for each in [*self.scenery.fixed, Fixed("HEAD", "HEAD")]
        ]
        everywhere = sorted(set.intersection(*listed))
        sources = [path for path in everywhere if path.endswith((".py", ".go", ".ts", ".md"))]
        return (sources or everywhere)[0]

    def _learn(self) -> dict[str, list[Known]]:
        """The answers to every call about a fixed ref that will be made."""
        choice = random.Random(f"calls {self.plan.seed}")
        words = [vocabulary(self.scenery.repo, each, choice) for each in self.scenery.fixed]
        self.calls = FixedCalls(choice, words, self.lobby)
        known: dict[str, list[Known]] = {}
        for number, each in enumerate(words):
            with reference(self.scenery, each.fixed.commit, self.place / f"truth{number}", self.lobby) as truth:
                for one in self._learn_one(truth, each):
                    known.setdefault(one.asked.tool, []).append(one)
        return known

    def _learn_one(self, truth: Reference, of: Vocabulary) -> Iterator[Known]:
        for tool in (*EXACT, *RANKED, *MINGLED):
            for _ in range(self.plan.per_tool):
                draw = partial(self.calls.draw, tool, of)
                yield self._ask(truth, narrow(truth, draw) if tool in RANKED else draw())
        for _ in range(self.plan.per_tool):
            yield self._ask(truth, self.calls.lobby_read(of))

    def _ask(self, truth: Reference, asked: Asked) -> Known:
        pages = truth.pages(asked, PAGES)
        return Known(asked, pages, [comparable(asked, page, truth.root) for page in pages], truth.root)

    def _server(self, name: str, *, reads_only_lobby: bool) -> Server:
        return Server(
            name, self.scenery.root, self.home, self.place, self.plan.patience_s, self.lobby, reads_only_lobby
        )

    def _soak(self) -> None:
        self.writer.index_all()
        for server in self.servers:
            server.start()
            server.measure(0)
        self.storm.start()
        self.writer.start()
        threads = [
            threading.Thread(target=Worker(self, server, number).run, name=f"{server.name} {number}")
            for server in self.servers
            for number in range(AT_ONCE)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.writer.stop()

    def _rest(self, stack: ExitStack) -> None:
        """After the storm both servers say what a fresh index of the last commit says."""
        commit = self.storm.stop()
        choice = random.Random(f"rest {self.plan.seed}")
        words = vocabulary(self.scenery.repo, Fixed(commit, commit), choice)
        calls = FixedCalls(choice, [words], self.lobby)
        truth = stack.enter_context(
            reference(self.scenery, commit, self.place / "truth-rest", self.lobby, self.scenery.root)
        )
        for server in self.servers:
            self._calm(server)
        for tool in ("find_symbol", "find_references", "get_call_graph", "get_file_outline", "search_code", "git_log"):
            for _ in range(self.plan.per_tool * 2):
                draw = partial(self._without_ref, calls, tool, words)
                asked = narrow(truth, draw) if tool in RANKED else draw()
                known = self._ask(truth, asked)
                for server in self.servers:
                    worker = Worker(self, server, 99)
                    worker.compare(known, 0, server.call(tool, asked.on(self.scenery.root)), "at rest")

    def _without_ref(self, calls: FixedCalls, tool: str, words: Vocabulary) -> Asked:
        asked = calls.draw(tool, words)
        return Asked(tool, {name: value for name, value in asked.arguments.items() if name != "ref"})

    def _calm(self, server: Server) -> None:
        server.call("switch_ref", {"ref": "live"})
        deadline = time.monotonic() + self.plan.patience_s
        while time.monotonic() < deadline:
            answer = server.call("get_status", {"path": str(self.scenery.root)})
            if answer.value.get("metadata", {}).get("freshness_status") == "fresh":
                return
            time.sleep(0.05)
        self.result.faults.append(f"{server.name} never was fresh after the storm: {answer.text}")

    def _end(self) -> None:
        result = self.result
        for server in self.servers:
            server.measure(result.total)
            status = server.close()
            if status:
                result.faults.append(f"{server.name} ended with {status} when its stdin closed")
            result.deaths += server.deaths
            result.memory[server.name] = server.memory
            said = server.stderr.read_text(errors="replace")
            if "Traceback" in said or "Fatal" in said:
                result.faults.append(f"{server.name} wrote to stderr:\n{said[-4000:]}")
        deadline = time.monotonic() + 10
        while (orphans := processes_of(self.home)) and time.monotonic() < deadline:
            time.sleep(0.05)
        result.orphans = orphans
        result.storm, result.writer = self.storm.done, self.writer.done
        result.faults += [*self.storm.faults, *self.writer.faults]

    def stop(self) -> None:
        """No further call is given out: what was tried so far is summed up."""
        self._is_stopped = True

    # What workers share.

    def next(self) -> int | None:
        with self._lock:
            is_over = self._is_stopped or self._given_out >= self.plan.calls
            if is_over or sum(len(each.deaths) for each in self.servers) > _MOST_DEATHS:
                return None
            self._given_out += 1
            number = self._given_out
        if number % self.plan.measure_every == 0:
            for server in self.servers:
                server.measure(number)
            print(f"{number} calls, {len(self.result.wrong)} wrong", file=sys.stderr, flush=True)
        return number

    def note_wrong(self, **facts: Any) -> None:
        with self._lock:
            self.result.wrong.append(facts)
            with self._wrongs.open("a") as lines:
                lines.write(json.dumps({"seed": self.plan.seed, **facts}, default=str) + "\n")

    def remember(self, id_: str) -> None:
        with self._lock:
            self._remembered.append(id_)

    def remembered(self) -> str | None:
        with self._lock:
            return self._remembered.pop(0) if len(self._remembered) > 20 else None


@contextmanager
def trial_in(place: Path, plan: Plan) -> Iterator[Trial]:
    trial = Trial(plan, place)
    try:
        yield trial
    finally:
        for server in getattr(trial, "servers", []):
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
