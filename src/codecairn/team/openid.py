"""Callers by the company's own identity provider: JSON Web Tokens, checked against the keys that it publishes.

A file says whom to believe and what groups open:

    issuer = "https://login.example.org"
    audience = "cairn"
    claim = "groups"                                     # where the token lists them (the default)
    [groups.developers]
    repositories = ["acme/*"]
    role = "reader"

Only signatures by public keys count, and only with issuer, audience and expiry. Who is in several groups reads what any
of them opens, with the least of their roles: writing to one repository is no right to write to all.
"""

from __future__ import annotations

import hashlib
import logging
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
import jwt
import msgspec
from msgspec import Struct

from codecairn.errors import CairnError, InvalidInput
from codecairn.team.tokens import ROLES, Caller, Role

log = logging.getLogger("codecairn.team")

_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LEEWAY_S, _TIMEOUT_S, _KEYS_S = 30, 5, 300
_NAMES = ("preferred_username", "email", "sub")


class GroupGrant(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    repositories: list[str]
    role: Role = "reader"


class OpenIdRules(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    issuer: str
    audience: str
    groups: dict[str, GroupGrant]
    claim: str = "groups"


def read_rules(path: Path) -> OpenIdRules:
    try:
        return msgspec.convert(tomllib.loads(path.read_text("utf-8")), OpenIdRules)
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise InvalidInput(f"The OpenID rules cannot be used: {path}: {error}", param="openid") from error


class OpenId:
    def __init__(self, rules: OpenIdRules) -> None:
        self._rules = rules

    @staticmethod
    def may_be(token: str) -> bool:
        return token.count(".") == 2

    def caller(self, token: str) -> Caller | None:
        """The caller that a token names; None where it is not to be believed, or opens nothing."""
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(
                token, key.key, algorithms=_ALGORITHMS, audience=self._rules.audience, issuer=self._rules.issuer,
                leeway=_LEEWAY_S, options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            log.info("a JSON Web Token is refused: %s", type(error).__name__)
            return None
        except CairnError as error:
            log.warning("%s", error.message)
            return None
        return self._grant(claims)

    def _grant(self, claims: Mapping[str, Any]) -> Caller | None:
        said = claims.get(self._rules.claim)
        names = said if isinstance(said, list) else [said]
        grants = [self._rules.groups[each] for each in names if isinstance(each, str) and each in self._rules.groups]
        if not grants:
            return None
        subject = hashlib.sha256(str(claims["sub"]).encode()).digest()
        name = next(str(claims[each]) for each in _NAMES if each in claims)
        globs = tuple(dict.fromkeys(glob for each in grants for glob in each.repositories))
        return Caller(
            -int.from_bytes(subject[:7], "big"), name, globs, min((each.role for each in grants), key=ROLES.index)
        )

    @cached_property
    def _keys(self) -> jwt.PyJWKClient:
        """The provider's keys, found by its own description; what it publishes is asked for again after a while."""
        where = f"{self._rules.issuer.rstrip('/')}/.well-known/openid-configuration"
        try:
            described = httpx2.get(where, timeout=_TIMEOUT_S).raise_for_status().json()
            if described["issuer"] != self._rules.issuer:
                raise CairnError(f"{where} is another issuer's")
            return jwt.PyJWKClient(described["jwks_uri"], lifespan=_KEYS_S, timeout=_TIMEOUT_S)
        except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
            raise CairnError(f"The identity provider does not answer: {type(error).__name__}") from error
