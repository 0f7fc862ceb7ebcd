"""A small OpenID Connect provider on loopback, with TLS. It signs in its only user without asking.

Its attributes change what it returns, so that a test can make it misbehave.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from aiohttp import web
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

from kubewright.certificates import CertificateAuthority
from kubewright.tasks import LoopThread

CLIENT = "console"
USER = "ann@example.com"


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


class TestProvider:
    """The provider. `url` is its issuer, `ca_file` the CA of its certificate."""

    __test__ = False

    def __init__(self, ca_file: Path) -> None:
        self.ca_file = ca_file
        self.url = ""
        self.rsa = rsa.generate_private_key(65_537, 2_048)
        self.ec = ec.generate_private_key(ec.SECP256R1())
        self.now = time.time
        self.reset()

    def reset(self) -> None:
        """Restores the correct behavior."""
        self.algorithm = "RS256"
        self.key_id: str | None = "rsa"
        self.claims: dict[str, Any] = {}
        self.life = 3_600.0
        self.refreshes = False
        self.secret: str | None = None
        self.document: dict[str, Any] = {}
        self.token_response: bytes | None = None
        self.codes: dict[str, dict[str, str]] = {}
        self.refresh_tokens: dict[str, str] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.refuse = ""

    # Tokens

    def token(self, nonce: str | None) -> str:
        now = self.now()
        claims = {
            "iss": self.url,
            "sub": "1",
            "aud": CLIENT,
            "exp": now + self.life,
            "iat": now,
            "email": USER,
            "email_verified": True,
            "groups": ["developers"],
            **({"nonce": nonce} if nonce is not None else {}),
            **self.claims,
        }
        return self.signed({name: value for name, value in claims.items() if value is not None})

    def signed(self, claims: dict[str, Any]) -> str:
        header = {"alg": self.algorithm, **({"kid": self.key_id} if self.key_id is not None else {})}
        text = ".".join(encoded(msgspec.json.encode(part)) for part in (header, claims))
        return f"{text}.{encoded(self.signature(text.encode()))}"

    def signature(self, content: bytes) -> bytes:
        if self.algorithm == "RS256":
            return self.rsa.sign(content, padding.PKCS1v15(), hashes.SHA256())
        if self.algorithm == "ES256":
            numbers = utils.decode_dss_signature(self.ec.sign(content, ec.ECDSA(hashes.SHA256())))
            return b"".join(number.to_bytes(32, "big") for number in numbers)
        if self.algorithm == "HS256":
            public = self.rsa.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            return hmac.digest(public, content, "sha256")
        return b""

    def keys(self) -> dict[str, Any]:
        numbers, point = self.rsa.public_key().public_numbers(), self.ec.public_key().public_numbers()
        return {
            "keys": [
                {"kty": "oct", "kid": "shared", "k": "AAAA"},
                {
                    "kty": "RSA",
                    "kid": "rsa",
                    "use": "sig",
                    "alg": "RS256",
                    "n": encoded(numbers.n.to_bytes(256, "big")),
                    "e": "AQAB",
                },
                {
                    "kty": "EC",
                    "kid": "ec",
                    "use": "sig",
                    "crv": "P-256",
                    "x": encoded(point.x.to_bytes(32, "big")),
                    "y": encoded(point.y.to_bytes(32, "big")),
                },
            ]
        }

    # Requests

    async def configuration(self, _: web.Request) -> web.Response:
        self.requests.append(("configuration", {}))
        found = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize?tenant=a",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return web.json_response({**found, **self.document})

    async def serve_keys(self, _: web.Request) -> web.Response:
        self.requests.append(("keys", {}))
        return web.json_response(self.keys())

    async def authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.requests.append(("authorize", asked))
        answer = {"state": asked["state"]}
        if self.refuse:
            answer["error"] = self.refuse
        else:
            answer["code"] = secrets.token_urlsafe(16)
            self.codes[answer["code"]] = asked
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode(answer)}")

    async def redeem(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.requests.append(("token", form))
        if self.token_response is not None:
            return web.Response(body=self.token_response, content_type="application/json")
        if self.secret is not None and request.headers.get("authorization") != self._basic(self.secret):
            return web.json_response({"error": "invalid_client"}, status=401)
        if form["grant_type"] == "refresh_token":
            subject = self.refresh_tokens.pop(form["refresh_token"], None)
            return self._tokens(None) if subject else web.json_response({"error": "invalid_grant"}, status=400)
        asked = self.codes.pop(form["code"], None)
        challenge = encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
        if (
            asked is None
            or asked["redirect_uri"] != form["redirect_uri"]
            or asked["client_id"] != form["client_id"]
            or (asked["code_challenge"], asked["code_challenge_method"]) != (challenge, "S256")
        ):
            return web.json_response({"error": "invalid_grant"}, status=400)
        return self._tokens(asked["nonce"])

    def _tokens(self, nonce: str | None) -> web.Response:
        found = {"token_type": "Bearer", "access_token": "unused", "id_token": self.token(nonce)}
        if self.refreshes:
            found["refresh_token"] = secrets.token_urlsafe(16)
            self.refresh_tokens[found["refresh_token"]] = "1"
        return web.json_response(found)

    def _basic(self, secret: str) -> str:
        return f"Basic {base64.b64encode(f'{CLIENT}:{secret}'.encode()).decode()}"


@contextmanager
def provided(folder: Path) -> Iterator[TestProvider]:
    """Runs a provider in its own thread, so that other processes and blocking tests can use it."""
    authority = CertificateAuthority("provider-ca")
    certificate, key = authority.issue("provider", hosts=["127.0.0.1", "localhost"]).write(folder, "provider")
    ca_file = folder / "ca.crt"
    ca_file.write_bytes(authority.pair.certificate)
    made = TestProvider(ca_file)
    loop = LoopThread("OIDC provider")

    async def start() -> web.AppRunner:
        application = web.Application()
        application.router.add_get("/.well-known/openid-configuration", made.configuration)
        application.router.add_get("/keys", made.serve_keys)
        application.router.add_get("/authorize", made.authorize)
        application.router.add_post("/token", made.redeem)
        runner = web.AppRunner(application)
        await runner.setup()
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        made.url = f"https://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    runner = loop.call(start())
    try:
        yield made
    finally:
        loop.call(runner.cleanup())
        loop.close()
