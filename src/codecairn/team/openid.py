"""Identity by the company's OpenID provider: a signed token becomes a grant.

A caller presents a JWT of the provider. It is let in if the signature is of a key that the provider publishes, by
RS256, ES256 or EdDSA, if issuer and audience are those that the settings name, if it is valid now, give or take
LEEWAY_S, and if one of its groups is in the settings, which say what repositories the group has and in which role.

The settings are a TOML file:

    issuer = "https://login.example.org"
    audience = "cairn"
    claim = "groups"                      # the default; a dotted name goes into objects: realm_access.roles

    [groups.backend]
    repositories = ["backend/*", "shared/**"]
    role = "writer"                       # reader (the default), writer or admin

Whoever is in several groups has each group's role on that group's repositories, and on no others.
"""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
import msgspec
from msgspec import Struct

from codecairn.errors import Denied, InvalidInput
from codecairn.paths import has_control, printable
from codecairn.team.permissions import ROLES, Role, covers, is_repository_glob, matches_glob
from codecairn.team.provider_keys import ProviderKeys, SigningKey, check_provider_url

LEEWAY_S = 30
LONGEST_TOKEN = 16_384
"""Characters: the largest that providers issue, with hundreds of groups, have some 8,000."""
_LONGEST_NAME = 256
_ALGORITHMS = {"RS256", "ES256", "EdDSA"}
_TYPES = {"jwt", "at+jwt", "application/at+jwt"}
_SEGMENTS = 3


class IdentityRefused(Denied):
    title = "Identity refused"
    way_out = "Sign in again at the team's OpenID provider and present the new token."


@dataclass(frozen=True)
class GroupRule:
    """The repositories of a group, and its members' role on them."""

    group: str
    globs: tuple[str, ...]
    role: Role


@dataclass(frozen=True)
class OpenIdSettings:
    issuer: str
    audience: str
    rules: tuple[GroupRule, ...]
    claim: str = "groups"


@dataclass(frozen=True)
class Grant:
    """A verified identity, until it expires. `role` is the highest one that holds on all of its globs; `name` is for
    people to read, and may be one that the holder chose."""

    subject: str
    globs: tuple[str, ...]
    role: Role
    expires: datetime
    rules: tuple[GroupRule, ...] = field(default=(), repr=False)
    name: str = ""

    @property
    def number(self) -> int:
        """The same for a subject on every node, and never that of a token, which is positive."""
        return -int.from_bytes(hashlib.sha256(self.subject.encode("utf-8", "replace")).digest()[:7], "big")

    @property
    def writable(self) -> tuple[str, ...]:
        return tuple(glob for rule in self.rules if rule.role != "reader" for glob in rule.globs)

    @property
    def administered(self) -> tuple[str, ...]:
        return tuple(glob for rule in self.rules if rule.role == "admin" for glob in rule.globs)

    def role_for(self, repository: str) -> Role | None:
        """The highest role that a group of the subject has on a repository; None where it may not be read."""
        roles = [rule.role for rule in self.rules if any(matches_glob(repository, each) for each in rule.globs)]
        return max(roles, key=ROLES.index, default=None)


class _Group(Struct, forbid_unknown_fields=True):
    repositories: list[str]
    role: Role = "reader"


class _SettingsFile(Struct, forbid_unknown_fields=True):
    issuer: str
    audience: str
    groups: dict[str, _Group]
    claim: str = "groups"


def parse_openid_settings(text: str) -> OpenIdSettings:
    """The settings of a TOML file; an error says what is wrong in it."""
    try:
        given = msgspec.convert(tomllib.loads(text), _SettingsFile)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InvalidInput(f"The OpenID settings cannot be used: {printable(str(error))}", param="openid") from None
    check_provider_url(given.issuer)
    if not given.audience or not given.claim or not given.groups:
        raise InvalidInput("The OpenID settings name no audience, no group claim or no group", param="openid")
    rules = tuple(GroupRule(name, tuple(each.repositories), each.role) for name, each in given.groups.items())
    for rule in rules:
        if not rule.group or not rule.globs or not all(map(is_repository_glob, rule.globs)):
            reason = f"group {printable(rule.group)!r} needs a name and globs such as org/*"
            raise InvalidInput(f"The OpenID settings cannot be used: {reason}", param="openid", reason=reason)
    return OpenIdSettings(given.issuer, given.audience, rules, given.claim)


