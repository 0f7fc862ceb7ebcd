"""`Provider`: the requests that the console sends to an OpenID Connect provider.

All addresses are https, and certificates are verified. A response has at most 1 MB and takes at most 10 seconds.
Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, TypeVar
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
from msgspec.structs import replace

from kubewright.client import ApiError, Client, ConfigError, Credentials, RetryPolicy, load_config
from kubewright.clock import Clock
from kubewright.console.access import SignInError, SignInUnavailable
from kubewright.console.oidc._id_tokens import (
    Expected,
    IDToken,
    InvalidIDToken,
    SigningKeys,
    UnknownKey,
    verify_id_token,
)
from kubewright.console.oidc._settings import OIDC, is_https
from kubewright.durations import format_duration

__all__ = ["Document", "Provider", "Tokens"]

logger = logging.getLogger("kubewright.console")

T = TypeVar("T")

_BYTES: Final = 1_000_000
_TIMEOUT_SECONDS: Final = 10.0
_DOCUMENT_SECONDS: Final = 3_600.0
_KEYS_SECONDS: Final = 3_600.0
_NEW_KEYS_SECONDS: Final = 30.0
_FORM: Final = "application/x-www-form-urlencoded"


class Document(msgspec.Struct, frozen=True):
    """The part of the discovery document that the console uses."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class Tokens(msgspec.Struct, frozen=True):
    """The response of the token endpoint. The access token is not used."""

    id_token: str = ""
    refresh_token: str = ""

    def __repr__(self) -> str:
        return "<Tokens>"


class Provider:
    """One provider. Its discovery document and its keys are cached for an hour.

    A token with an unknown key makes the console read the keys again, at most every 30 seconds.
    """

    def __init__(self, settings: OIDC, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._document: tuple[float, Document] | None = None
        self._keys: tuple[float, SigningKeys] | None = None
        self._reading = asyncio.Lock()

    async def document(self) -> Document:
        """Returns the discovery document. Raises `SignInUnavailable`."""
        async with self._reading:
            if self._document is None or self._clock.monotonic() > self._document[0] + _DOCUMENT_SECONDS:
                address = f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration"
                found = _decode(await self._fetch("GET", address), Document, "its discovery document")
                self._check(found)
                self._document = self._clock.monotonic(), found
            return self._document[1]

    async def redeem(self, code: str, verifier: str, redirect_uri: str) -> Tokens:
        """Exchanges a code for tokens. Raises `SignInError` if the provider refuses it."""
        return await self._tokens(
            {
                "grant_type": "authorization_code",
                "code": code,
                "code_verifier": verifier,
                "redirect_uri": redirect_uri,
            }
        )

    async def refresh(self, refresh_token: str) -> Tokens:
        """Exchanges a refresh token for new tokens. Raises `SignInError` if the provider refuses it."""
        return await self._tokens({"grant_type": "refresh_token", "refresh_token": refresh_token})

    async def verify(self, token: str, expected: Expected) -> IDToken:
        """Verifies an ID token with the provider's keys. Raises `SignInError`."""
        now = self._clock.now().timestamp()
        try:
            try:
                return verify_id_token(token, await self._signing_keys(_KEYS_SECONDS), expected, now)
            except UnknownKey:  # the provider may have rotated its keys
                return verify_id_token(token, await self._signing_keys(_NEW_KEYS_SECONDS), expected, now)
        except InvalidIDToken as error:
            raise SignInError(f"The ID token of {self._settings.shown} is invalid: {error}.") from None

    async def _signing_keys(self, max_age: float) -> SigningKeys:
        document = await self.document()
        async with self._reading:
            if self._keys is None or self._clock.monotonic() > self._keys[0] + max_age:
                content = await self._fetch("GET", document.jwks_uri)
                try:
                    self._keys = self._clock.monotonic(), SigningKeys.parse(content)
                except ValueError as error:
                    raise self._unavailable(str(error)) from None
            return self._keys[1]

    async def _tokens(self, form: Mapping[str, str]) -> Tokens:
        document = await self.document()
        form = {**form, "client_id": self._settings.client_id}
        credentials = Credentials()
        try:
            secret = self._settings.secret()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it has no text"
            raise self._unavailable(f"the client secret cannot be read: {reason}") from None
        if secret is not None and _posts_secret(document):
            form["client_secret"] = secret
        elif secret is not None:
            # Both are form-encoded first: RFC 6749, section 2.3.1.
            credentials = Credentials(
                username=quote(self._settings.client_id, safe=""), password=quote(secret, safe="")
            )
        body = urlencode(form).encode()
        found = await self._fetch("POST", document.token_endpoint, body=body, credentials=credentials)
        return _decode(found, Tokens, "its response")

    async def _fetch(
        self, method: str, url: str, *, body: bytes | None = None, credentials: Credentials | None = None
    ) -> bytes:
        parts = urlsplit(url)
        try:
            config = load_config(server=f"https://{parts.netloc}", ca_file=self._settings.ca_file)
            config = replace(
                config,
                credentials=credentials or Credentials(),
                disable_compression=True,  # so that the size limit also bounds memory
                max_response_bytes=_BYTES,
            )
            async with (
                asyncio.timeout(_TIMEOUT_SECONDS),
                Client(config, retry=RetryPolicy(attempts=1), timeout=_TIMEOUT_SECONDS, clock=self._clock) as client,
            ):
                query = dict(parse_qsl(parts.query))
                return await client.request(method, parts.path or "/", query=query, body=body, content_type=_FORM)
        except TimeoutError:
            raise self._unavailable(f"no answer within {format_duration(_TIMEOUT_SECONDS)}") from None
        except ConfigError as error:
            raise self._unavailable(f"{error} (the CA is set with --oidc-ca-file)") from None
        except ApiError as error:
            if method == "POST" and 400 <= error.code < 500 and error.code not in (401, 429):
                raise SignInError(f"{self._settings.shown} refused the sign-in. Sign in again.") from None
            reason = f"it returned {error.code}" if error.code else error.status.message
            raise self._unavailable(reason) from None

    def _check(self, document: Document) -> None:
        if document.issuer != self._settings.issuer:
            raise self._unavailable("its discovery document names another issuer")
        for address in (document.authorization_endpoint, document.token_endpoint, document.jwks_uri):
            if not is_https(address):
                raise self._unavailable("its discovery document has an address that is not https")

    def _unavailable(self, reason: str) -> SignInUnavailable:
        # The reason is for the administrator: it may contain addresses of the network.
        logger.warning("OIDC provider %s cannot be used: %s", self._settings.issuer, _line(reason))
        return SignInUnavailable(
            f"{self._settings.shown} cannot be used at the moment. Try again later, or sign in with a token."
        )


def _posts_secret(document: Document) -> bool:
    methods = document.token_endpoint_auth_methods_supported
    return "client_secret_post" in methods and "client_secret_basic" not in methods


def _decode(content: bytes, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, RecursionError):
        logger.warning("OIDC provider: %s is invalid", what)
        raise SignInUnavailable("The OIDC provider returned an invalid response. Try again later.") from None


def _line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())[:500]
