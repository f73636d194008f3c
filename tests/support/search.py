"""Shared by the tests of search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codecairn.cancel import Cancel
from codecairn.config import Settings
from codecairn.connection import Connection
from codecairn.index.run import Options
from codecairn.project import Project
from codecairn.serve import Service
from codecairn.tools import Call
from tests.support.doors import Answer, Door, open_door, service
from tests.support.indexes import LastingWorkers
from tests.support.repo import Repo

CORPUS = Path(__file__).parents[1] / "search" / "corpus"

SHOP: dict[str, str | bytes] = {
    "go.mod": "module example.org/shop\n\ngo 1.22\n",
    "internal/auth/service.go": """\
package auth

import (
	"errors"
	"strings"
)

// ErrDenied says that the password is wrong.
var ErrDenied = errors.New("denied")

// LongestPassword is in bytes.
const LongestPassword = 72

// AuthenticateUser verifies user credentials and returns the authenticated user.
func AuthenticateUser(username, password string) (*User, error) {
	if strings.TrimSpace(username) == "" || len(password) > LongestPassword {
		return nil, ErrDenied
	}
	return &User{Name: username}, nil
}

// ValidateToken checks whether an authentication token is valid.
func ValidateToken(token string) bool {
	return strings.HasPrefix(token, "t-")
}
""",
    "internal/auth/user.go": """\
package auth

// User is someone who may sign in.
type User struct {
	ID   int
	Name string
}

// Role is what a user may do.
type Role string

// Greeting is for the head of a page.
func (u *User) Greeting() string {
	return "Hello, " + u.Name
}

// Signer signs what it is given.
type Signer interface {
	Sign(body []byte) []byte
}
""",
    "internal/orders/repository.go": """\
package orders

// OrderRepository keeps orders.
type OrderRepository struct {
	rows map[int]Order
}

// Order has an identity and lines.
type Order struct {
	ID    int
	Lines []Line
}

// Line is one product of an order.
type Line struct {
	SKU   string
	Count int
}

// Add puts a line on the order.
func (o *Order) Add(line Line) {
	o.Lines = append(o.Lines, line)
}

// FindOrder reads an order of the repository.
func (r *OrderRepository) FindOrder(id int) (Order, bool) {
	order, ok := r.rows[id]
	return order, ok
}
""",
    "shop/billing.py": '''\
"""Bills for orders."""

from dataclasses import dataclass

VAT = 0.19


@dataclass(frozen=True)
class Money:
    """An amount of cents."""

    cents: int


class InvoiceEntity:
    def __init__(self, number: int) -> None:
        self.number = number


class BillingService:
    """Writes invoices for orders."""

    def write_invoice(self, order, money: Money) -> InvoiceEntity:
        """An invoice for an order, with its tax."""
        return InvoiceEntity(compute_tax(money).cents)


def compute_tax(net: Money) -> Money:
    return Money(round(net.cents * VAT))
''',
    "src/lib.rs": """\
//! Shipping.

pub mod parcels {
    /// How a parcel travels.
    pub enum Carrier {
        Post,
        Courier,
    }

    /// Whatever can be sent.
    pub trait Shippable {
        fn weight(&self) -> u32;
    }

    /// The price of sending something so heavy.
    pub fn postage(weight: u32) -> u32 {
        100 + weight / 10
    }
}
""",
    "web/cart.ts": """\
export type Sku = string;

export interface CartItem {
  sku: Sku;
  count: number;
}

export const emptyCart: CartItem[] = [];

let visits = 0;

/** The price of an order's cart. */
export function cartTotal(items: CartItem[]): number {
  visits += 1;
  return items.reduce((sum, each) => sum + each.count, 0);
}
""",
    "docs/orders.md": "# Orders\n\n## Placing an order\n\nAn order is placed when its invoice is paid.\n",
    "tests/test_billing.py": """\
from shop.billing import BillingService, Money, compute_tax


