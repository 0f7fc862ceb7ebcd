"""The contexts of a kubeconfig: one console for each that somebody chooses.

A context is a part of the address, so that a link names its cluster and two tabs may look at two:
`/contexts/kind-dev/kinds/core/pods`. Without it, an address is about the cluster of the console that was started.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, unquote

from kubewright.client import Client, ConfigError, context_names, load_config

T = TypeVar("T", bound=AbstractAsyncContextManager[Any])

__all__ = ["CONTEXTS", "Contexts", "context_of", "context_prefix"]

CONTEXTS: Final = "/contexts/"
"""What the addresses begin with that name one."""


def context_prefix(context: str) -> str:
    """What all addresses in a context begin with; "" for none."""
    return CONTEXTS + quote(context, safe="") if context else ""


def context_of(prefix: str) -> str:
    """The context of what `context_prefix` gives."""
    return unquote(prefix.removeprefix(CONTEXTS))


class Contexts(Generic[T]):
    """What whoever started the console may choose from. Consoles are opened on first use, and closed with the first."""

    def __init__(
        self, kubeconfig: str | os.PathLike[str] | None, default: str, make: Callable[[Client, str], T]
    ) -> None:
        """`first` is the context of the console that there is already; `make` makes one for another."""
        self._kubeconfig = kubeconfig
        self.default = default
        self._make = make
        self._opened: dict[str, T] = {}
        self._opening = asyncio.Lock()

    @property
    def names(self) -> Sequence[str]:
        """All contexts, in the order of the file; read each time, since files change."""
        try:
            return context_names(self._kubeconfig)
        except ConfigError:
            return [self.default]

    async def open(self, name: str) -> T:
        """The console of a context. Raises `ConfigError` when there is no such context."""
        async with self._opening:
            if name not in self._opened:
                client = Client(load_config(kubeconfig=self._kubeconfig, context=name))
                self._opened[name] = await self._make(client, name).__aenter__()
            return self._opened[name]

    async def close(self) -> None:
        """Close those that were opened."""
        opened, self._opened = [*self._opened.values()], {}
        for console in opened:
            await console.__aexit__(None, None, None)
