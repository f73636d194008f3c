"""Tokens of an OpenID provider: who is let in, and every way that was tried to get in otherwise."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecairn.errors import InvalidInput
from codecairn.team.openid import (
    LEEWAY_S,
    LONGEST_TOKEN,
    Grant,
    GroupRule,
    IdentityRefused,
    OpenId,
    OpenIdSettings,
    parse_openid_settings,
)
from codecairn.team.permissions import Role, covers, matches_glob
from codecairn.team.provider_keys import FRESH_S, KEPT_S, PAUSE_S, ProviderKeys, ProviderUnavailable, signing_key
from tests.support.provider import Provider, make_key, public_jwk

BACKEND = GroupRule("backend", ("backend/*",), "writer")
EVERYONE = GroupRule("everyone", ("**",), "reader")
OWNERS = GroupRule("owners", ("**",), "admin")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def shared() -> Iterator[Provider]:
    provider = Provider()
    for algorithm in ("RS256", "ES256", "EdDSA"):
        provider.add(algorithm, algorithm.lower())
    yield provider
    provider.close()


@pytest.fixture
def provider(shared: Provider) -> Iterator[Provider]:
    keys = list(shared.keys)
    shared.asked.clear()
    yield shared
    shared.keys[:] = keys
    shared.documents.clear()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def openid(provider: Provider, clock: Clock) -> Iterator[OpenId]:
    chosen = OpenIdSettings(provider.issuer, "cairn", (BACKEND, EVERYONE, OWNERS))
    opened = OpenId(chosen, ProviderKeys(provider.issuer, clock=clock))
    yield opened
    opened.close()


def refusal(openid: OpenId, token: str) -> str:
    with pytest.raises(IdentityRefused) as caught:
        openid.verify(token)
    return caught.value.message


@pytest.mark.parametrize("kid", ["rs256", "es256", "eddsa"])
def test_a_token_of_each_algorithm_becomes_a_grant(openid: OpenId, provider: Provider, kid: str) -> None:
    expiry = int(time.time()) + 900
    grant = openid.verify(provider.token(kid, exp=expiry))
    expires = datetime.fromtimestamp(expiry, UTC)
    assert grant == Grant("ada", ("backend/*",), "writer", expires, (BACKEND,), "ada")
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]


def test_keys_are_read_once_for_many_tokens(openid: OpenId, provider: Provider) -> None:
    for _ in range(20):
        openid.verify(provider.token("es256"))
    assert len(provider.asked) == 2


def test_one_audience_of_several_is_enough(openid: OpenId, provider: Provider) -> None:
    assert openid.verify(provider.token("es256", aud=["other", "cairn"])).subject == "ada"


@pytest.mark.parametrize("kind", ["JWT", "at+jwt", "application/at+jwt", None])
def test_identity_and_access_tokens_are_taken(openid: OpenId, provider: Provider, kind: str | None) -> None:
    assert openid.verify(provider.token("es256", {"typ": kind})).subject == "ada"


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"iss": "https://evil.example"}, "of another issuer"),
        ({"iss": None}, "no iss"),
        ({"aud": "another"}, "another audience"),
        ({"aud": ["cairn2", "not-cairn"]}, "another audience"),
        ({"aud": None}, "no aud"),
        ({"exp": 1_500_000_000}, "expired"),
        ({"exp": None}, "no exp"),
        ({"exp": "soon"}, "cannot be read"),
        ({"exp": 1e300}, "no date"),
        ({"nbf": 32_000_000_000}, "not valid yet"),
        ({"sub": None}, "no sub"),
        ({"sub": ""}, "subject"),
        ({"sub": "a\nb"}, "subject"),
        ({"sub": "x" * 257}, "subject"),
        ({"groups": None}, "groups"),
        ({"groups": []}, "groups"),
        ({"groups": ["strangers"]}, "groups"),
        ({"groups": {"backend": True}}, "groups"),
        ({"groups": [["backend"], 7, None]}, "groups"),
        ({"groups": None, "_claim_names": {"groups": "src1"}}, "too many"),
    ],
    ids=str,
)
def test_a_well_signed_token_is_refused_for_its_claims(
    openid: OpenId, provider: Provider, claims: dict[str, Any], said: str
) -> None:
    assert said in refusal(openid, provider.token("es256", **claims))


def test_the_leeway_is_small_and_on_both_sides(openid: OpenId, provider: Provider) -> None:
    now = int(time.time())
    assert openid.verify(provider.token("es256", exp=now - LEEWAY_S // 2)).subject == "ada"
    assert openid.verify(provider.token("es256", nbf=now + LEEWAY_S // 2)).subject == "ada"
    assert "expired" in refusal(openid, provider.token("es256", exp=now - 2 * LEEWAY_S))
    assert "not valid yet" in refusal(openid, provider.token("es256", nbf=now + 2 * LEEWAY_S))


def test_groups_may_lie_inside_an_object_or_be_one_text(provider: Provider) -> None:
    nested = OpenId(OpenIdSettings(provider.issuer, "cairn", (BACKEND,), "realm_access.roles"))
    assert nested.verify(provider.token("es256", realm_access={"roles": ["backend"]})).role == "writer"
    assert "groups" in refusal(nested, provider.token("es256", realm_access="backend"))
    dotted: dict[str, Any] = {"realm_access.roles": "backend"}
    assert nested.verify(provider.token("es256", **dotted)).role == "writer"
    nested.close()


# Several groups: nobody gets one group's role on another group's repositories.


@pytest.mark.parametrize(
    ("groups", "role", "roles"),
    [
        (["backend"], "writer", {"backend/api": "writer", "web/site": None, "backend/a/b": None}),
        (["everyone"], "reader", {"backend/api": "reader", "web/site": "reader"}),
        (["backend", "everyone"], "reader", {"backend/api": "writer", "web/site": "reader"}),
        (["everyone", "owners", "backend"], "admin", {"backend/api": "admin", "web/site": "admin"}),
        (["backend", "unheard-of"], "writer", {"backend/api": "writer", "web/site": None}),
    ],
    ids=str,
)
def test_roles_hold_on_their_own_repositories(
    openid: OpenId, provider: Provider, groups: list[str], role: Role, roles: dict[str, Role | None]
) -> None:
    grant = openid.verify(provider.token("es256", groups=groups))
    assert grant.role == role
    assert grant.writable == tuple(glob for rule in grant.rules if rule != EVERYONE for glob in rule.globs)
    assert {name: grant.role_for(name) for name in roles} == roles


_parts = st.sampled_from(["a", "b", "ab", "*", "**", "a*"])
_globs = st.lists(_parts, min_size=1, max_size=3).map("/".join)
_names = st.lists(st.sampled_from(["a", "b", "ab", "aa"]), min_size=1, max_size=4).map("/".join)


@given(_globs, _globs, _names)
def test_a_glob_that_covers_another_matches_whatever_it_matches(wide: str, narrow: str, name: str) -> None:
    if covers(wide, narrow) and matches_glob(name, narrow):
        assert matches_glob(name, wide)


# Attacks on the signature.


def b64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def hand_made(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    return ".".join([b64(json.dumps(header).encode()), b64(json.dumps(claims).encode()), b64(signature)])


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, 7, ["RS256"]])
@pytest.mark.parametrize("signature", [b"", b"x"])
def test_an_unsigned_token_is_refused(openid: OpenId, provider: Provider, algorithm: Any, signature: bytes) -> None:
    token = hand_made({"alg": algorithm, "kid": "rs256", "typ": "JWT"}, provider.claims(), signature)
    assert "refused" in refusal(openid, token)
    assert provider.asked == []


def public_pem(provider: Provider, kid: str) -> bytes:
    public = provider.private[kid][1].public_key()
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("kid", ["rs256", "es256", "eddsa"])
@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_public_key_is_never_a_shared_secret(openid: OpenId, provider: Provider, kid: str, algorithm: str) -> None:
    unsigned = hand_made({"alg": algorithm, "kid": kid, "typ": "JWT"}, provider.claims()).rpartition(".")[0]
    for secret in (public_pem(provider, kid), json.dumps(provider.keys[0]).encode()):
        digest = hmac.new(secret, unsigned.encode(), hashlib.new(f"sha{algorithm[2:]}").name).digest()
        assert "RS256, ES256 or EdDSA" in refusal(openid, f"{unsigned}.{b64(digest)}")


def test_a_shared_secret_in_the_list_of_keys_is_left_out(openid: OpenId, provider: Provider) -> None:
    provider.keys.append({"kty": "oct", "k": b64(b"s" * 32), "kid": "shared", "alg": "HS256", "use": "sig"})
    token = jwt.encode(provider.claims(), b"s" * 32, "HS256", headers={"kid": "shared"})
    assert "RS256, ES256 or EdDSA" in refusal(openid, token)
    assert signing_key(provider.keys[-1]) is None


@pytest.mark.parametrize("stated", ["RS384", "RS512", "PS256", "ES384", "ES512", "ES256K"])
def test_other_algorithms_are_refused(openid: OpenId, provider: Provider, stated: str) -> None:
    assert "RS256, ES256 or EdDSA" in refusal(openid, hand_made({"alg": stated, "kid": "rs256"}, provider.claims()))


@pytest.mark.parametrize(("signer", "named"), [("rs256", "es256"), ("es256", "eddsa"), ("eddsa", "rs256")])
def test_a_key_verifies_only_its_own_algorithm(openid: OpenId, provider: Provider, signer: str, named: str) -> None:
    """The token names a key of another kind than the one that its algorithm asks for."""
    assert "no such key" in refusal(openid, provider.token(signer, {"kid": named}))


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_another_key_under_a_known_name_is_refused(openid: OpenId, provider: Provider, algorithm: str) -> None:
    token = jwt.encode(provider.claims(), make_key(algorithm), algorithm, headers={"kid": algorithm.lower()})
    assert "signature is wrong" in refusal(openid, token)


def test_a_key_that_the_token_brings_is_not_used(openid: OpenId, provider: Provider) -> None:
    own = make_key("ES256")
    listed = public_jwk(own, "ES256", "mine")
    for headers in (
        {"kid": "mine", "jwk": listed},
        {"kid": "mine", "jku": f"{provider.issuer}/mine", "x5u": f"{provider.issuer}/mine"},
        {"kid": "es256", "jwk": listed},
    ):
        assert refusal(openid, jwt.encode(provider.claims(), own, "ES256", headers=headers))
    assert "/mine" not in provider.asked


def test_changed_claims_are_refused(openid: OpenId, provider: Provider) -> None:
    header, _, signature = provider.token("es256").split(".")
    raised = b64(json.dumps(provider.claims(groups=["owners"])).encode())
    assert "signature is wrong" in refusal(openid, f"{header}.{raised}.{signature}")


@pytest.mark.parametrize(
    "headers", [{"crit": ["exp"]}, {"typ": "logout+jwt"}, {"typ": "dpop+jwt"}, {"typ": ["JWT"]}, {"b64": True}], ids=str
)
def test_a_token_of_another_kind_is_refused(openid: OpenId, provider: Provider, headers: dict[str, Any]) -> None:
    token = hand_made({"alg": "ES256", "kid": "es256", "typ": "JWT", **headers}, provider.claims(), b"s" * 64)
    said = refusal(openid, token)
    assert said.endswith(("it is of another kind", "its header cannot be read"))


def test_a_token_without_a_key_name_needs_a_single_key(openid: OpenId, provider: Provider, clock: Clock) -> None:
    token = provider.token("es256", {"kid": None})
    assert openid.verify(token).subject == "ada"
    provider.keys.append(public_jwk(make_key("ES256"), "ES256", "second"))
    clock.now += FRESH_S + 1
    assert "no such key" in refusal(openid, token)


# Attacks on the reader.


def test_a_huge_token_is_refused_unread(openid: OpenId, provider: Provider) -> None:
    assert "too long" in refusal(openid, provider.token("es256", groups=["g" * 50] * 1000))
    assert "too long" in refusal(openid, "a." * 5_000_000)
    assert provider.asked == []
    large = provider.token("es256", groups=[f"group-{number:04}" for number in range(800)] + ["backend"])
    assert len(large) < LONGEST_TOKEN
    assert openid.verify(large).role == "writer"


@pytest.mark.parametrize(
    "kid",
    ["../../../../etc/passwd", "/dev/null", "keys'; DROP TABLE token;--", "http://evil.example/keys", "\x00", "%2e%2e/",
     "x" * 257, 5, {"a": 1}, ["es256"], "RS256", " es256", "es256\n"],
    ids=ascii,
)  # fmt: skip
def test_tricks_with_the_key_name_find_nothing(openid: OpenId, provider: Provider, kid: Any) -> None:
    assert refusal(openid, hand_made({"alg": "ES256", "kid": kid}, provider.claims(), b"s" * 64))
    assert set(provider.asked) <= {"/.well-known/openid-configuration", "/keys"}


@pytest.mark.parametrize("opening", [b'{"alg":', b"[" * 8000, b'{"a":' * 2500, b"\xff\xfe", b"null", b"7", b'"x"', b""])
def test_a_header_that_is_no_object_is_refused(openid: OpenId, opening: bytes) -> None:
    assert "refused" in refusal(openid, f"{b64(opening)}.e30.AA")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.text(max_size=200) | st.lists(st.binary(max_size=40).map(b64), min_size=3, max_size=3).map(".".join))
def test_no_text_is_a_token(openid: OpenId, text: str) -> None:
    assert refusal(openid, text)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_changed_character_leaves_a_token_valid(openid: OpenId, provider: Provider, data: st.DataObject) -> None:
    """The last character is left alone: some of its bits are padding that no decoder reads."""
    token = provider.token("eddsa")
    place = data.draw(st.integers(0, len(token) - 2))
    other = data.draw(st.characters(codec="utf-8").filter(lambda each: each != token[place]))
    assert refusal(openid, token[:place] + other + token[place + 1 :])


# The provider's keys over time.


def test_a_new_key_is_found_when_a_token_names_it(openid: OpenId, provider: Provider, clock: Clock) -> None:
    openid.verify(provider.token("es256"))
    provider.add("ES256", "next")
    assert "no such key" in refusal(openid, provider.token("next")), "the keys were read this minute"
    clock.now += PAUSE_S + 1
    assert openid.verify(provider.token("next")).subject == "ada"
    assert len(provider.asked) == 4


def test_a_storm_of_unknown_names_asks_the_provider_once_a_minute(
    openid: OpenId, provider: Provider, clock: Clock
) -> None:
    openid.verify(provider.token("es256"))
    clock.now += PAUSE_S + 1
    provider.asked.clear()
    tokens = [hand_made({"alg": "ES256", "kid": f"k{n}"}, provider.claims(), b"s" * 64) for n in range(400)]

    def storm(part: list[str]) -> None:
        for token in part:
            refusal(openid, token)

    threads = [threading.Thread(target=storm, args=(tokens[start::8],)) for start in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert provider.asked == ["/.well-known/openid-configuration", "/keys"]
    assert openid.verify(provider.token("es256")).subject == "ada"


def test_a_withdrawn_key_is_gone_within_the_hour(openid: OpenId, provider: Provider, clock: Clock) -> None:
    token = provider.token("es256")
    openid.verify(token)
    provider.keys[:] = [each for each in provider.keys if each["kid"] != "es256"]
    clock.now += FRESH_S + 1
    assert "no such key" in refusal(openid, token)


def test_an_outage_of_the_provider_is_bridged_for_a_day(
    openid: OpenId, provider: Provider, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    token = provider.token("es256", exp=int(time.time()) + 10)
    openid.verify(token)
    provider.documents["/keys"] = (503, b"")
    clock.now += KEPT_S - 1
    with caplog.at_level(logging.WARNING, "codecairn.team"):
        assert openid.verify(token).subject == "ada"
    assert "503" in caplog.text
    assert token not in caplog.text
    clock.now += 2
    with pytest.raises(ProviderUnavailable, match="503"):
        openid.verify(token)
    provider.documents.clear()
    clock.now += PAUSE_S
    assert openid.verify(token).subject == "ada"


def test_a_provider_that_is_away_from_the_start_is_asked_again_soon(
    openid: OpenId, provider: Provider, clock: Clock
) -> None:
    provider.documents["/.well-known/openid-configuration"] = (500, b"")
    for _ in range(5):
        with pytest.raises(ProviderUnavailable, match="500"):
            openid.verify(provider.token("es256"))
    assert len(provider.asked) == 1
    provider.documents.clear()
    clock.now += 6
    assert openid.verify(provider.token("es256")).subject == "ada"


@pytest.mark.parametrize(
    ("path", "status", "body", "said"),
    [
        ("/.well-known/openid-configuration", 200, b"<html>", "JSON"),
        ("/.well-known/openid-configuration", 200, b"[]", "JSON object"),
        ("/.well-known/openid-configuration", 200, b'{"issuer": "https://evil.example"}', "another issuer"),
        ("/.well-known/openid-configuration", 302, b"", "302"),
        ("/keys", 200, b"[" * 200_000, "JSON"),
        ("/keys", 200, b"{}", "no list of keys"),
        ("/keys", 200, b" " * (1 << 20) + b"{}", "more than"),
        ("/keys", 200, b"\xff", "JSON"),
    ],
)
def test_a_provider_that_answers_badly_is_said_to(
    openid: OpenId, provider: Provider, path: str, status: int, body: bytes, said: str
) -> None:
    provider.documents[path] = (status, body)
    with pytest.raises(ProviderUnavailable, match=said):
        openid.verify(provider.token("es256"))


@pytest.mark.parametrize("where", ["http://keys.example/jwks", "file:///etc/passwd", "ftp://x/", "", None, 5, "//x"])
def test_keys_are_read_over_tls_or_from_this_machine(openid: OpenId, provider: Provider, where: Any) -> None:
    document = json.dumps({"issuer": provider.issuer, "jwks_uri": where}).encode()
    provider.documents["/.well-known/openid-configuration"] = (200, document)
    with pytest.raises(ProviderUnavailable, match="jwks_uri"):
        openid.verify(provider.token("es256"))


def test_unfit_keys_are_left_out() -> None:
    good = public_jwk(make_key("ES256"), "ES256", "good")
    fit = signing_key(good)
    assert fit is not None
    assert (fit.kid, fit.algorithm) == ("good", "ES256")
    short = public_jwk(rsa.generate_private_key(public_exponent=65537, key_size=1024), "RS256", "short")
    unfit: list[object] = [
        short, {**good, "use": "enc"}, {**good, "alg": "HS256"}, {**good, "alg": "RS256"},
        {**good, "key_ops": ["sign"]}, {**good, "d": "AA"}, {**good, "crv": "P-521"}, {**good, "x": "!"},
        {**good, "x": 5}, {**good, "kid": 5},
        {"kty": "RSA"}, {"kty": "RSA", "n": "AQ", "e": "AQ"}, {}, None, "key", [],
    ]  # fmt: skip
    assert [each for each in unfit if signing_key(each) is not None] == []


# The settings.

SETTINGS = """
issuer = "https://login.example.org"
audience = "cairn"
[groups.backend]
repositories = ["backend/*"]
role = "writer"
[groups.everyone]
repositories = ["**"]
"""


def test_settings_are_read_from_toml() -> None:
    expected = OpenIdSettings("https://login.example.org", "cairn", (BACKEND, EVERYONE))
    assert parse_openid_settings(SETTINGS) == expected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"https://login.example.org"', '"http://login.example.org"'),
        ('"https://login.example.org"', '"https://user:pass@login.example.org"'),
        ('"https://login.example.org"', '"https://login.example.org/?a=b"'),
        ('"https://login.example.org"', '"https://["'),
        ('"cairn"', '""'),
        ('audience = "cairn"\n', ""),
        ('role = "writer"', 'role = "root"'),
        ('["backend/*"]', "[]"),
        ('["backend/*"]', '["back end"]'),
        ('["backend/*"]', '"backend/*"'),
        ("[groups.backend]", '[groups.""]'),
        ("issuer", "isuer"),
        ("[groups.backend]", "[[groups]]"),
        ("audience =", "audience ="[:-1]),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(old: str, new: str) -> None:
    with pytest.raises(InvalidInput):
        parse_openid_settings(SETTINGS.replace(old, new))
