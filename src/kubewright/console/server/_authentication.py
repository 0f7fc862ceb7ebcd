"""Authentication: only requests with a session pass.

ASGI middleware between `SecurityMiddleware` and the pages. A request is authenticated by its `Authorization: Bearer`
header, which an authenticating proxy can add, or by a session cookie. A session starts with a token on the sign-in
page, at an OpenID Connect provider, or with the invitation that the console prints for the local user. Headers that
name a user are ignored.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs, parse_qsl, quote, unquote, urlencode

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kubewright.client import ConfigError
from kubewright.console._backend import Backend
from kubewright.console._contexts import CONTEXTS, context_of, context_prefix
from kubewright.console._scope import BACKEND, SESSION
from kubewright.console.access import (
    INVITATION,
    Session,
    Sessions,
    SignInDelayed,
    SignInError,
    SignInUnavailable,
    Viewer,
    digest_of,
)
from kubewright.console.server._cookies import OIDC_COOKIE, SESSION_COOKIE
from kubewright.console.server._oidc import OIDC_CALLBACK, OIDC_START, OIDCEndpoints, refresh_page
from kubewright.console.server._open_pages import has_page_room, has_socket_room, may_connect
from kubewright.console.server._page_builds import PageBuilds
from kubewright.console.server._security import CLIENT_ADDRESS, SOCKETS
from kubewright.console.server._sign_in_pages import notice_page, sign_in_page, style_sheet

__all__ = ["AuthenticationMiddleware"]

logger = logging.getLogger("kubewright.console")

SIGN_IN: Final = "/sign-in"
SIGN_OUT: Final = "/sign-out"
STYLE: Final = "/sign-in/style.css"
_FORM_BYTES: Final = 65_536
_CONCURRENT_REVIEWS: Final = 8
_REQUESTS_PER_VIEWER: Final = 64  # in progress; half of the server's connections
_SOCKETS_PER_PAGE: Final = 2  # a browser that reconnects briefly has two


class AuthenticationMiddleware:
    """Passes requests to another ASGI application with a `Session` in their scope, or answers them itself."""

    def __init__(self, application: ASGIApp, console: Backend, sessions: Sessions) -> None:
        self._application = application
        self._console = console
        self._sessions = sessions
        self._pending: dict[str, asyncio.Future[Session]] = {}
        self._concurrency = asyncio.Semaphore(_CONCURRENT_REVIEWS)
        self._in_progress: Counter[str] = Counter()
        self._builds = PageBuilds()
        self._oidc = (
            None if console.oidc is None else OIDCEndpoints(console, console.oidc, self._viewer, self._count_failure)
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, or answers it."""
        if scope["type"] not in ("http", "websocket"):
            await self._application(scope, receive, send)
            return
        scope, prefix = _split_context(scope)
        answer = await self._response(scope, receive, prefix)
        if answer is None:
            # NiceGUI prepends the prefix to every path of its pages, so links and sockets stay in the same cluster.
            passed = {**scope, "path": prefix + scope["path"], "root_path": prefix}
            await self._pass_on(passed, receive, send, is_page=_is_page(scope))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "sign in first"})
        else:
            await answer(scope, receive, send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send, *, is_page: bool) -> None:
        if scope["type"] == "websocket":
            await self._application(scope, receive, send)
            return
        viewer = scope[SESSION].viewer.name
        self._in_progress[viewer] += 1
        try:
            if is_page:
                await self._builds.run(lambda sent: self._build(scope, receive, sent), send)
            else:
                await self._application(scope, receive, send)
        finally:
            self._in_progress[viewer] -= 1
            if not self._in_progress[viewer]:
                del self._in_progress[viewer]

    async def _build(self, scope: Scope, receive: Receive, send: Send) -> None:
        session: Session = scope[SESSION]
        if has_page_room(session.viewer.name, self._console.pages_per_viewer):
            await self._application(scope, receive, send)
        else:
            await self._reject_page(session, Headers(scope=scope))(scope, receive, send)

    async def _response(self, scope: Scope, receive: Receive, prefix: str) -> Response | None:
        """Returns the response that replaces a page; None if the request may pass."""
        headers, path = Headers(scope=scope), scope["path"]
        try:
            session = await self._session(scope, headers)
        except SignInError as error:
            status, more = _rejection(error)
            return PlainTextResponse(f"{error}\n", status, more)
        if scope["type"] == "http":
            if path == STYLE:
                return Response(style_sheet(), media_type="text/css", headers={"cache-control": "max-age=3600"})
            if path in (SIGN_IN, SIGN_OUT):
                return await self._sign_in_or_out(Request(scope, receive), session)
            if path in (OIDC_START, OIDC_CALLBACK) and self._oidc is not None:
                return await self._sign_in_with_oidc(self._oidc, Request(scope, receive), session)
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if INVITATION in query:
                return await self._accept_invitation(scope, headers, session, query[INVITATION][0], prefix)
        if session is None:
            return self._require_sign_in(scope, headers, prefix)
        if not self._owns_socket(scope, session):
            return PlainTextResponse("This page belongs to another viewer.\n", 403)
        if self._in_progress[session.viewer.name] >= _REQUESTS_PER_VIEWER or not self._has_socket_room(scope, session):
            text = "Too many open requests or sockets for this viewer.\n"
            return PlainTextResponse(text, 429, {"retry-after": "5"})
        if _is_page(scope):
            try:
                scope[BACKEND] = await self._console.for_session(session, context_of(prefix))
            except ConfigError as error:
                return _notice(404, "Unknown cluster", str(error), headers)
        scope[SESSION] = session
        return None

    # Pages

    def _owns_socket(self, scope: Scope, session: Session) -> bool:
        """Whether a WebSocket belongs to a page of the same viewer. True for all other requests."""
        if not scope["path"].startswith(SOCKETS):
            return True
        return may_connect(parse_qs(scope["query_string"].decode("latin-1")), session)

    def _has_socket_room(self, scope: Scope, session: Session) -> bool:
        if not scope["path"].startswith(SOCKETS) or "sid" in parse_qs(scope["query_string"].decode("latin-1")):
            return True
        return has_socket_room(session.viewer.name, _SOCKETS_PER_PAGE * self._console.pages_per_viewer)

    def _reject_page(self, session: Session, headers: Headers) -> Response:
        most = self._console.pages_per_viewer
        logger.warning("refused a page of the console: %s already has %d open", session.viewer.name, most)
        text = f"You have {most:,} pages of this console open, which is the limit per viewer. Close some and try again."
        return _notice(429, "Too many open pages", text, headers)

    # Identity

    async def _session(self, scope: Scope, headers: Headers) -> Session | None:
        given = headers.get("authorization", "")
        if given:
            # The header takes precedence over a cookie: an older session must not override a proxy's identity.
            scheme, _, token = given.partition(" ")
            if scheme.lower() != "bearer" or not token.strip():
                raise SignInError("This console accepts only bearer tokens in the Authorization header.")
            return await self._with_token(token.strip(), scope.get(CLIENT_ADDRESS, ""))
        secret = SESSION_COOKIE.read(scope)
        return self._sessions.find(secret) if secret else None

    async def _with_token(self, token: str, address: str) -> Session:
        known = self._sessions.find(token)
        if known is not None:
            return known
        key = digest_of(token)
        pending = self._pending.get(key)
        if pending is None:  # a page requests many files at once, and one review is sufficient
            pending = self._pending[key] = asyncio.ensure_future(self._start_session(token, address))
            pending.add_done_callback(lambda ended: self._on_verified(key, ended))
        return await asyncio.shield(pending)

    def _on_verified(self, key: str, ended: asyncio.Future[Session]) -> None:
        self._pending.pop(key, None)
        if not ended.cancelled():
            ended.exception()  # retrieved, in case all callers have left

    async def _start_session(self, token: str, address: str) -> Session:
        viewer = await self._viewer(lambda: self._console.viewer_with_token(token), address)
        self._console.audit.signed_in(viewer.name, address, "token")
        return self._sessions.begin_with(token, viewer)

    async def _viewer(self, verify: Callable[[], Awaitable[Viewer]], address: str) -> Viewer:
        """Verifies a token with the API server, unless too many sign-ins from the address have failed."""
        self._check_throttle(address)
        async with self._concurrency:
            self._check_throttle(address)  # other sign-ins from this address may have failed while this one waited
            try:
                return await verify()
            except SignInUnavailable:
                raise
            except SignInError as error:
                self._count_failure(address)
                logger.warning("sign-in from %s failed: %s", address or "an unknown address", error)
                raise

    def _count_failure(self, address: str) -> None:
        self._console.sign_ins.failed(address)
        self._console.audit.sign_in_failed(address)

    def _check_throttle(self, address: str) -> None:
        seconds = self._console.sign_ins.delay(address)
        if seconds:
            raise SignInDelayed(seconds)

    # Signing in and out

    def _require_sign_in(self, scope: Scope, headers: Headers, prefix: str) -> Response:
        if scope["type"] == "websocket" or scope["method"] != "GET" or "text/html" not in headers.get("accept", ""):
            return PlainTextResponse("Sign in first.\n", 401, {"www-authenticate": "Bearer"})
        here = _requested_path(scope, prefix)
        if headers.get("sec-fetch-site") == "cross-site":
            # The request follows a link from another site, so the browser withheld the SameSite cookie. It sends the
            # cookie with the next request, which comes from this site.
            return refresh_page(here)
        return RedirectResponse(f"{SIGN_IN}?next={quote(here, safe='')}", 303, {"cache-control": "no-store"})

    async def _accept_invitation(
        self, scope: Scope, headers: Headers, session: Session | None, word: str, prefix: str
    ) -> Response:
        """Exchanges the invitation for a cookie, and redirects to the address without it."""
        here = RedirectResponse(_requested_path(scope, prefix), 303, {"cache-control": "no-store"})
        if session is not None:
            return here
        if not (self._console.local and self._sessions.redeem(word)):
            problem = (
                "This address was already used or has expired. "
                "Restart the console to get a new one, or sign in with a token."
            )
            return self._page(401, next_=_requested_path(scope, prefix), problem=problem)
        viewer = await self._console.local_viewer()
        self._console.audit.signed_in(viewer.name, scope.get(CLIENT_ADDRESS, ""), "invitation")
        _, secret = self._sessions.begin(viewer, local=True)
        SESSION_COOKIE.set(here, scope, secret)
        return here

    async def _sign_in_or_out(self, request: Request, session: Session | None) -> Response:
        if request.url.path == SIGN_OUT:
            if request.method != "POST":
                return RedirectResponse("/", 303)
            if session is not None:
                self._sessions.end(session)
                self._console.audit.signed_out(session.viewer.name)
            gone = RedirectResponse(SIGN_IN, 303, {"cache-control": "no-store"})
            SESSION_COOKIE.delete(gone, request.scope)
            return gone
        if request.method != "POST":
            return self._page(200, next_=_local_path(request.query_params.get("next", "/")))
        return await self._sign_in(request)

    async def _sign_in(self, request: Request) -> Response:
        try:
            form = await _form(request)
        except ClientDisconnect:  # not a failed sign-in, and the client has left
            return Response(status_code=400)
        next_ = _local_path(form.get("next", "/"))
        try:
            token = form.get("token", "").strip()
            address = request.scope.get(CLIENT_ADDRESS, "")
            viewer = await self._viewer(lambda: self._console.viewer_with_token(token), address)
        except SignInError as error:
            return self._rejected(error, next_)
        _, secret = self._sessions.begin(viewer)
        self._console.audit.signed_in(viewer.name, request.scope.get(CLIENT_ADDRESS, ""), "token")
        answer = RedirectResponse(next_, 303, {"cache-control": "no-store"})
        SESSION_COOKIE.set(answer, request.scope, secret)
        return answer

    async def _sign_in_with_oidc(self, oidc: OIDCEndpoints, request: Request, session: Session | None) -> Response:
        next_ = _local_path(request.query_params.get("next", "/"))
        if request.method != "GET":
            return PlainTextResponse("Use GET.\n", 405, {"allow": "GET"})
        try:
            if request.url.path == OIDC_START:
                return RedirectResponse(next_, 303) if session is not None else await oidc.begin(request, next_)
            self._check_throttle(request.scope.get(CLIENT_ADDRESS, ""))
            return await oidc.complete(request)
        except SignInError as error:
            page = self._rejected(error, next_)
            if request.url.path == OIDC_CALLBACK:
                OIDC_COOKIE.delete(page, request.scope)
            return page

    def _rejected(self, error: SignInError, next_: str) -> Response:
        status, more = _rejection(error)
        page = self._page(status, next_=next_, problem=str(error))
        page.headers.update(more)
        return page

    def _page(self, status: int, *, next_: str, problem: str = "") -> Response:
        flow = self._console.oidc
        provider = "" if flow is None else flow.settings.shown
        page = sign_in_page(
            self._console.name, next_=next_, problem=problem, local=self._console.local, provider=provider
        )
        # With no-referrer, browsers send `Origin: null` for the form, and SecurityMiddleware would reject it.
        return HTMLResponse(page, status, {"cache-control": "no-store", "referrer-policy": "same-origin"})


