"""Orders: placed, cancelled, priced."""

import pytest

from kiosk.orders.models import Money, Order, OrderLine
from kiosk.orders.repository import InMemoryOrderRepository
from kiosk.orders.service import OrderService


def order_of(*prices: int) -> Order:
    return Order(1, 7, [OrderLine(f"sku-{at}", 1, Money(price)) for at, price in enumerate(prices)])


def test_place_order_charges_the_customer() -> None:
    orders = InMemoryOrderRepository()
    service = OrderService(orders, FakePayments(), FakePrices())
    service.place_order(order_of(100, 250))
    assert orders.get(1).total() == Money(350)


def test_cancel_order_refunds_the_customer() -> None:
    service = OrderService(InMemoryOrderRepository(), FakePayments(), FakePrices())
    with pytest.raises(LookupError):
        service.cancel_order(3)


def test_place_order_refuses_an_empty_order() -> None:
    with pytest.raises(ValueError, match="cannot place an empty order"):
        OrderService(InMemoryOrderRepository(), FakePayments(), FakePrices()).place_order(order_of())


class FakePayments:
    def create_charge(self, customer_id, amount_cents): ...

    def create_refund(self, order_id): ...


class FakePrices:
    def voucher(self, code): ...
