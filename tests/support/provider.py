"""An OpenID provider on loopback: real keys, a discovery document and a list of keys over HTTP."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
_ALGORITHMS: dict[str, Any] = {"RS256": RSAAlgorithm, "ES256": ECAlgorithm, "EdDSA": OKPAlgorithm}


def make_key(algorithm: str) -> PrivateKey:
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else ed25519.Ed25519PrivateKey.generate()


def public_jwk(key: PrivateKey, algorithm: str, kid: str, **members: Any) -> dict[str, Any]:
    listed: dict[str, Any] = _ALGORITHMS[algorithm].to_jwk(key.public_key(), as_dict=True)
    listed.pop("key_ops", None)
    return {**listed, "kid": kid, "use": "sig", "alg": algorithm, **members}


class Provider:
    """Publishes what `keys` lists. `documents` replaces an answer: (status, body) by path."""

    def __init__(self) -> None:
        self.private: dict[str, tuple[str, PrivateKey]] = {}
        self.keys: list[dict[str, Any]] = []
        self.documents: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def add(self, algorithm: str, kid: str) -> None:
        key = make_key(algorithm)
        self.private[kid] = (algorithm, key)
        self.keys.append(public_jwk(key, algorithm, kid))

    def claims(self, **changes: Any) -> dict[str, Any]:
        now = int(time.time())
        usual = {"iss": self.issuer, "aud": "cairn", "sub": "ada", "exp": now + 600, "iat": now, "groups": ["backend"]}
        return {name: value for name, value in {**usual, **changes}.items() if value is not None}

    def token(self, kid: str, headers: dict[str, Any] | None = None, **claims: Any) -> str:
        algorithm, key = self.private[kid]
        named = {"kid": kid, **(headers or {})}
        kept = {name: value for name, value in named.items() if value is not None}
        return jwt.encode(self.claims(**claims), key, algorithm, headers=kept)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        discovery = {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys"}
        usual: dict[str, Any] = {"/.well-known/openid-configuration": discovery, "/keys": {"keys": self.keys}}
        if path in self.documents:
            return self.documents[path]
        return (200, json.dumps(usual[path]).encode()) if path in usual else (404, b"")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = provider._answer(self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its base names it so
                pass

        return Handler
