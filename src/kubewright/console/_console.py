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
    """The console of a cluster. Use it with `async with`. A process can have only one."""

    @classmethod
    def connect(
        cls, *, kubeconfig: str | os.PathLike[str] | None = None, context: str | None = None, **settings: Any
    ) -> Self:
        """A console of the cluster that `load_config` finds. The settings are those of `Console`.

        Whoever started it may choose another context of the same kubeconfig on the pages.
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
        """Serve the pages, in this event loop, until the block ends. Gives the address.

        Args:
            host: where to listen. Anything but loopback must be asked for, and then nobody is invited: everybody signs
                in with a token.
            port: a free one unless given.
            urls: addresses under which it is reached, besides those of this machine: `https://console.example.com`.
            certificate: a file in PEM format, to serve by TLS.
            key: the file of its key.
            trusted_proxies: addresses and networks (`10.0.0.0/8`) of reverse proxies. Requests from there are counted
                by the client that their `X-Forwarded-For` names, when failed sign-ins are throttled.
        """
        # NiceGUI takes seconds to import, in which an operator in this event loop must go on.
        await asyncio.to_thread(importlib.import_module, "kubewright.console.server")
        from kubewright.console.server import serve

        self.local = self.local and is_loopback(host)
        async with serve(
            self, host, port, urls=urls, certificate=certificate, key=key, trusted_proxies=trusted_proxies
        ) as url:
            yield url
