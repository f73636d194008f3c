from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.search.conftest import Asking, Built, Doors, asking, built_from, doors_to, lasting, own
from tests.support.doors import Answer
from tests.support.indexes import LastingWorkers

__all__ = ["lasting", "own"]

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


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory, lasting: LastingWorkers) -> Built:
    """A house of several languages, in a repository on branch main; for tests that only ask."""
    return built_from(HOUSE, tmp_path_factory.mktemp("house"), lasting)


@pytest.fixture(scope="session")
def gates(built: Built) -> Iterator[Doors]:
    """A door to the house by its name, opened once."""
    with doors_to(built) as doors:
        yield doors


@pytest.fixture
def house(built: Built) -> Iterator[Asking]:
    """A server of the house, and a connection to it."""
    opened = asking(built)
    yield opened
    opened.close()


def value_of(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    return answer.value


def refusal(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    return answer.value
