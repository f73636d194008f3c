"""Access tokens: signed, short-lived, never stored."""

import base64
import hashlib
import hmac
import json
import time

ACCESS_TOKEN_LIFETIME = 15 * 60


class TokenError(Exception):
    pass


class TokenExpired(TokenError):
    """The token was good once."""


class BadSignature(TokenError):
    """The token was not signed with our key."""


def issue_token(subject: str, key: bytes, lifetime: int = ACCESS_TOKEN_LIFETIME) -> str:
    """A signed token that says who the bearer is and until when."""
    claims = {"sub": subject, "exp": int(time.time()) + lifetime}
    body = base64.urlsafe_b64encode(json.dumps(claims).encode())
    return (body + b"." + _signature(body, key)).decode()


def verify_token(token: str, key: bytes) -> str:
    """The subject of a token, if its signature is ours and it has not expired."""
    body, _, signature = token.encode().rpartition(b".")
    if not hmac.compare_digest(signature, _signature(body, key)):
        raise BadSignature("signature mismatch")
    claims = json.loads(base64.urlsafe_b64decode(body))
    if claims["exp"] < time.time():
        raise TokenExpired("token has expired")
    return claims["sub"]


def _signature(body: bytes, key: bytes) -> bytes:
    return base64.urlsafe_b64encode(hmac.new(key, body, hashlib.sha256).digest())
