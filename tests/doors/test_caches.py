"""Memory has bounds: every cache its bytes, the server its open projects."""

from __future__ import annotations

import gc
import os
import random
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from codecairn.cache import Cache, CacheState, Memo, _caches, caches, widen
from codecairn.config import Settings
from codecairn.project import MOST_OPEN, Projects
from tests.support.doors import Door, http_request, http_server, open_door, service
from tests.support.repo import Repo
from tests.support.wire import ServerProcess

ALL_CACHES_BYTES = 250_000_000
"""What docs/index.md says that all caches of a server take at most."""


USED = {
    "search.rankings", "search.frequencies", "search.columns", "search.files", "resolve.scopes", "resolve.uses",
    "words.identifiers", "diff.comparisons", "grep.commits", "git.merge_bases", "paths.blocked",
}  # fmt: skip


def source(number: int) -> str:
    functions = (f"def part_{number}_{each}(value):\n    return part_{number}_{each - 1}(value)\n" for each in range(9))
    return f'"""Module {number} of the shop."""\n\n' + "\n\n".join(functions)


@pytest.fixture
def shop(repo: Repo) -> Repo:
    repo.commit("one", {f"shop/part{number}.py": source(number) for number in range(30)})
    repo.commit("two", {"shop/part1.py": source(1).replace("value", "amount")})
    return repo


@pytest.fixture
def door(shop: Repo, door_name: str, tmp_path: Path) -> Iterator[Door]:
    served = service(shop.path, data=tmp_path / "home")
    with open_door(door_name, served) as opened:
        yield opened
    served.projects.current().close()


def listed(door: Door) -> dict[str, dict[str, Any]]:
    rows = door.call("metrics_snapshot").value["caches"]
    assert len({row["name"] for row in rows}) == len(rows)
    return {row["name"]: row for row in rows}


@pytest.mark.requirement("003/metrics_snapshot/caches-named", "003/metrics_snapshot/caches-bounded")
def test_every_cache_is_named_with_its_bound_and_stays_below_it(door: Door, shop: Repo) -> None:
    door.call("index_codebase", {"path": str(shop.path)})
    draw = random.Random(1)
    for number in range(40):
        name = f"part_{draw.randrange(30)}_{draw.randrange(9)}"
        door.call("search_code", {"path": str(shop.path), "query": f"{name} {number}"})
        door.call("find_references", {"symbol_name": name})
        door.call("find_symbol", {"symbol_name": name})
        door.call("read_file", {"path": f"shop/part{number % 30}.py", "includeDeps": True})
        door.call("git_log", {"filePath": f"shop/part{number % 30}.py"})
    door.call("diff_context", {"base_ref": "HEAD~1", "head_ref": "HEAD"})
    door.call("grep_codebase", {"pattern": "amount", "ref": "HEAD~1"})
    found = listed(door)
    assert all(0 <= row["bytes"] <= row["mostBytes"] for row in found.values())
    assert {name for name in USED if not (found[name]["entries"] and found[name]["bytes"])} == set()
    assert sum(row["mostBytes"] for row in found.values()) <= ALL_CACHES_BYTES


def test_caches_keep_nothing_of_states_that_edits_leave_behind(shop: Repo, tmp_path: Path) -> None:
    """Questions after thirty edits, with the index built anew among them, leave as much as after five."""
    served = service(shop.path, data=tmp_path / "home")
    sizes = list[dict[str, int]]()
    with open_door("memory", served) as door:
        for number in range(30):
            shop.write("shop/part3.py", source(3).replace("value", f"amount{number}"))
            door.call("index_codebase", {"path": str(shop.path), "force_reindex": number % 10 == 9})
            for each in range(9):
                door.call("find_references", {"symbol_name": f"part_{each}_4"})
                door.call("search_code", {"path": str(shop.path), "query": f"part {each} of the shop"})
            sizes.append({name: row["entries"] for name, row in listed(door).items()})
    served.projects.current().close()
    for name in ("resolve.answers", "resolve.uses", "resolve.scopes", "search.rankings", "search.frequencies"):
        assert sizes[-1][name] <= sizes[4][name] * 1.5 + 10, (name, [each[name] for each in sizes])
    for name in ("resolve.generations", "search.files", "search.vectors"):
        assert sizes[-1][name] == sizes[4][name], (name, [each[name] for each in sizes])


@pytest.mark.requirement("003/metrics_snapshot/process-memory")
def test_the_memory_of_the_process_is_told_where_the_system_tells(door: Door) -> None:
    told = door.call("metrics_snapshot").value["rssBytes"]
    assert told > 10_000_000 if sys.platform == "linux" else told is None or told > 0


