"""Prices, discounts and tax. Every amount is rounded once, half to even."""

from decimal import ROUND_HALF_EVEN, Decimal

from kiosk.orders.models import Money

VAT_RATES = {"DE": Decimal("0.19"), "FR": Decimal("0.20"), "LU": Decimal("0.17")}


class PriceList:
    def __init__(self, prices: dict[str, Money], vouchers: dict[str, Decimal]) -> None:
        self._prices = prices
        self._vouchers = vouchers

    def price(self, sku: str) -> Money:
        return self._prices[sku]

    def voucher(self, code: str | None) -> Decimal:
        """The share that a voucher takes off; none for a code that is unknown."""
        return self._vouchers.get(code, Decimal(0)) if code else Decimal(0)


def apply_discount(amount: Money, share: Decimal) -> Money:
    return Money(round_half_even(amount.cents * (1 - share)), amount.currency)


def compute_tax(net: Money, country: str) -> Money:
    """Value added tax by the rate of the customer's country."""
    return Money(round_half_even(net.cents * VAT_RATES[country]), net.currency)


def round_half_even(value: Decimal) -> int:
    return int(value.quantize(Decimal(1), ROUND_HALF_EVEN))
