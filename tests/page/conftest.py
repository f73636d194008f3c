from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.page import PageServer, Visitor, page_server
from tests.support.repo import Repo

CART = '''\
"""The cart."""


def discount(price, percent):
    """How the price is lowered for a customer."""
    return price * (100 - percent) / 100


def total(items):
    return sum(discount(each, 5) for each in items)
'''
TILL = """\
from shop.cart import discount, total


def pay(items):
    return total(items)


def refund(price):
    return discount(price, 0)


def guess(thing):
    return thing.discount(3, 4)
"""
RULE = {
    "id": "tests", "title": "Every fix brings a test", "body": "A test fails without it.", "priority": 20,
    "audience": "all", "requirement": "mandatory", "categories": ["testing"], "schemaVersion": "1",
    "createdAt": "2025-01-01T00:00:00Z", "updatedAt": "2025-01-01T00:00:00Z",
}  # fmt: skip
GATE = {"id": "some", "type": "count", "where": {}, "op": ">=", "value": 1, "severity": "error"}
SHOP = {
    "shop/cart.py": CART,
    "shop/till.py": TILL,
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([100]) == 95\n",
    "README.md": "# Shop\n\nA shop that sells.\n",
    "instructions/tests.json": json.dumps(RULE),
    "instructions/gates.json": json.dumps({"gates": [GATE]}),
}


def shop_in(path: Path) -> Repo:
    """A shop with a branch `sale` that changes one function."""
    repo = Repo.create(path)
    repo.commit("Open the shop", dict(SHOP))
    repo.git("checkout", "--quiet", "-b", "sale")
    cart = CART.replace("(100 - percent) / 100", "max(0, 100 - 2 * percent) / 100")
    repo.commit("Sell at half the price", {"shop/cart.py": cart})
    repo.git("checkout", "--quiet", "main")
    return repo


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return shop_in(tmp_path / "shop")


@pytest.fixture
def served(shop: Repo, tmp_path: Path) -> Iterator[PageServer]:
    with page_server(shop.path, tmp_path / "home") as server:
        server.call("index_codebase")
        yield server


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """A server that tests share which change nothing."""
    folder = tmp_path_factory.mktemp("standing")
    with page_server(shop_in(folder / "shop").path, folder / "home") as server:
        server.call("index_codebase")
        server.call("remember", type="decision", content="Discounts are never negative.", symbol="discount")
        yield server


@pytest.fixture
def visitor(standing: PageServer) -> Visitor:
    return standing.visitor()
