"""Where orders are kept."""

import sqlite3
from abc import ABC, abstractmethod

from kiosk.orders.models import Order, OrderStatus


class OrderNotFound(LookupError):
    pass


class OrderRepository(ABC):
    @abstractmethod
    def get(self, order_id: int) -> Order: ...

    @abstractmethod
    def save(self, order: Order) -> None: ...


class SqlOrderRepository(OrderRepository):
    """Orders in a relational database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, order_id: int) -> Order:
        row = self._connection.execute("SELECT id, customer, status FROM orders WHERE id = ?", (order_id,)).fetchone()
        if row is None:
            raise OrderNotFound(f"no order {order_id}")
        return Order(row[0], row[1], status=OrderStatus(row[2]))

    def save(self, order: Order) -> None:
        self._connection.execute(
            "INSERT INTO orders (id, customer, status) VALUES (?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET status = excluded.status",
            (order.id, order.customer_id, order.status.value),
        )

    def of_customer(self, customer_id: int) -> list[Order]:
        """A customer's orders, newest first."""
        rows = self._connection.execute("SELECT id FROM orders WHERE customer = ? ORDER BY id DESC", (customer_id,))
        return [self.get(row[0]) for row in rows]


class InMemoryOrderRepository(OrderRepository):
    def __init__(self) -> None:
        self._orders = {}

    def get(self, order_id: int) -> Order:
        try:
            return self._orders[order_id]
        except KeyError:
            raise OrderNotFound(f"no order {order_id}") from None

    def save(self, order: Order) -> None:
        self._orders[order.id] = order
