"""A node answers as `cairn serve` answers on a clone, to the last digit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecairn.team.offered_tools import QuietSessions
from tests.support.doors import Answer, Door, MemoryDoor, service
from tests.support.repo import Repo
from tests.support.soak import SOAK
from tests.support.team import Team, open_team
from tests.team.conftest import fresh_database

NAME = "org/shop"
FILES: dict[str, str | bytes] = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        '"""The cart."""\nfrom shop.money import Money, total\n\n\n'
        'class Cart:\n    """Items on their way to the till."""\n\n'
        "    def __init__(self) -> None:\n        self.items: list[Money] = []\n\n"
        "    def add(self, item: Money) -> None:\n        self.items.append(item)\n\n"
        "    def price(self) -> Money:\n        return total(self.items)\n"
    ),
    "shop/money.py": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Money:\n    cents: int\n\n\n"
        "def total(items):\n    # TODO: currencies\n    return Money(sum(each.cents for each in items))\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import Cart\nfrom shop.money import Money\n\n\ndef test_price():\n    cart = Cart()\n"
        "    cart.add(Money(3))\n    assert cart.price().cents == 3\n"
    ),
    "web/index.ts": "export function render(cart: string[]): string {\n  return cart.join(', ');\n}\n",
    "README.md": "# Shop\n\nA shop with a cart. Prices are in cents.\n\n## Install\n\nRun it.\n",
    "instructions/money.json": (
        '{"id": "money", "title": "Money", "body": "Count in cents.", "priority": 10, "audience": "all", '
        '"requirement": "mandatory", "categories": ["code"], "schemaVersion": "1", '
        '"createdAt": "2026-01-01T00:00:00Z", "updatedAt": "2026-01-01T00:00:00Z"}'
    ),
}
WORDS = ("cart", "money total", "price in cents", "where is the price computed", "render", "Cart.add", "TODO", "zzz")
NAMES = ("Cart", "Money", "total", "add", "render", "Cart.price", "nothing_here", "pric")
PATHS = ("shop/cart.py", "shop/money.py", "README.md", "web/index.ts", "shop", "no/such.py", "../etc/passwd", ".env")
REFS = (None, "main", "feature", "v1", "HEAD~1", "nope")


@pytest.fixture(scope="module")
def doors(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A node, and the local product on a clone of the same repository."""
    folder = tmp_path_factory.mktemp("equality")
    with fresh_database(postgres) as url, open_team(url, folder) as team:
        yield _both(team, folder)


class LocalDoor:
    """The local product, each call on a connection of its own: a node's calls have no history either."""

    name = "local"

    def __init__(self, root: Path, home: Path) -> None:
        self._service = service(root, data=home)
        self._service.registry.sessions = QuietSessions()

    def call(self, tool: str, arguments: Any = None) -> Answer:
        return MemoryDoor(self._service).call(tool, arguments)


def _both(team: Team, folder: Path) -> tuple[Door, Door]:
    repo = team.repository(NAME, FILES, ("**",))
    repo.git("tag", "v1")
    repo.commit("cheaper", {"shop/money.py": str(FILES["shop/money.py"]).replace("cents", "pence")})
    repo.git("checkout", "--quiet", "-b", "feature")
    repo.commit(
        "a discount", {"shop/discount.py": "from shop.cart import Cart\n\n\ndef halve(cart: Cart):\n    return cart\n"}
    )
    repo.git("checkout", "--quiet", "main")
    team.work("worker")
    team.start_node("node")
    team.await_ready()
    repo.git("clone", "--quiet", str(repo.path), str(folder / "laptop" / "shop"))
    local = Repo(folder / "laptop" / "shop")
    local.git("branch", "--quiet", "feature", "origin/feature")
    served = LocalDoor(local.path, folder / "laptop-home")
    assert not served.call("index_codebase", {"path": str(local.path)}).is_error
    for ref in ("feature", "v1"):
        assert not served.call("index_codebase", {"path": str(local.path), "ref": ref}).is_error
    return team.door(team.token()), served