def read_openid_settings(path: Path) -> OpenIdSettings:
    try:
        return parse_openid_settings(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The OpenID settings cannot be read: {path}: {error}", param="openid") from None


def is_signed_token(token: str) -> bool:
    """Whether a bearer token has the form of a JWT; those of the team server have no dots."""
    return token.count(".") == _SEGMENTS - 1


class OpenId:
    """Verifies tokens of one provider."""

    def __init__(self, settings: OpenIdSettings, keys: ProviderKeys | None = None) -> None:
        self._settings = settings
        self._keys = keys or ProviderKeys(settings.issuer)

    def verify(self, token: str) -> Grant:
        """The grant of a token's holder. Raises IdentityRefused, or ProviderUnavailable where no keys can be had."""
        kid, algorithm = _read_header(token)
        key = self._keys.find(kid, algorithm)
        if key is None:
            raise IdentityRefused("The OpenID provider has no such key for this token")
        claims = self._verify_claims(token, key)
        groups = _groups(claims, self._settings.claim)
        rules = tuple(rule for rule in self._settings.rules if rule.group in groups)
        if not rules:
            raise IdentityRefused("None of the token's groups has a repository here", remedy="Ask an administrator.")
        return _make_grant(claims, rules)

    def close(self) -> None:
        self._keys.close()

    def _verify_claims(self, token: str, key: SigningKey) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                token, key.key, algorithms=[key.algorithm], audience=self._settings.audience,
                issuer=self._settings.issuer, leeway=LEEWAY_S, options={"require": ["exp", "iss", "aud", "sub"]},
            )  # fmt: skip
        except jwt.InvalidTokenError as error:
            raise IdentityRefused(f"The token is refused: {_reason(error)}") from None
        except (ValueError, OverflowError, RecursionError):
            raise IdentityRefused("The token is refused: its claims cannot be read") from None
        return claims


def _read_header(token: str) -> tuple[str | None, str]:
    """The key's name and the algorithm that a token states, if they are such as may be trusted to be looked up."""
    if len(token) > LONGEST_TOKEN or not token.isascii() or not is_signed_token(token):
        raise IdentityRefused("The token is refused: it is no signed token, or too long")
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.InvalidTokenError, ValueError, RecursionError):
        raise IdentityRefused("The token is refused: its header cannot be read") from None
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ")
    if not isinstance(algorithm, str) or algorithm not in _ALGORITHMS:
        raise IdentityRefused("The token is refused: it is not signed with RS256, ES256 or EdDSA")
    if "crit" in header or "b64" in header or (kind is not None and str(kind).lower() not in _TYPES):
        raise IdentityRefused("The token is refused: it is of another kind")
    if kid is not None and (not isinstance(kid, str) or len(kid) > _LONGEST_NAME):
        raise IdentityRefused("The token is refused: its key has no usable name")
    return kid, algorithm


_REASONS: dict[type[jwt.InvalidTokenError], str] = {
    jwt.ExpiredSignatureError: "it has expired",
    jwt.ImmatureSignatureError: "it is not valid yet",
    jwt.InvalidAudienceError: "it is for another audience",
    jwt.InvalidIssuerError: "it is of another issuer",
    jwt.InvalidSignatureError: "its signature is wrong",
}


def _reason(error: jwt.InvalidTokenError) -> str:
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"it has no {error.claim}"
    return _REASONS.get(type(error), "its claims cannot be read")


def _groups(claims: dict[str, Any], name: str) -> set[str]:
    """The groups that a token names, under the claim itself or inside the objects of a dotted name."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, dict) else None
    if found is None and name in _as_dict(claims.get("_claim_names")):
        remedy = "Have the provider send only the groups that are assigned to this application."
        raise IdentityRefused("The token does not list its groups: the holder is in too many", remedy=remedy)
    listed = [found] if isinstance(found, str) else found
    return {each for each in listed if isinstance(each, str)} if isinstance(listed, list) else set()


def _as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _make_grant(claims: dict[str, Any], rules: tuple[GroupRule, ...]) -> Grant:
    subject = claims["sub"]
    if not _is_name(subject):
        raise IdentityRefused("The token is refused: its subject cannot be used as a name")
    try:
        expires = datetime.fromtimestamp(int(claims["exp"]), UTC)
    except (ValueError, OverflowError, OSError):
        raise IdentityRefused("The token is refused: its expiry is no date") from None
    globs = tuple(dict.fromkeys(glob for rule in rules for glob in rule.globs))
    return Grant(subject, globs, _common_role(rules), expires, rules, _display_name(claims))


def _display_name(claims: dict[str, Any]) -> str:
    given = [claims.get(each) for each in ("preferred_username", "email")]
    return next((each for each in given if isinstance(each, str) and _is_name(each)), str(claims["sub"]))


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_NAME and not has_control(text)


def _common_role(rules: tuple[GroupRule, ...]) -> Role:
    """The highest role that holds on every glob of these rules."""
    for role in reversed(ROLES):
        wide = [glob for rule in rules if ROLES.index(rule.role) >= ROLES.index(role) for glob in rule.globs]
        if all(any(covers(each, glob) for each in wide) for rule in rules for glob in rule.globs):
            return role
    return ROLES[0]
