"""What can be done with an order."""

from kiosk.clients.generated.payments_client import PaymentsClient
from kiosk.orders.models import Order, OrderStatus
from kiosk.orders.pricing import PriceList, apply_discount
from kiosk.orders.repository import OrderRepository
from kiosk.retry import retry


class PaymentDeclined(Exception):
    """The bank said no."""


class OrderService:
    def __init__(self, orders: OrderRepository, payments: PaymentsClient, prices: PriceList) -> None:
        self._orders = orders
        self._payments = payments
        self._prices = prices

    def place_order(self, order: Order, voucher: str | None = None) -> None:
        """Charge the customer and mark the order as placed."""
        if not order.lines:
            raise ValueError("cannot place an empty order")
        amount = apply_discount(order.total(), self._prices.voucher(voucher))
        charged = retry(lambda: self._payments.create_charge(order.customer_id, amount.cents))
        if not charged.accepted:
            raise PaymentDeclined(charged.reason)
        order.status = OrderStatus.PLACED
        self._orders.save(order)

    def cancel_order(self, order_id: int) -> None:
        """Give the money back, unless the parcel is already on its way."""
        order = self._orders.get(order_id)
        if order.status is OrderStatus.SHIPPED:
            raise ValueError("a shipped order cannot be cancelled")
        if order.status is OrderStatus.PLACED:
            self._payments.create_refund(order_id)
        order.status = OrderStatus.CANCELLED
        self._orders.save(order)
