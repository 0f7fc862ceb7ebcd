"""Credentials at work: what each request has to carry, renewed as files change and credentials expire."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from kubewright.client._config import ClientConfig
from kubewright.client._config_errors import ConfigError
from kubewright.clock import Clock

__all__ = ["Authenticator", "Identity"]


@dataclass(frozen=True, slots=True, eq=False)
class Identity:
    """What a request carries. Immutable; the same object for as long as nothing changed.

    `headers` is a tuple of pairs, because a header such as Impersonate-Group may occur several times: give it to
    `multidict.CIMultiDict.extend`. `ssl` goes to aiohttp as it is: a context for https, True for plain http. It is a
    new object exactly when the CA or the client certificate changed, so that the pool opens new connections.
    """

    headers: tuple[tuple[str, str], ...] = field(repr=False)
    ssl: ssl.SSLContext | bool
    server_name: str | None


class Authenticator:
    """Provides the identity for requests."""

    def __init__(
        self,
        config: ClientConfig,
        clock: Clock,
        *,
        environ: Mapping[str, str] | None = None,
        exec_timeout: float = 60.0,
    ) -> None:
        raise NotImplementedError

    async def identity(self) -> Identity:
        """What the next request has to carry."""
        raise NotImplementedError

    async def rejected(self, identity: Identity) -> bool:
        """The server answered 401 to that identity: renew; True when a retry with a new identity may help."""
        raise NotImplementedError

    def explain(self, error: BaseException) -> ConfigError | None:
        """The reason why a connection failed in words, when TLS was the reason."""
        raise NotImplementedError

    async def close(self) -> None:
        """End a plugin that is still running."""
        raise NotImplementedError
