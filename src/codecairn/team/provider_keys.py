"""The public keys of an OpenID provider: found through its discovery document, kept, and read again when they change.

    issuer + /.well-known/openid-configuration  →  jwks_uri  →  the keys

Keys are read again after an hour, and when a token names one that is not known; never more often than once a minute,
so that invented names cannot make this server attack its own provider. While the provider does not answer, the keys
that were read last go on for a day; then nobody is let in by them.

A key verifies one algorithm, the one of its kind. Keys of other kinds, short ones and those that are not for
signatures are left out, so that a token cannot choose how it is verified: a public key never serves as a shared secret.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import httpx2
import msgspec
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.exceptions import InvalidKeyError

from codecairn.errors import CairnError, InvalidInput
from codecairn.paths import has_control, printable

log = logging.getLogger("codecairn.team")

Algorithm = Literal["RS256", "ES256", "EdDSA"]
FRESH_S = 3600.0
KEPT_S = 86_400.0
PAUSE_S = 60.0
_PAUSE_WITHOUT_KEYS_S = 5.0
_PATIENCE_S = 5.0
_LARGEST_DOCUMENT = 1 << 20
_MOST_KEYS = 100
_SHORTEST_RSA_BITS = 2048
_DISCOVERY = "/.well-known/openid-configuration"


class ProviderUnavailable(CairnError):
    http_status = 503
    title = "OpenID provider unavailable"
    way_out = "Call again in a minute, or use a token of the team server; an administrator looks at the provider."


class SigningKey(NamedTuple):
    kid: str | None
    algorithm: Algorithm
    key: Any


class ProviderKeys:
    """The keys of one provider. Safe for threads: one reads, the others go on with the keys that are known."""

    def __init__(self, issuer: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.issuer = check_provider_url(issuer)
        self._clock = clock
        self._keys: tuple[SigningKey, ...] = ()
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._failure = "its keys were not asked for yet"
        self._refreshing = threading.Lock()
        self._client = httpx2.Client(verify=ssl.create_default_context(), timeout=_PATIENCE_S)

    def find(self, kid: str | None, algorithm: str) -> SigningKey | None:
        """The key that a token names, read anew where it is not known; None where the provider has no such key."""
        self._keep_fresh()
        found = _choose(self._keys, kid, algorithm)
        if found is None and self._refresh(wait=True):
            found = _choose(self._keys, kid, algorithm)
        return found

    def close(self) -> None:
        self._client.close()

    def _keep_fresh(self) -> None:
        if self._age() > FRESH_S:
            self._refresh(wait=self._read_at is None)
        if self._age() > KEPT_S:
            raise ProviderUnavailable(f"The keys of the OpenID provider cannot be had: {self._failure}")

    def _age(self) -> float:
        return float("inf") if self._read_at is None else self._clock() - self._read_at

    def _refresh(self, *, wait: bool) -> bool:
        """Read the keys, unless that was tried just now; returns whether they were read since this was called."""
        asked_at = self._clock()
        if not self._refreshing.acquire(blocking=wait):
            return False
        try:
            if self._tried_at is not None and self._clock() - self._tried_at < self._pause():
                return self._read_at is not None and self._read_at >= asked_at
            self._tried_at = self._clock()
            self._keys, self._read_at = self._read(), self._clock()
        except ProviderUnavailable as error:
            self._failure = error.message
            log.warning("the keys of the OpenID provider were not read: %s", error.message)
            return False
        finally:
            self._refreshing.release()
        return True

    def _pause(self) -> float:
        return _PAUSE_WITHOUT_KEYS_S if self._read_at is None else PAUSE_S

    def _read(self) -> tuple[SigningKey, ...]:
        discovery = self._get(self.issuer.rstrip("/") + _DISCOVERY)
        if discovery.get("issuer") != self.issuer:
            raise ProviderUnavailable("its discovery document names another issuer")
        try:
            where = check_provider_url(discovery.get("jwks_uri"))
        except InvalidInput as error:
            raise ProviderUnavailable(f"its discovery document has no usable jwks_uri: {error.message}") from None
        listed = self._get(where).get("keys")
        if not isinstance(listed, list):
            raise ProviderUnavailable("its key document has no list of keys")
        return tuple(key for each in listed[:_MOST_KEYS] if (key := signing_key(each)) is not None)

    def _get(self, url: str) -> dict[str, Any]:
        try:
            body = self._download(url)
            value = msgspec.json.decode(body)
        except httpx2.HTTPError as error:
            raise ProviderUnavailable(f"{url} does not answer: {type(error).__name__}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise ProviderUnavailable(f"{url} did not answer with JSON") from error
        if not isinstance(value, dict):
            raise ProviderUnavailable(f"{url} did not answer with a JSON object")
        return value

    def _download(self, url: str) -> bytes:
        deadline, body = time.monotonic() + 2 * _PATIENCE_S, bytearray()
        with self._client.stream("GET", url, headers={"Accept": "application/json"}) as answer:
            if answer.status_code != 200:
                raise ProviderUnavailable(f"{url} answered {answer.status_code}")
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > _LARGEST_DOCUMENT:
                    raise ProviderUnavailable(f"{url} answered with more than {_LARGEST_DOCUMENT} bytes")
                if time.monotonic() > deadline:
                    raise ProviderUnavailable(f"{url} answers too slowly")
        return bytes(body)


def check_provider_url(url: object) -> str:
    """An address to trust: https, or this machine itself."""
    if not isinstance(url, str) or has_control(url):
        raise InvalidInput("Not an address of an OpenID provider", param="issuer", reason="a URL is needed")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_plain = not (parts.username or parts.password or parts.query or parts.fragment)
    except ValueError:
        host, is_plain = "", False
    if not host or not is_plain or not (parts.scheme == "https" or (parts.scheme == "http" and _is_this_machine(host))):
        reason = "https, without user, query or fragment; http only for this machine"
        raise InvalidInput(f"Not an address of an OpenID provider: {printable(url)}", param="issuer", reason=reason)
    return url


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def signing_key(listed: object) -> SigningKey | None:
    """A key of the provider's list; None where no token may be verified with it."""
    if not isinstance(listed, dict) or listed.get("use", "sig") != "sig" or "d" in listed:
        return None
    operations, kid = listed.get("key_ops", ["verify"]), listed.get("kid")
    if not isinstance(operations, list) or "verify" not in operations or not isinstance(kid, str | None):
        return None
    try:
        algorithm, key = _public_key(listed)
    except (InvalidKeyError, ValueError, TypeError, KeyError):
        return None
    return SigningKey(kid, algorithm, key) if listed.get("alg", algorithm) == algorithm else None


def _public_key(listed: dict[str, Any]) -> tuple[Algorithm, Any]:
    """The algorithm follows from the kind of the key, never from the token."""
    kind = (listed.get("kty"), listed.get("crv"))
    if kind == ("RSA", None):
        rsa = RSAAlgorithm.from_jwk({"kty": "RSA", "n": listed["n"], "e": listed["e"]})
        if rsa.key_size < _SHORTEST_RSA_BITS:
            raise ValueError("a short key")
        return "RS256", rsa
    if kind == ("EC", "P-256"):
        return "ES256", ECAlgorithm.from_jwk({name: listed[name] for name in ("kty", "crv", "x", "y")})
    if kind == ("OKP", "Ed25519"):
        return "EdDSA", OKPAlgorithm.from_jwk({name: listed[name] for name in ("kty", "crv", "x")})
    raise ValueError("a kind of key that is not used here")


def _choose(keys: tuple[SigningKey, ...], kid: str | None, algorithm: str) -> SigningKey | None:
    """The key with this name and algorithm. A token without a name fits only where there is one key for it."""
    fitting = [each for each in keys if each.algorithm == algorithm and (kid is None or each.kid == kid)]
    return fitting[0] if len(fitting) == 1 else None