def _rejection(error: SignInError) -> tuple[int, dict[str, str]]:
    """Returns the HTTP status and headers for a rejected sign-in."""
    if isinstance(error, SignInDelayed):
        return 429, {"retry-after": str(error.seconds)}
    if isinstance(error, SignInUnavailable):
        return 503, {}
    return 401, {"www-authenticate": "Bearer"}


def _notice(status: int, title: str, text: str, headers: Headers) -> Response:
    """Returns a page without scripts that shows one message; plain text for clients that do not accept HTML."""
    if "text/html" not in headers.get("accept", ""):
        return PlainTextResponse(f"{title}. {text}\n", status)
    return HTMLResponse(notice_page(title, text), status, {"cache-control": "no-store"})


def _is_page(scope: Scope) -> bool:
    """Whether the request is for a page, not for a file of NiceGUI or a socket."""
    return scope["type"] == "http" and not scope["path"].startswith(("/_nicegui", "/favicon.ico"))


def _split_context(scope: Scope) -> tuple[Scope, str]:
    """Returns the request without the context in its path, and the context's prefix: `/contexts/kind-dev` or ""."""
    # Context names may contain slashes, which only the undecoded path distinguishes from separators.
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    name, _, rest = raw.removeprefix(CONTEXTS.encode()).partition(b"/")
    if not name or not raw.startswith(CONTEXTS.encode()):
        return {**scope}, ""
    return {**scope, "path": f"/{unquote(rest)}"}, context_prefix(unquote(name))


def _requested_path(scope: Scope, prefix: str) -> str:
    """Returns the requested path and query, without an invitation."""
    pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    query = urlencode([(name, value) for name, value in pairs if name != INVITATION])
    path = _local_path(prefix + quote(scope["path"], safe="/:@!$&'()*+,;=~-._"))
    return f"{path}?{query}" if query else path


def _local_path(target: str) -> str:
    """Returns the target if it is a path of this console, otherwise `/`: prevents open redirects."""
    good = target.startswith("/") and not target.startswith(("//", "/\\")) and target.isprintable()
    return target if good and "\\" not in target else "/"


async def _form(request: Request) -> dict[str, str]:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _FORM_BYTES:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
