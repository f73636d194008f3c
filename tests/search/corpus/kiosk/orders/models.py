"""What an order is made of."""

from dataclasses import dataclass, field
from enum import Enum


class OrderStatus(Enum):
    DRAFT = "draft"
    PLACED = "placed"
    SHIPPED = "shipped"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class Money:
    """An amount in minor units of a currency."""

    cents: int
    currency: str = "EUR"

    def plus(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise CurrencyMismatch(f"cannot add {other.currency} to {self.currency}")
        return Money(self.cents + other.cents, self.currency)


class CurrencyMismatch(ValueError):
    pass


@dataclass(frozen=True)
class OrderLine:
    sku: str
    quantity: int
    unit_price: Money

    @property
    def subtotal(self) -> Money:
        return Money(self.unit_price.cents * self.quantity, self.unit_price.currency)


@dataclass
class Order:
    id: int
    customer_id: int
    lines: list[OrderLine] = field(default_factory=list)
    status: OrderStatus = OrderStatus.DRAFT

    def total(self) -> Money:
        amount = Money(0)
        for line in self.lines:
            amount = amount.plus(line.subtotal)
        return amount

    def add_line(self, line: OrderLine) -> None:
        if self.status is not OrderStatus.DRAFT:
            raise ValueError("an order that was placed cannot change")
        self.lines.append(line)
