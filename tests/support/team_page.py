"""The pages of a team server as tests ask for them: visitors at any node, tabs of a browser, a team with a shop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codecairn.team.node import ServingNode
from tests.support.page import Visitor
from tests.support.repo import Repo
from tests.support.team import Team

_CART = """\
def discount(price, percent):
    return price * (100 - percent) / 100


def total(items):
    return sum(discount(each, 5) for each in items)
"""


@dataclass
class TeamPages:
    """One node, for people with one token."""

    port: int
    token: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def enter(self, page: Any) -> None:
        """Log a browser's tab in, as a person does."""
        page.goto(f"{self.origin}/")
        page.fill("input[name=token]", self.token)
        page.click("button:has-text('Log in')")
        page.locator("#q").wait_for()


def log_in(team: Team, token: str, node: ServingNode | None = None) -> Visitor:
    visitor = Visitor(team.ports[(node or team.nodes[0]).id])
    answer = visitor.post("/login", {"token": token, "next": "/"}, Origin=f"http://127.0.0.1:{visitor.port}")
    assert answer.status == 303, answer.body
    return visitor


def move(team: Team, visitor: Visitor, node: ServingNode) -> Visitor:
    """The same browser at another node, as a load balancer has it."""
    return Visitor(team.ports[node.id], visitor.cookies)


def add_shop(team: Team, name: str = "org/shop", **files: str) -> Repo:
    """A repository with a branch `sale`, rules of which one names what is gone, and its whole past."""
    agents = {"AGENTS.md": "Prices are in `shop/cart.py`; see `shop/old.py`.\n", "shop/old.py": "OLD = 1\n"}
    repo = team.repository(name, {"shop/cart.py": _CART, **agents, **files}, ("**",))
    repo.git("rm", "--quiet", "shop/old.py")
    repo.commit("Drop what is old", {})
    repo.git("checkout", "--quiet", "-b", "sale")
    repo.commit("Sell at half", {"shop/cart.py": _CART.replace("100 - percent", "100 - 2 * percent")})
    repo.git("checkout", "--quiet", "main")
    return repo


def shop_pages(team: Team) -> TeamPages:
    """A team of two repositories on one node, with something remembered and some calls."""
    add_shop(team)
    team.repository("org/bank", {"bank.py": "def discount_rate():\n    return 3\n"})
    team.work("worker")
    node = team.start_node("a")
    team.await_ready()
    token = team.token("ada.lovelace@example.org", role="admin")
    door = team.door(token)
    said = {"type": "decision", "content": "Discounts are never negative.", "symbol": "discount"}
    assert not door.call("remember", {**said, "project": "org/shop"}).is_error
    assert door.call("find_symbol", {"symbol_name": "nothing_like_it", "project": "org/shop"}).is_error
    return TeamPages(team.ports[node.id], token)