def calls() -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    ref = st.sampled_from(REFS).map(lambda ref: {"ref": ref} if ref else {})

    def tool(name: str, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
        return st.tuples(st.just(name), st.fixed_dictionaries({}, optional=given))

    def on_ref(name: str, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
        return st.tuples(st.just(name), st.fixed_dictionaries(given), ref).map(
            lambda each: (each[0], each[1] | each[2])
        )

    words, names, paths = st.sampled_from(WORDS), st.sampled_from(NAMES), st.sampled_from(PATHS)
    limit = st.integers(1, 8)
    return st.one_of(
        on_ref("search_code", query=words, limit=limit, search_mode=st.sampled_from(["hybrid", "keyword", "vector"])),
        on_ref("find_symbol", symbol_name=names, limit=limit),
        on_ref("find_references", symbol_name=names, limit=limit, include_unresolved=st.booleans()),
        on_ref("get_call_graph", symbol_name=names),
        on_ref("get_file_outline", path=paths),
        on_ref("grep_codebase", pattern=st.sampled_from(["cents", r"def \w+", "TODO", "("]), limit=limit),
        on_ref("read_file", path=paths),
        on_ref("context_search", query=st.sampled_from(["cart price", "money"]), limit=limit),
        on_ref("explain_ranking", query=words, result_path=paths, result_line_start=st.integers(1, 12)),
        on_ref("build_context_pack", task=words),
        tool("git_log", filePath=paths, maxCount=limit, author=st.just("Ada")),
        tool("git_blame", filePath=paths),
        tool("git_diff", ref1=st.just("v1"), ref2=st.just("main"), summary=st.booleans()),
        tool("diff_context", head_ref=st.sampled_from(["feature", "v1", "nope"])),
        tool("get_status"), tool("list_refs"), tool("instructions_list"), tool("gates_evaluate"),
        tool("instructions_get", id=st.sampled_from(["money", "none"])), tool("integrity_verify"),
        tool("instructions_search", q=words), tool("prompt_review", prompt=words),
    )  # fmt: skip


VOLATILE = {
    "search_duration_ms", "searchTime", "cache_hit", "last_indexed_at", "indexing_duration_seconds", "index_size_mb",
    "next_cursor", "nextCursor", "last_accessed_at", "lastModified", "date", "lastShownAt", "lastUsedAt",
}  # fmt: skip
"""Times, sizes of files that databases pad, and cursors, which are bound to the project."""


def steady(value: Any) -> Any:
    """A value without times, and with one word for the folder, which is the repository's name on a node."""
    if isinstance(value, dict):
        kept = {name: each for name, each in value.items() if name not in VOLATILE}
        return {name: steady(each) for name, each in kept.items() if name != "id" or not isinstance(each, int)}
    if isinstance(value, list):
        return [steady(each) for each in value]
    return re.sub(r"/[^\s\"]*/laptop/shop|org/shop|\d+ ?ms", "SAME", value) if isinstance(value, str) else value


TIES = "\n\n".join(
    f"def handle_{letter}(widget, sprocket):\n"
    + "".join(f"    widget.frobnicate({step}, sprocket)\n    log.info('turned the sprocket')\n" for step in range(9))
    for letter in "abcdefghijklmnopqrstuvwxy"
)
"""25 functions that differ in their names alone, each a chunk of its own."""


def test_of_many_that_score_alike_the_same_ones_are_weighed(team: Team) -> None:
    """1,500 chunks that tie, of which 200 are weighed: a node has written them in another order than a clone."""
    repo = team.repository(NAME, {f"part{number:02}.py": TIES for number in range(60)})
    team.work("worker")
    team.start_node("node")
    team.await_ready()
    clone = team.folder / "laptop" / "shop"
    repo.git("clone", "--quiet", str(repo.path), str(clone))
    local, node = LocalDoor(clone, team.folder / "laptop-home"), team.door(team.token())
    assert not local.call("index_codebase", {"path": str(clone)}).is_error
    for mode in ("keyword", "vector", "hybrid"):
        asked = {"query": "frobnicate the sprocket of a widget", "search_mode": mode, "limit": 100}
        theirs, ours = local.call("search_code", asked), node.call("search_code", {**asked, "project": NAME})
        assert len(theirs.value["results"]) == 100
        assert steady(ours.value) == steady(theirs.value), mode


@settings(max_examples=400 if SOAK else 60, suppress_health_check=list(HealthCheck))
@given(asked=calls())
def test_a_node_answers_as_the_local_product(doors: tuple[Door, Door], asked: tuple[str, dict[str, Any]]) -> None:
    node, local = doors
    name, arguments = asked
    ours, theirs = node.call(name, {**arguments, "project": NAME}), local.call(name, arguments)
    assert ours.is_error == theirs.is_error, (ours.value, theirs.value)
    assert steady(ours.value) == steady(theirs.value)
