"""Shared by the tests of memory."""

from __future__ import annotations

from typing import Any

from tests.support.doors import Answer

TOKENS = '''\
"""Tokens of signed-in users."""


class TokenStore:
    """Where refresh tokens lie."""

    def refresh(self, token: str) -> str:
        """A new token for an old one; one caller at a time."""
        return token[::-1]


def verify_token(token: str) -> bool:
    """Whether an authentication token is valid."""
    return token.startswith("t-")
'''

HOUSE: dict[str, str | bytes] = {
    "app/auth/tokens.py": TOKENS,
    "app/auth/passwords.py": '''\
def hash_password(word: str) -> str:
    """The hash of a password, salted."""
    return word[::-1]
''',
    "app/billing/invoice.py": '''\
class Invoice:
    """What a customer owes."""

    def total(self) -> int:
        return 0


def write_invoice(order: str) -> Invoice:
    """An invoice for an order."""
    return Invoice()
''',
    "app/shapes.ts": """\
export interface Shape {
  area(): number;
}

export enum Colour {
  Red,
  Green,
}

export const unit: number = 1;
""",
    "store/shelf.go": """\
package store

// Shelf holds things for the store.
type Shelf struct {
	Name string
}
""",
    "main.py": "from app.auth.tokens import verify_token\n\n\ndef main() -> None:\n    verify_token('t-1')\n",
    "docs/auth.md": "# Authentication\n\nTokens are verified on every request.\n",
}


def value_of(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    return answer.value


def refusal(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    return answer.value