def test_compute_tax_rounds() -> None:
    assert compute_tax(Money(10)).cents == 2


def test_write_invoice_for_an_order() -> None:
    assert BillingService().write_invoice(None, Money(100)).number == 19
""",
}


ONE_OF_EACH = {
    "function": "compute_tax", "method": "write_invoice", "class": "BillingService", "struct": "User",
    "interface": "Signer", "trait": "Shippable", "enum": "Carrier", "type": "Role", "const": "LongestPassword",
    "var": "ErrDenied", "field": "cents", "module": "parcels",
}  # fmt: skip
"""Of every kind a symbol of the shop."""


Doors = Callable[[str], Door]


@dataclass(frozen=True)
class Built:
    """A project that was indexed once, for tests that only ask."""

    root: Path
    home: Path


def index(root: Path, home: Path, workers: LastingWorkers) -> Built:
    project = Project(root.resolve(), Settings(data=home))
    project.index._workers = workers
    try:
        project.index.index(Options(), force=False, cancel=Cancel())
    finally:
        project.index.close()
    return Built(root.resolve(), home)


def built_from(files: dict[str, str | bytes], folder: Path, workers: LastingWorkers) -> Built:
    """A project of these files in a repository of the folder's name, on branch main."""
    repo = Repo.create(folder / folder.name.rstrip("0123456789"))
    repo.commit("start", files)
    return index(repo.path, folder / "home", workers)


@contextmanager
def doors_to(built: Built) -> Iterator[Doors]:
    """A door to a project by its name, each opened once."""
    opened: dict[str, Door] = {}
    with ExitStack() as stack:

        def of(name: str) -> Door:
            if name not in opened:
                served = service(built.root, data=built.home)
                stack.callback(served.projects.open(built.root).index.close)
                opened[name] = stack.enter_context(open_door(name, served))
            return opened[name]

        yield of


@dataclass
class Asking:
    """One connection to a server of one project, spoken to in this process."""

    served: Service
    root: Path
    connection: Connection

    def answer(self, tool: str, **arguments: Any) -> Answer:
        call = Call(self.served.projects, self.connection, self.served.registry, "memory")
        reply = self.served.registry.call(self.served.registry.tools[tool], call, arguments)
        fault = {"code": reply.error.number, "data": reply.error.data} if reply.error else None
        return Answer(reply.text, reply.value, reply.error is not None, fault)

    def search(self, query: str, **arguments: Any) -> dict[str, Any]:
        found = self.answer("search_code", path=str(self.root), query=query, **arguments)
        assert not found.is_error, found.text
        return found.value

    def explain(self, query: str, result: dict[str, Any], **arguments: Any) -> dict[str, Any]:
        place = {"result_path": result["file"]["path"], "result_line_start": result["file"]["start_line"]}
        found = self.answer("explain_ranking", query=query, **place, **arguments)
        assert not found.is_error, found.text
        return found.value

    @property
    def project(self) -> Project:
        return self.served.projects.open(self.root)

    def another_connection(self) -> Asking:
        return Asking(self.served, self.root, Connection("another"))

    def forget(self) -> None:
        """Empty the cache of results."""
        self.project.searcher.__init__(self.project.index.encoders)  # type: ignore[misc]

    def close(self) -> None:
        self.project.index.close()


def asking(built: Built) -> Asking:
    return Asking(service(built.root, data=built.home), built.root, Connection("memory"))


def ask(door: Door, shop: Built, query: str, **arguments: Any) -> Answer:
    return door.call("search_code", {"path": str(shop.root), "query": query, **arguments})


def error_of(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    fault: dict[str, Any] = answer.rpc_error or answer.value["error"]
    return fault


def places(found: dict[str, Any]) -> list[tuple[str, int]]:
    return [(each["file"]["path"], each["file"]["start_line"]) for each in found["results"]]


def names(found: dict[str, Any]) -> list[str]:
    return [each["symbol"]["name"] if each["symbol"] else each["file"]["path"] for each in found["results"]]