def test_prometheus_has_the_caches(shop: Repo) -> None:
    with http_server(service(shop.path)) as port:
        lines = http_request(port, "GET", "/metrics").body.decode().splitlines()
    assert any(line.startswith('cairn_cache_bytes{cache="search.rankings"} ') for line in lines)
    assert 'cairn_cache_most_bytes{cache="search.rankings"} 4000000' in lines
    assert any(line.startswith("cairn_resident_memory_bytes ") for line in lines) == (sys.platform == "linux")


def ask_everything(door: Door, shop: Repo, draw: random.Random) -> None:
    """Some calls of every kind, each about something else."""
    number, each = draw.randrange(30), draw.randrange(9)
    name, path = f"part_{number}_{each}", f"shop/part{number}.py"
    words = f"{name} {draw.randrange(10**9)}"
    for tool, arguments in {
        "search_code": {"path": str(shop.path), "query": words},
        "explain_ranking": {"query": words, "result_path": path, "result_line_start": 3},
        "context_search": {"query": words},
        "build_context_pack": {"task": words, "max_tokens": 1_000},
        "find_references": {"symbol_name": name},
        "find_symbol": {"symbol_name": name},
        "get_call_graph": {"symbol_name": name},
        "get_file_outline": {"path": path},
        "read_file": {"path": path, "includeDeps": True},
        "grep_codebase": {"pattern": words},
        "git_log": {"filePath": path},
        "git_blame": {"filePath": path},
        "git_diff": {"ref1": "HEAD~1", "ref2": "HEAD"},
        "diff_context": {"base_ref": "HEAD~1", "head_ref": "HEAD"},
        "list_refs": {},
        "instructions_search": {"q": words},
        "prompt_review": {"prompt": words},
    }.items():
        door.call(tool, arguments)


def held_outside_of_caches() -> int:
    for each in list(_caches.values()):
        each.clear()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.timeout(300)
def test_nothing_but_the_caches_grows(shop: Repo, tmp_path: Path) -> None:
    served, draw = service(shop.path, data=tmp_path / "home"), random.Random(1)
    rounds = 60 if os.environ.get("CAIRN_SOAK") else 12
    with open_door("memory", served) as door:
        door.call("index_codebase", {"path": str(shop.path)})
        tracemalloc.start()
        try:
            for _ in range(10):
                ask_everything(door, shop, draw)
            before = held_outside_of_caches()
            for _ in range(rounds):
                ask_everything(door, shop, draw)
            grown = held_outside_of_caches() - before
        finally:
            tracemalloc.stop()
    served.projects.current().close()
    # Times of the latest calls and the queries of the session, which have bounds of their own: under 1 kB a round. What
    # is made once, whenever its time comes, was up to 60 kB in all.
    assert grown < 60_000 + 4_000 * rounds


