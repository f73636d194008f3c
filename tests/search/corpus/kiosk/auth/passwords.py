"""Passwords are stretched with scrypt and compared in constant time."""

import hashlib
import hmac
import os
from dataclasses import dataclass

SHORTEST_PASSWORD = 12


class WeakPassword(ValueError):
    """The password does not meet the policy."""


@dataclass(frozen=True)
class PasswordPolicy:
    shortest: int = SHORTEST_PASSWORD
    needs_digit: bool = False

    def check(self, password: str) -> None:
        if len(password) < self.shortest:
            raise WeakPassword(f"password must have at least {self.shortest} characters")
        if self.needs_digit and not any(each.isdigit() for each in password):
            raise WeakPassword("password must contain a digit")


def hash_password(password: str) -> str:
    salt = os.urandom(16)
    return f"{salt.hex()}${_stretched(password, salt).hex()}"


def check_password(password: str, stored: str) -> bool:
    """Whether this is the password that was hashed."""
    salt, _, digest = stored.partition("$")
    return hmac.compare_digest(_stretched(password, bytes.fromhex(salt)).hex(), digest)


def _stretched(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1)
