"""Tokens: issued, verified, expired."""

import pytest

from kiosk.auth.tokens import BadSignature, TokenExpired, issue_token, verify_token

KEY = b"secret"


def test_verify_token_returns_the_subject() -> None:
    assert verify_token(issue_token("ada", KEY), KEY) == "ada"


def test_verify_token_rejects_an_expired_token() -> None:
    with pytest.raises(TokenExpired):
        verify_token(issue_token("ada", KEY, lifetime=-1), KEY)


def test_verify_token_rejects_a_bad_signature() -> None:
    with pytest.raises(BadSignature):
        verify_token(issue_token("ada", b"other"), KEY)
