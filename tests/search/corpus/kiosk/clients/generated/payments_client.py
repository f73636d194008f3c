# Written by apigen 4.2 from payments.yaml.
"""Client of the payments API."""

import json
import urllib.request
from dataclasses import dataclass


@dataclass
class ChargeResponse:
    accepted: bool
    reason: str = ""


@dataclass
class RefundResponse:
    accepted: bool


@dataclass
class OrderDto:
    id: int
    status: str


class PaymentsClient:
    def __init__(self, base_url: str, token: str) -> None:
        self.base_url = base_url
        self.token = token

    def create_charge(self, customer_id: int, amount_cents: int) -> ChargeResponse:
        return ChargeResponse(**self._post("/charges", {"customer": customer_id, "amount": amount_cents}))

    def create_refund(self, order_id: int) -> RefundResponse:
        return RefundResponse(**self._post("/refunds", {"order": order_id}))

    def _post(self, path: str, body: dict) -> dict:
        request = urllib.request.Request(
            self.base_url + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as response:
            return json.load(response)
