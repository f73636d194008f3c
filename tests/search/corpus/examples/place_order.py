"""Places an order from the command line."""

import sys

from kiosk.orders.models import Money, Order, OrderLine


def place_order(service, sku: str, quantity: int) -> None:
    order = Order(1, 1)
    order.add_line(OrderLine(sku, quantity, Money(100)))
    service.place_order(order)
    print(f"placed an order of {quantity} × {sku}")


if __name__ == "__main__":
    place_order(None, sys.argv[1], int(sys.argv[2]))
