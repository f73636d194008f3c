"""Shared by the tests of symbols."""

from __future__ import annotations

from typing import Any

from tests.support.doors import Answer

LEDGER = '''\
"""What is owed."""

LIMIT = 100


class Account:
    """Money of one owner."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.cents = 0

    # Moves money out.
    def withdraw(self, cents: int) -> int:
        """Take some.

        All of it, or nothing.
        """
        self.cents -= cents
        return self.cents


class Savings(Account):
    def withdraw(self, cents: int) -> int:
        return super().withdraw(cents)


def transfer(source: Account, target: Account, cents: int) -> None:
    target.cents += cents
    source.withdraw(cents)
'''

YARD: dict[str, str | bytes] = {
    ".gitignore": "build/\n",
    ".env": "SECRET=1\n",
    "README.md": "# Yard\n\nWhat it is.\n\n## Install\n\n### Linux\n\nRun it.\n\n## Use\n\nAs you like.\n",
    "bank/__init__.py": "from bank.ledger import Account\n",
    "bank/ledger.py": LEDGER,
    "bank/vault.py": "from bank.ledger import Savings\n\nVAULT = Savings('all')\n",
    "bank/report.py": "def print_report() -> None:\n    pass\n\n\ndef transfer() -> None:\n    pass\n",
    "bank/tests/test_ledger.py": "def transfer() -> None:\n    pass\n",
    "web/cart.ts": """\
export class Cart<T> {
  #lines: T[] = [];

  add(line: T): void {
    this.#lines.push(line);
  }

  [Symbol.iterator]() {
    return this.#lines.values();
  }
}

export function Transfer(): void {}
""",
    "store/store.go": """\
package store

type Shelf struct {
	Name string
}

type Rack struct {
	Shelf
}

// Put keeps a thing.
func (s *Shelf) Put(thing string) error {
	return nil
}
""",
    "lib/job.rb": """\
module Mill
  class Job
    def <=>(other)
      0
    end

    def done?
      true
    end
  end
end
""",
    "native/key.cpp": """\
namespace atlas {
struct Key {
  bool operator==(const Key& other) const { return true; }
  int operator()(int x) const { return x; }
  int operator[](int x) const { return x; }
};
}
""",
    "logo.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0",
    "build/made.py": "def made() -> None:\n    pass\n",
}


def value_of(answer: Answer) -> dict[str, Any]:
    assert not answer.is_error, answer.text
    return answer.value


def refusal(answer: Answer) -> dict[str, Any]:
    assert answer.is_error, answer.text
    error: dict[str, Any] = answer.value["error"]
    assert error["data"]["remedy"]
    return error
