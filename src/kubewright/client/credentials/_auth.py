"""Credentials of requests, renewed when files change and credentials expire.

| source | checked |
|---|---|
| token file | every 10 s, and after a 401 |
| CA, client certificate and key in files | every second (their inode, time and size), and after a 401 |
| exec plugin | shortly before its credential expires, and after a 401 |

A valid credential stays in use while its replacement cannot be read. A file that is being replaced, a plugin that fails
and a plugin that prints invalid data lead to a warning in the log, and not to a failed request, until the old
credential expires.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from kubewright.client._config import ClientConfig, Credentials, ExecPlugin, Impersonation
from kubewright.client._config_errors import ConfigError
from kubewright.client.credentials._tls import ClientCertificate, TLSSource, certificate_expiry, explain_verification
from kubewright.clock import Clock
from kubewright.redaction import Redacted

if TYPE_CHECKING:
    from kubewright.client.credentials._exec import ExecCredential

__all__ = ["Authenticator", "Identity"]

log = logging.getLogger("kubewright.client")

_LOOK_EVERY = 1.0
_READ_TOKEN_EVERY = 10.0
_RETRY_PLUGIN_AFTER = 10.0
_MAX_MARGIN = timedelta(seconds=30)


class Identity(Redacted, msgspec.Struct, frozen=True, eq=False):
    """The credentials of a request. Immutable; the same object as long as nothing changes.

    `headers` is a tuple of pairs, because a header such as Impersonate-Group may occur several times. `ssl` is a
    context for https, True for plain http. It is a new object exactly if the CA or the client certificate changed, so
    that the pool opens new connections. If `server_name` is set, the certificate must have that name instead of the
    host.
    """

    redacted = frozenset({"headers"})

    headers: tuple[tuple[str, str], ...]
    ssl: ssl.SSLContext | bool
    server_name: str | None


class Authenticator:
    """Keeps one identity up to date. Created from a `ClientConfig`; belongs to one event loop; close it at the end.

    `identity` is cheap if nothing is due. Concurrent callers share one run of a plugin, and a caller that is cancelled
    does not cancel the run for the others. Raises `ConfigError` if a credential is not available.
    """

    def __init__(
        self,
        config: ClientConfig,
        clock: Clock,
        *,
        environ: Mapping[str, str] | None = None,
        exec_timeout: float = 60.0,
    ) -> None:
        credentials = config.credentials
        self._config = config
        self._clock = clock
        self._impersonation = tuple(_impersonation_headers(config.impersonate))
        self._tls = TLSSource(config.tls, _client_certificate(credentials)) if config.secure else None
        self._token_file = _TokenFile(credentials, clock) if credentials.token_file else None
        self._plugin: _Plugin | None = None
        # As in client-go, a credential in the configuration itself takes precedence over the plugin.
        fixed = credentials.token or credentials.token_file or credentials.has_basic or credentials.has_certificate
        if credentials.exec is not None and not fixed:
            environ = os.environ if environ is None else environ
            self._plugin = _Plugin(credentials.exec, config, clock, environ, exec_timeout, self._check)
        self._changes = self._token_file or self._plugin or (self._tls and self._tls.files)
        self._identity: Identity | None = None
        self._look_again = 0.0

    async def identity(self) -> Identity:
        """Returns the credentials of the next request."""
        if self._identity is not None and self._clock.monotonic() < self._look_again:
            return self._identity
        return self._assemble(await self._plugin.credential() if self._plugin else None)

    async def rejected(self, identity: Identity) -> bool:
        """Renews an identity after the server answered 401. Returns True if there is a new one to retry with.

        Raises `ConfigError` if the reason is known: the client certificate has expired, or the plugin fails.
        """
        if identity is not self._identity:
            return True
        if self._token_file is not None:
            self._token_file.read_again()
        if self._assemble(await self._plugin.renewed() if self._plugin else None) is not identity:
            return True
        if (expired := self._expired_certificate()) is not None:
            raise expired
        return False

    def explain(self, error: BaseException) -> ConfigError | None:
        """Explains an error of a connection, if TLS was the reason."""
        causes = list(_causes(error))
        for cause in causes:
            if isinstance(cause, ssl.SSLCertVerificationError) and hasattr(cause, "verify_code"):
                return explain_verification(cause, self._config)
        return self._expired_certificate() if any(isinstance(cause, ssl.SSLError) for cause in causes) else None

    async def close(self) -> None:
        """Ends a plugin that is still running."""
        if self._plugin is not None:
            await self._plugin.close()

    def _check(self, credential: ExecCredential) -> None:
        """Raises ConfigError for a credential of the plugin that no request can carry."""
        self._authorization(credential)
        certificate = _plugin_certificate(credential, self._config.credentials)
        if certificate is not None and self._tls is not None:
            certificate.check()

    def _assemble(self, credential: ExecCredential | None) -> Identity:
        context: ssl.SSLContext | bool = True
        if self._tls is not None:
            if credential is not None:
                self._tls.use(_plugin_certificate(credential, self._config.credentials))
            context = self._tls.current()
        headers = (*self._authorization(credential), *self._impersonation)
        identity = self._identity
        if identity is None or identity.headers != headers or identity.ssl is not context:
            identity = self._identity = Identity(headers, context, self._config.tls.server_name)
        self._look_again = self._clock.monotonic() + _LOOK_EVERY if self._changes else math.inf
        return identity

    def _authorization(self, credential: ExecCredential | None) -> tuple[tuple[str, str], ...]:
        credentials = self._config.credentials
        token = credentials.token
        if credential is not None:
            token = credential.token
        elif self._token_file is not None:
            token = self._token_file.token()
        if token:
            return (("Authorization", f"Bearer {_header_value(token, f'the token of {_user_of(credentials)}')}"),)
        if credentials.has_basic:
            pair = f"{credentials.username or ''}:{credentials.password or ''}"
            return (("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"),)
        return ()

    def _expired_certificate(self) -> ConfigError | None:
        certificate = self._tls.certificate if self._tls is not None else None
        if certificate is None:
            return None
        with suppress(ConfigError):
            expiry = certificate_expiry(certificate.read()[0])
            if expiry is not None and expiry <= self._clock.now():
                return ConfigError(
                    f"the client certificate of {certificate.label} expired at {expiry:%Y-%m-%d %H:%M:%S} UTC; "
                    "renew it, or fetch a new kubeconfig"
                )
        return None


class _TokenFile:
    """A token in a file, as in a pod. The token of the configuration is used until the file can be read."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        self._path = credentials.token_file or ""
        self._token = credentials.token
        self._clock = clock
        self._due = -math.inf
        self._problem = ""

    def read_again(self) -> None:
        """Makes the next `token` read the file."""
        self._due = -math.inf

    def token(self) -> str:
        """Returns the token, which is at most 10 seconds old."""
        if self._clock.monotonic() >= self._due:
            self._due = self._clock.monotonic() + _READ_TOKEN_EVERY
            try:
                self._token, self._problem = self._read(), ""
            except ConfigError as error:
                if not self._token:
                    self.read_again()
                    raise
                if str(error) != self._problem:  # logged once, not every ten seconds
                    log.warning("%s; the last known token stays in use", error)
                self._problem = str(error)
        assert self._token is not None
        return self._token

    def _read(self) -> str:
        try:
            with open(self._path, encoding="utf-8") as stream:
                token = stream.read().strip()
        except OSError as error:
            raise ConfigError(f"the token file {self._path} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"the token file {self._path} is not text") from None
        if not token:
            raise ConfigError(f"the token file {self._path} is empty")
        return token


class _Plugin:
    """The credential of an exec plugin. The plugin runs if there is none, if it is about to expire, or on request.

    A credential that `check` rejects with ConfigError is not kept: the plugin may have read a pair that is being
    replaced.
    """

    def __init__(
        self,
        plugin: ExecPlugin,
        config: ClientConfig,
        clock: Clock,
        environ: Mapping[str, str],
        timeout: float,
        check: Callable[[ExecCredential], None],
    ) -> None:
        self._plugin = plugin
        self._config = config
        self._clock = clock
        self._environ = environ
        self._timeout = timeout
        self._check = check
        self._credential: ExecCredential | None = None
        self._margin = timedelta()
        self._not_before = -math.inf
        self._running: asyncio.Task[ExecCredential] | None = None

    async def credential(self) -> ExecCredential:
        """Returns the current credential."""
        credential = self._credential
        if credential is None:
            return await self._run()
        if credential.expires is None or self._clock.now() < credential.expires - self._margin:
            return credential
        if self._clock.now() >= credential.expires:
            return await self._run()
        if self._clock.monotonic() < self._not_before:
            return credential
        try:
            return await self._run()
        except ConfigError as error:
            log.warning("%s; the credential of its last run stays in use until it expires", error)
            self._not_before = self._clock.monotonic() + _RETRY_PLUGIN_AFTER
            return credential

    async def renewed(self) -> ExecCredential:
        """Runs the plugin for a new credential, unless it has just repeated a credential that was rejected."""
        before = self._credential
        if before is not None and self._clock.monotonic() < self._not_before:
            return before
        after = await self._run()
        if before is not None and _secrets(before) == _secrets(after):
            # Whatever the reason for the rejection, running the plugin again for every request would not help.
            self._not_before = self._clock.monotonic() + _RETRY_PLUGIN_AFTER
        return after

    async def close(self) -> None:
        """Cancels the current run."""
        if (running := self._running) is not None:
            running.cancel()
            with suppress(asyncio.CancelledError, ConfigError):
                await running

    async def _run(self) -> ExecCredential:
        if self._running is None:
            self._running = asyncio.ensure_future(self._run_once())
        return await asyncio.shield(self._running)

    async def _run_once(self) -> ExecCredential:
        from kubewright.client.credentials._exec import run_plugin

        try:
            credential = await run_plugin(
                self._plugin, self._config, self._clock, environ=self._environ, timeout=self._timeout
            )
        finally:
            self._running = None
        self._check(credential)
        if credential.expires is not None:
            left = credential.expires - self._clock.now()
            self._margin = min(_MAX_MARGIN, max(left, timedelta()) / 10)
            if left <= timedelta():
                log.warning("the exec plugin %r printed a credential that has already expired", self._plugin.command)
        self._credential, self._not_before = credential, -math.inf
        return credential


def _secrets(credential: ExecCredential) -> tuple[str | None, bytes | None]:
    return (credential.token, credential.certificate)


def _user_of(credentials: Credentials) -> str:
    return f"user {credentials.user!r}" if credentials.user else "the client"


def _client_certificate(credentials: Credentials) -> ClientCertificate | None:
    if not credentials.has_certificate:
        return None
    return ClientCertificate(
        label=f"user {credentials.user!r}" if credentials.user else credentials.certificate_file or "the client",
        certificate_file=credentials.certificate_file,
        certificate_data=credentials.certificate_data,
        key_file=credentials.key_file,
        key_data=credentials.key_data,
    )


def _plugin_certificate(credential: ExecCredential, credentials: Credentials) -> ClientCertificate | None:
    if credential.certificate is None:
        return None
    label = f"{_user_of(credentials)} (from its exec plugin)"
    return ClientCertificate(label, certificate_data=credential.certificate, key_data=credential.key)


def _impersonation_headers(impersonation: Impersonation | None) -> Iterator[tuple[str, str]]:
    if impersonation is None:
        return
    yield "Impersonate-User", _header_value(impersonation.user, "the user to impersonate")
    if impersonation.uid:
        yield "Impersonate-Uid", _header_value(impersonation.uid, "the uid to impersonate")
    for group in impersonation.groups:
        yield "Impersonate-Group", _header_value(group, "a group to impersonate")
    for key, values in impersonation.extra:
        name = "Impersonate-Extra-" + quote(key, safe="!#$&'*+-.^_`|~")
        for value in values:
            yield name, _header_value(value, f"the extra value {key!r} to impersonate")


def _header_value(value: str, what: str) -> str:
    if any(character < " " or character == "\x7f" for character in value):
        raise ConfigError(f"{what} contains a control character, such as a line break, and cannot be sent")
    return value


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yields the error and its causes."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        cause = pending.pop(0)
        if cause is not None and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            pending += [cause.__cause__, cause.__context__]
