"""The patterns of domain-driven design, told by name and by structure in the languages that have them."""

from __future__ import annotations

import pytest

from codecairn.index.domain_patterns import PATTERNS, tags_of
from codecairn.parse.extract import extract
from codecairn.parse.language import language_of
from tests.support.index import Open
from tests.support.repo import Repo

PYTHON = """
class OrderRepository:
    def find(self, order): ...

class PriceService:
    def quote(self): ...

class Order:
    id: int
    lines: list[OrderLine]
    def add(self, line): ...

class Customer:
    customer_id: int
    name: str

@dataclass(frozen=True)
class Money:
    amount: int

@dataclass(frozen=True)
class OrderLine:
    order_id: int
    sku: str

class Grid:
    valid: bool
    paid: bool

def make_service(): ...
"""
GO = """package shop
type OrderRepository interface { Find(id int) Order }
type PriceService struct { tax int }
func (s *PriceService) Quote() int { return 1 }
type Order struct {
	ID int
	Lines []OrderLine
}
func (o *Order) Add(l OrderLine) {}
type Customer struct {
	ID   string
	Name string
}
type Point struct { X, Y int }
"""
JAVA = """package shop;
interface OrderRepository { Order find(long id); }
class PriceServiceImpl { int quote() { return 1; } }
record Money(long amount, String currency) {}
@Entity
class Customer { private String name; }
class Order { private Long id; private List<OrderLine> lines; void add(OrderLine line) {} }
"""
CSHARP = """namespace Shop;
public interface IOrderRepository { Order Find(int id); }
public record Money(decimal Amount, string Currency);
public class Customer { public int Id { get; set; } public string Name { get; set; } }
public class Order : AggregateRoot { public int Number { get; set; } }
"""
TYPESCRIPT = """
export class OrderRepository { find(id: string) {} }
export class Order { id: string; lines: OrderLine[]; add(line: OrderLine) {} }
export class Customer { id: string; name: string; }
"""
RUST = """
pub trait OrderRepository { fn find(&self, id: u32); }
pub struct PriceService { tax: u32 }
impl PriceService { pub fn quote(&self) -> u32 { 1 } }
pub struct Order { id: u32, lines: Vec<OrderLine> }
impl Order { fn add(&mut self) {} }
"""
KOTLIN = """
class OrderDao { fun find(id: Int) {} }
data class Money(val amount: Int, val currency: String)
data class Customer(val id: Int, val name: String)
"""
PHP = """<?php
final class OrderRepository { public function find(int $id) {} }
final readonly class Money { public function __construct(public int $amount) {} }
class Customer { private int $id; private string $name; }
"""
RUBY = "class OrderRepository\n  def find(id); end\nend\n\nclass PlaceOrderUseCase\nend\n"

EXPECTED: dict[str, tuple[str, dict[str, str]]] = {
    "a.py": (
        PYTHON,
        {
            "OrderRepository": "repository", "OrderRepository.find": "repository", "PriceService": "service",
            "Order": "aggregate", "Order.add": "aggregate", "Customer": "entity", "Money": "value_object",
            "OrderLine": "value_object", "Grid": "", "make_service": "",
        },
    ),
    "a.go": (
        GO,
        {
            "OrderRepository": "repository", "PriceService": "service", "PriceService.Quote": "service",
            "Order": "aggregate", "Order.Add": "aggregate", "Customer": "entity", "Point": "",
        },
    ),
    "A.java": (
        JAVA,
        {
            "OrderRepository": "repository", "PriceServiceImpl": "service", "Money": "value_object",
            "Customer": "entity", "Order": "aggregate",
        },
    ),
    "A.cs": (
        CSHARP,
        {"IOrderRepository": "repository", "Money": "value_object", "Customer": "entity", "Order": "aggregate"},
    ),
    "a.ts": (TYPESCRIPT, {"OrderRepository": "repository", "Order": "aggregate", "Customer": "entity"}),
    "a.rs": (
        RUST,
        {
            "OrderRepository": "repository", "PriceService": "service", "PriceService::quote": "service",
            "Order": "aggregate",
        },
    ),
    "a.kt": (KOTLIN, {"OrderDao": "repository", "Money": "value_object", "Customer": "entity"}),
    "a.php": (PHP, {"OrderRepository": "repository", "Money": "value_object", "Customer": "entity"}),
    "a.rb": (
        RUBY,
        {"OrderRepository": "repository", "OrderRepository#find": "repository", "PlaceOrderUseCase": "service"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("path", EXPECTED)
def test_patterns_are_told_in_each_language(path: str) -> None:
    text, expected = EXPECTED[path]
    source = text.encode()
    language = language_of(path, source)
    assert language is not None
    facts = extract(language, source)
    told = dict(zip((each.path for each in facts.symbols), tags_of(facts.symbols, source), strict=True))
    assert {name: told[name] for name in expected} == expected
    assert {tag for tag in told.values() if tag} <= set(PATTERNS)


def test_the_tags_are_in_the_index(repo: Repo, indexed: Open) -> None:
    repo.commit("start", {"shop.go": GO})
    project = indexed(repo.path)
    project.run()
    assert project.tags("shop.go").items() >= EXPECTED["a.go"][1].items() - {("Point", "")}