class TestCache:
    def test_forgets_what_was_used_longest_ago(self) -> None:
        cache = Cache[str, str]("a test's", 1_000, len)
        cache.put("a", "x" * 200)
        cache.put("b", "x" * 200)
        assert cache.get("a") == "x" * 200
        cache.put("c", "x" * 200)
        assert (cache.get("a"), cache.get("b", "gone"), cache.get("c")) == ("x" * 200, "gone", "x" * 200)
        assert cache.state() == CacheState("a test's", 2, 800, 1_000)

    def test_keeps_nothing_heavier_than_itself_and_nothing_in_its_place(self) -> None:
        cache = Cache[str, str]("a test's", 1_000, len)
        cache.put("a", "small")
        assert cache.put("a", "x" * 2_000) == "x" * 2_000
        assert (cache.get("a"), cache.state().bytes) == (None, 0)

    def test_has_a_number_of_entries_that_a_wider_one_has_not(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cache = Cache[int, str]("a test's", 100_000, len, most_entries=3)
        for number in range(5):
            cache.put(number, "x")
        assert [number for number in range(5) if cache.get(number)] == [2, 3, 4]
        monkeypatch.setattr("codecairn.cache._caches", {0: cache})
        widen({"a test's": 2})
        for number in range(5):
            cache.put(number, "x")
        assert (cache.state().entries, cache.state().most_bytes) == (5, 200_000)

    def test_tells_of_what_it_forgets_so_that_others_forget_what_they_keep_about_it(self) -> None:
        told = list[tuple[str, str]]()
        details = Cache[tuple[str, int], str]("of details", 10_000, len)

        def let_go(key: str, value: str) -> None:
            told.append((key, value))
            details.forget(lambda each: each[0] == key)

        cache = Cache[str, str]("a test's", 1_000, len, lambda key: key[0], let_go=let_go)
        for key in ("a1", "b1", "a2"):
            cache.put(key, f"value of {key}")
            for number in range(3):
                details.put((key, number), "x")
        assert told == [("a1", "value of a1")]
        assert {key for key, _ in details._kept} == {"b1", "a2"}
        cache.drop("b1")
        assert {key for key, _ in details._kept} == {"a2"}
        assert cache.values() == ["value of a2"]

    def test_is_listed_while_somebody_has_it(self) -> None:
        cache = Cache[str, str]("one of a test", 1_000, len)
        assert "one of a test" in {each.name for each in caches()}
        del cache
        assert "one of a test" not in {each.name for each in caches()}

    def test_counts_right_whoever_uses_it(self) -> None:
        cache = Cache[int, bytes]("a test's", 50_000, len)

        def work(seed: int) -> None:
            draw = random.Random(seed)
            for _ in range(3_000):
                key = draw.randrange(300)
                if draw.random() < 0.1:
                    cache.drop(key)
                elif cache.get(key) is None:
                    cache.put(key, bytes(draw.randrange(400)))

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert cache.state().bytes == sum(weight for _, weight in cache._kept.values()) <= 50_000


class TestMemo:
    def test_works_out_once_and_forgets_all_at_its_bound(self) -> None:
        asked = list[str]()

        def answer(text: str) -> str:
            asked.append(text)
            return text.upper()

        memo = Memo[str, str]("a test's", 10_000, answer)
        for number in [*range(100), *range(95, 100)]:
            assert memo[f"word {number}"] == f"WORD {number}"
            assert memo.state().bytes <= 10_000
        assert len(asked) == 100
        assert 0 < memo.state().entries < 100

    def test_does_not_keep_a_long_question(self) -> None:
        memo = Memo[str, int]("a test's", 10_000, len)
        assert memo["x" * 501] == 501
        assert memo.state().entries == 0


def small_projects(folder: Path, count: int) -> list[Path]:
    repos = [Repo.create(folder / f"project{number}") for number in range(count)]
    for number, repo in enumerate(repos):
        repo.commit("one", {"a.py": f"def only_{number}():\n    return {number}\n"})
    return [repo.path.resolve() for repo in repos]


class TestProjects:
    def test_those_used_longest_ago_are_closed(self, tmp_path: Path) -> None:
        projects = Projects(Settings(data=tmp_path / "home"))
        roots = small_projects(tmp_path, MOST_OPEN + 2)
        first = projects.open(roots[0])
        for root in roots[1:]:
            assert projects.open(root).memory.usage() == {}
        assert set(projects._open) == set(roots[2:])
        assert projects.open(roots[0]) is first, "somebody uses it still"
        assert roots[1] not in projects._alive

    def test_one_that_is_written_stays(self, tmp_path: Path) -> None:
        projects = Projects(Settings(data=tmp_path / "home"))
        roots = small_projects(tmp_path, MOST_OPEN + 2)
        held = projects.open(roots[0])
        held.leases.hold("a connection", roots[0], tmp_path / "lease")
        del held
        for root in roots[1:]:
            projects.open(root)
        assert projects.open(roots[0]).leases.are_held
        projects.end_connection("a connection")

    @pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are listed by Linux")
    @pytest.mark.timeout(180)
    def test_a_server_that_is_asked_about_many_keeps_few_open(self, tmp_path: Path) -> None:
        roots = small_projects(tmp_path, MOST_OPEN + 6)
        home = str(tmp_path / "home")
        with ServerProcess("--no-watch", "--no-index", folder=roots[0], CAIRN_HOME=home) as server:
            server.initialize()
            for number, root in enumerate(roots):
                call(server, "index_codebase", path=str(root))
                found = call(server, "search_code", path=str(root), query=f"only_{number}")
                assert first_name(found) == f"only_{number}"
            again = call(server, "search_code", path=str(roots[0]), query="only_0")
            assert first_name(again) == "only_0", "one that was closed is opened again"
            opened = {path.parent for path in databases(server.process.pid)}
            assert 2 <= len(opened) <= 2 * (MOST_OPEN + 1), "a folder of the index and one of the memory each"


def call(server: ServerProcess, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = server.request("tools/call", {"name": tool, "arguments": arguments}, seconds=60)
    value: dict[str, Any] = answer["result"]["structuredContent"]
    return value


def first_name(found: dict[str, Any]) -> str:
    name: str = found["results"][0]["symbol"]["name"]
    return name


def databases(pid: int) -> list[Path]:
    found = list[Path]()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(each.readlink())
        except OSError:  # it was closed meanwhile
            continue
    return [path for path in found if path.suffix == ".db"]


def test_a_later_state_of_a_thing_takes_the_place_of_the_earlier() -> None:
    cache: Cache[tuple[str, int], str] = Cache("test.states", 10_000, len, lambda key: key[0])
    for generation in range(5):
        cache.put(("layer", generation), "x" * 100)
    cache.put(("other layer", 0), "y")
    assert cache.get(("layer", 3)) is None
    assert (cache.get(("layer", 4)), cache.get(("other layer", 0))) == ("x" * 100, "y")
    assert cache.state().entries == 2
    cache.drop(("layer", 4))
    cache.put(("layer", 4), "again")
    assert (cache.get(("layer", 4)), cache.state().entries) == ("again", 2)
