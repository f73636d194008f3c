"""Many clients of a team server at once: answers a second, errors, memory and connections."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from measure import Spread
from team_processes import Rpc, Subject, TeamProcesses

_CLIENTS_A_PROCESS = 2


def throughput(team: TeamProcesses, subjects: list[Subject], seconds: float) -> dict[str, Any]:
    """One-repository searches: a second, and a processor second of the nodes."""
    count = len(team.ports)
    asked = [each for each in subjects if each.queries]

    def client(number: int, is_over: Callable[[], bool], answers: Counter[str]) -> None:
        chance, rpc = random.Random(f"{number} {time.time()}"), Rpc(team.ports[number % count], team.token)
        while not is_over():
            each = chance.choice(asked)
            query = f"{chance.choice(each.queries)} {chance.choice(each.queries)}"
            rpc.call("search_code", {"project": each.name, "query": query})
            answers["ok"] += 1

    before = sum(team.cpu_s())
    answers, took = _crowd(client, count * _CLIENTS_A_PROCESS, seconds)
    cpu, each_mb = sum(team.cpu_s()) - before, ", ".join(f"{each:.0f}" for each in team.resident_mb())
    return {
        f"{count} processes: answers a second": round(answers["ok"] / took, 1),
        f"{count} processes: answers a CPU second": round(answers["ok"] / cpu, 1),
        f"{count} processes: resident MB": each_mb,
    }  # fmt: skip


def load(team: TeamProcesses, subjects: list[Subject], clients: int, seconds: float) -> dict[str, Any]:
    """Mixed calls of many clients. A refusal by a rate limit is no error: each has a token of its own all the same."""
    asked = [each for each in subjects if each.queries]
    tokens = [team.record.tokens.create(f"load {at} {time.time()}", ["**"], "reader") for at in range(clients)]
    ms: Spread = Spread()

    def client(number: int, is_over: Callable[[], bool], answers: Counter[str]) -> None:
        chance, rpc = random.Random(number), Rpc(team.ports[number % len(team.ports)], tokens[number])
        while not is_over():
            tool, arguments = _mixed(chance, asked)
            began = time.perf_counter()
            answers[_outcome(rpc, tool, arguments)] += 1
            ms.values.append((time.perf_counter() - began) * 1000)

    memory: list[list[float]] = []
    watch = threading.Thread(target=_watch, args=(team, seconds, memory), daemon=True)
    watch.start()
    answers, took = _crowd(client, clients, seconds)
    watch.join()
    rows = team.record.database.rows("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
    return {
        "load": f"{clients} clients, {took:.0f} s", "load answers": dict(answers),
        "load p50 / p95 ms": f"{ms.median:.0f} / {ms.p95:.0f}",
        "load resident MB of each node, by quarters": memory, "load connections of the database": rows[0][0],
    }  # fmt: skip


def _mixed(chance: random.Random, asked: list[Subject]) -> tuple[str, dict[str, Any]]:
    each = chance.choice(asked)
    query = chance.choice(each.queries)
    word = query.split()[0]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_code", {"project": each.name, "query": query}),
        ("find_symbol", {"project": each.name, "symbol_name": word}),
        ("find_references", {"project": each.name, "symbol_name": word}),
        ("get_status", {"project": each.name}),
        ("grep_codebase", {"project": each.name, "pattern": word, "limit": 5}),
        ("context_search", {"project": each.name, "query": query}),
        ("list_repositories", {"glob": "org/a*"}),
        ("search_code", {"repositories": each.name[:5] + "*", "query": query}),
        ("instructions_list", {"project": each.name}),
    ]
    return chance.choice(calls)


def _outcome(rpc: Rpc, tool: str, arguments: dict[str, Any]) -> str:
    """`ok`, `none` where there is no such thing, `limited`, or what went wrong."""
    try:
        answer = rpc.ask(tool, arguments)
    except OSError as error:
        return f"{tool}: {type(error).__name__}"
    said = str(answer.get("error") or (answer["result"]["structuredContent"] if answer["result"]["isError"] else ""))
    if not said:
        return "ok"
    if "symbol_not_found" in said or "ambiguous_symbol" in said:
        return "none"
    return "limited" if "limit" in said.lower() else f"{tool}: {said[:200]}"


def _watch(team: TeamProcesses, seconds: float, memory: list[list[float]]) -> None:
    for _ in range(4):
        time.sleep(seconds / 4)
        memory.append([round(each) for each in team.resident_mb()])


def _crowd(
    client: Callable[[int, Callable[[], bool], Counter[str]], None], count: int, seconds: float
) -> tuple[Counter[str], float]:
    answers, began = Counter[str](), time.perf_counter()

    def is_over() -> bool:
        return time.perf_counter() - began > seconds

    threads = [threading.Thread(target=client, args=(number, is_over, answers)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers, time.perf_counter() - began
