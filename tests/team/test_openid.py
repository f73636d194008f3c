"""Tokens of an identity provider: a real one's keys, on loopback, and everything that is no such token."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from codecairn.errors import InvalidInput
from codecairn.team.openid import GroupGrant, OpenId, OpenIdRules, read_rules


class Provider:
    """An identity provider with one key."""

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = json.dumps(provider.answer(self.path)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, path: str) -> dict[str, Any]:
        if path.endswith("/openid-configuration"):
            return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def claims(self, **other: Any) -> dict[str, Any]:
        now = int(time.time())
        return {"iss": self.issuer, "aud": "cairn", "sub": "42", "email": "ada@example.org", "groups": ["developers"],
                "iat": now, "exp": now + 600, **other}  # fmt: skip

    def sign(self, claims: dict[str, Any], key: Any = None, algorithm: str = "RS256", kid: str = "one") -> str:
        return jwt.encode(claims, key or self.key, algorithm=algorithm, headers={"kid": kid})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    opened = Provider()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def openid(provider: Provider) -> OpenId:
    groups = {
        "developers": GroupGrant(repositories=["acme/*"], role="reader"),
        "keepers": GroupGrant(repositories=["acme/docs"], role="writer"),
    }
    return OpenId(OpenIdRules(issuer=provider.issuer, audience="cairn", groups=groups))


def test_a_token_of_the_provider_names_its_caller(provider: Provider, openid: OpenId) -> None:
    caller = openid.caller(provider.sign(provider.claims()))
    assert caller is not None
    assert (caller.name, caller.globs, caller.role) == ("ada@example.org", ("acme/*",), "reader")
    assert caller.id < 0


def test_several_groups_give_all_globs_and_the_least_role(provider: Provider, openid: OpenId) -> None:
    both = openid.caller(provider.sign(provider.claims(groups=["keepers", "developers", "unknown"])))
    assert both is not None
    assert (both.globs, both.role) == (("acme/docs", "acme/*"), "reader")
    one = openid.caller(provider.sign(provider.claims(groups="keepers")))
    assert one is not None
    assert one.role == "writer"


@pytest.mark.parametrize(
    "other",
    [
        {"aud": "another"}, {"iss": "https://evil.example"}, {"exp": int(time.time()) - 3600}, {"exp": None},
        {"sub": None}, {"groups": []}, {"groups": ["unknown"]}, {"groups": {"developers": 1}}, {"groups": None},
    ],
    ids=str,
)  # fmt: skip
def test_claims_that_do_not_hold_are_refused(provider: Provider, openid: OpenId, other: dict[str, Any]) -> None:
    claims = {name: value for name, value in provider.claims(**other).items() if value is not None}
    assert openid.caller(provider.sign(claims)) is None


def test_signatures_that_are_not_the_providers_are_refused(provider: Provider, openid: OpenId) -> None:
    claims = provider.claims()
    public = provider.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    head, body, _ = provider.sign(claims).split(".")
    forged = [
        provider.sign(claims, provider.stranger), provider.sign(claims, kid="two"),
        jwt.encode(claims, "a shared secret of enough bytes, more than thirty-two", "HS256", headers={"kid": "one"}),
        jwt.encode(claims, "", "none", headers={"kid": "one"}), f"{head}.{body}.", "a.b.c", "..",
    ]  # fmt: skip
    assert public
    for token in forged:
        assert openid.caller(token) is None


def test_a_provider_that_is_away_lets_nobody_in(provider: Provider) -> None:
    rules = OpenIdRules(
        issuer="http://127.0.0.1:9", audience="cairn", groups={"developers": GroupGrant(repositories=["**"])}
    )
    assert OpenId(rules).caller(provider.sign(provider.claims())) is None


def test_rules_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "openid.toml"
    path.write_text('issuer = "https://i"\naudience = "a"\n[groups.devs]\nrepositories = ["acme/*"]\n')
    assert read_rules(path).groups["devs"].role == "reader"
    path.write_text('issuer = "https://i"\naudience = "a"\n[groups.devs]\nrepositories = ["x"]\nrole = "king"\n')
    with pytest.raises(InvalidInput):
        read_rules(path)
