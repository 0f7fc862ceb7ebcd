"""`Console`: the backend with a web server."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any, Self

from kubewright.client import Client, load_config
from kubewright.console._backend import Backend, is_loopback
from kubewright.console._contexts import Contexts

__all__ = ["Console"]


class Console(Backend):
    """The web console of a cluster. Use it with `async with`. A process can serve only one console."""

    @classmethod
    def connect(
        cls, *, kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None, **settings: Any
    ) -> Self:
        """Creates a console for the cluster that `load_config` finds. The settings are those of `Console`.

        The user who starts it can switch to other contexts of the same kubeconfig on the pages.
        """
        config = load_config(kubeconfig=kubeconfig, context=context)
        console = cls(Client(config), **{"name": config.context or "", **settings})
        if config.context is not None and console.local:
            console.contexts = Contexts(kubeconfig, config.context, console.for_context)
        return console

    @asynccontextmanager
    async def serving(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        urls: Collection[str] = (),
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        trusted_proxies: Collection[str] = (),
    ) -> AsyncIterator[str]:
        """Serves the pages in this event loop until the block ends. Yields the URL.

        Args:
            host: the address to listen on. With anything but loopback there are no invitations: every user signs in
                with a token.
            port: the port to listen on. Default: a free port.
            urls: external URLs of the console, in addition to loopback: `https://console.example.com`.
            certificate: a PEM file with the TLS certificate. Default: plain HTTP.
            key: the PEM file with the certificate's private key.
            trusted_proxies: addresses and networks (`10.0.0.0/8`) of reverse proxies. The throttle of failed sign-ins
                uses the client address that they report in `X-Forwarded-For`.
        """
        # Importing NiceGUI takes seconds and would block an operator in this event loop.
        await asyncio.to_thread(importlib.import_module, "kubewright.console.server")
        from kubewright.console.server import serve

        self.local = self.local and is_loopback(host)
        async with serve(
            self, host, port, urls=urls, certificate=certificate, key=key, trusted_proxies=trusted_proxies
        ) as url:
            yield url
