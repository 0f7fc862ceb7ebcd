"""`OIDCSignIn`: starts and completes sign-ins, and keeps their sessions only as long as their tokens are valid.

The state of a sign-in in progress is in an encrypted cookie, not in this process: clients that start sign-ins and never
complete them use no memory.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import msgspec

from kubewright.clock import Clock
from kubewright.console.access import BearerToken, Session, Sessions, SignInError, SignInUnavailable, digest_of
from kubewright.console.oidc._id_tokens import Expected
from kubewright.console.oidc._provider import Provider, Tokens
from kubewright.console.oidc._settings import OIDC
from kubewright.lru import LRUMemory
from kubewright.tasks import cancel_and_wait

if TYPE_CHECKING:
    from cryptography.fernet import Fernet

__all__ = ["COOKIE_SECONDS", "Grant", "OIDCSignIn"]

logger = logging.getLogger("kubewright.console")

Check = Callable[[], Awaitable[str]]

COOKIE_SECONDS: Final = 600
"""How long a user may take to sign in at the provider."""

_USED: Final = 10_000
_LONGEST_NEXT: Final = 1_000
_LONGEST_VALUE: Final = 4_096
_RENEW_SECONDS: Final = 60.0  # before the token expires, or a quarter of its life
_RETRY_SECONDS: Final = 5.0
_NOT_STARTED: Final = (
    f"This sign-in was not started in this browser, or it took longer than {COOKIE_SECONDS // 60} minutes. "
    "Sign in again."
)


class _Started(msgspec.Struct, array_like=True):
    """A sign-in in progress, as in the cookie."""

    state: str
    nonce: str
    verifier: str
    redirect_uri: str
    next: str


@dataclass(frozen=True)
class Grant:
    """A completed sign-in."""

    id_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    subject: str
    expires_at: float
    """When the ID token expires, in seconds since the epoch."""
    next: str = "/"
    """The path to open."""


class OIDCSignIn:
    """The sign-ins of one console with one provider. Use it in one event loop, and `close` it."""

    def __init__(self, settings: OIDC, clock: Clock) -> None:
        self.settings = settings
        self._provider = Provider(settings, clock)
        self._clock = clock
        self._encryption: Fernet | None = None
        self._used: LRUMemory[str, bool] = LRUMemory(_USED)
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin(self, redirect_uri: str, next_: str = "/") -> tuple[str, str]:
        """Returns the address at the provider where the user signs in, and the value of a cookie for this browser.

        Raises `SignInUnavailable` if the provider does not answer.
        """
        document = await self._provider.document()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        started = _Started(state, nonce, verifier, redirect_uri, next_ if len(next_) <= _LONGEST_NEXT else "/")
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        query = urlencode(
            {
                "response_type": "code",
                "client_id": self.settings.client_id,
                "redirect_uri": redirect_uri,
                "scope": self.settings.scope,
                "state": state,
                "nonce": nonce,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
            }
        )
        separator = "&" if "?" in document.authorization_endpoint else "?"
        return f"{document.authorization_endpoint}{separator}{query}", self._sealed(started)

    async def complete(self, cookie: str, query: Mapping[str, str]) -> Grant:
        """Completes a sign-in: takes the cookie of `begin`, and the query of the callback. Raises `SignInError`.

        Each sign-in can be completed once, whether that succeeds or fails.
        """
        started = self._opened(cookie)
        if not hmac.compare_digest(query.get("state", "").encode(), started.state.encode()):
            raise SignInError(_NOT_STARTED)
        if self._used.put(digest_of(started.state), True):
            raise SignInError("This sign-in was already completed. Sign in again.")
        if query.get("iss", self.settings.issuer) != self.settings.issuer:  # RFC 9207
            raise SignInError("The response comes from another provider. Sign in again.")
        if "error" in query:
            raise SignInError(f"{self.settings.shown} did not sign you in: {_known_error(query['error'])}.")
        code = query.get("code", "")
        if not code or len(code) > _LONGEST_VALUE:
            raise SignInError(f"{self.settings.shown} returned no code. Sign in again.")
        tokens = await self._provider.redeem(code, started.verifier, started.redirect_uri)
        return await self._grant(tokens, started.nonce, next_=started.next)

    async def renew(self, grant: Grant) -> Grant:
        """Returns a new grant for the same user. Raises `SignInError` if the provider refuses, and
        `SignInUnavailable` if it does not answer.
        """
        tokens = await self._provider.refresh(grant.refresh_token)
        if not tokens.refresh_token:  # the old one stays valid
            tokens = Tokens(tokens.id_token, grant.refresh_token)
        return await self._grant(tokens, None, subject=grant.subject)

    async def _grant(self, tokens: Tokens, nonce: str | None, *, subject: str | None = None, next_: str = "/") -> Grant:
        expected = Expected(self.settings.issuer, self.settings.client_id, nonce, subject)
        verified = await self._provider.verify(tokens.id_token, expected)
        return Grant(tokens.id_token, tokens.refresh_token, verified.subject, verified.expires_at, next_)

    # Sessions

    def keep(
        self,
        session: Session,
        sessions: Sessions,
        token: BearerToken,
        grant: Grant,
        check: Check,
    ) -> None:
        """Renews the token of a session before it expires. Ends the session when the token expires, when the provider
        refuses to renew it, or when the API server no longer knows the user by the same name.

        `check` returns the user name that the API server reports for the token.
        """
        task = asyncio.create_task(self._keep(session, sessions, token, grant, check), name="OIDC session")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        session.on_end.append(lambda: None if task is asyncio.current_task() else task.cancel())

    async def _keep(
        self,
        session: Session,
        sessions: Sessions,
        token: BearerToken,
        grant: Grant,
        check: Check,
    ) -> None:
        try:
            while grant.refresh_token:
                left = grant.expires_at - self._now()
                await self._clock.sleep(max(_RETRY_SECONDS, left - min(_RENEW_SECONDS, left / 4)))
                grant = await self._renewed(grant)
                token.value = grant.id_token
                if await check() != session.viewer.name:
                    logger.warning("ended the session of %s: the API server reports another name", session.viewer.name)
                    return
            await self._clock.sleep(max(0.0, grant.expires_at - self._now()))
        except SignInError as error:
            logger.info("ended the session of %s: %s", session.viewer.name, error)
        except Exception:  # a session must never outlive its token
            logger.exception("ended the session of %s: its token cannot be renewed", session.viewer.name)
        finally:
            sessions.end(session)

    async def _renewed(self, grant: Grant) -> Grant:
        """Renews a grant, and retries while the provider does not answer, until the token expires."""
        while True:
            try:
                return await self.renew(grant)
            except SignInUnavailable:
                if self._now() + _RETRY_SECONDS >= grant.expires_at:
                    raise
            await self._clock.sleep(_RETRY_SECONDS)

    async def close(self) -> None:
        """Stops renewing."""
        await cancel_and_wait(*self._tasks)

    def _now(self) -> float:
        return self._clock.now().timestamp()

    # Cookies

    @property
    def _fernet(self) -> Fernet:
        if self._encryption is None:
            from cryptography.fernet import Fernet

            self._encryption = Fernet(Fernet.generate_key())
        return self._encryption

    def _sealed(self, started: _Started) -> str:
        return self._fernet.encrypt_at_time(msgspec.json.encode(started), int(self._now())).decode()

    def _opened(self, cookie: str) -> _Started:
        from cryptography.fernet import InvalidToken

        try:
            content = self._fernet.decrypt_at_time(cookie.encode(), COOKIE_SECONDS, int(self._now()))
        except InvalidToken:
            raise SignInError(_NOT_STARTED) from None
        return msgspec.json.decode(content, type=_Started)


def _known_error(code: str) -> str:
    """Returns the provider's error code for users. Descriptions are not shown, because any site can invent them."""
    known = {
        "access_denied": "access was denied",
        "login_required": "you are not signed in there",
        "consent_required": "you have not agreed to share your data",
        "temporarily_unavailable": "it is temporarily unavailable",
        "invalid_scope": "it does not know a scope of --oidc-scope",
        "unauthorized_client": "it does not allow this client to sign in users",
    }
    return known.get(code, "it reports an error")
