"""The contexts of a kubeconfig: one backend for each context that the local user opens.

The context is part of the URL path, so a link identifies its cluster and two tabs can show two clusters:
`/contexts/kind-dev/kinds/core/pods`. A path without a context refers to the cluster that the console was started for.
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
"""The prefix of paths that name a context."""


def context_prefix(context: str) -> str:
    """Returns the prefix of all paths in a context; "" for the default context."""
    return CONTEXTS + quote(context, safe="") if context else ""


def context_of(prefix: str) -> str:
    """Returns the context of a prefix made by `context_prefix`."""
    return unquote(prefix.removeprefix(CONTEXTS))


class Contexts(Generic[T]):
    """The contexts that the local user can choose from. Backends open on first use and close with the default one."""

    def __init__(
        self, kubeconfig: str | os.PathLike[str] | None, default: str, make: Callable[[Client, str], T]
    ) -> None:
        """Takes the context of the existing backend, and a function that creates a backend for another context."""
        self._kubeconfig = kubeconfig
        self.default = default
        self._make = make
        self._opened: dict[str, T] = {}
        self._opening = asyncio.Lock()

    @property
    def names(self) -> Sequence[str]:
        """All contexts, in the order of the file. Reads the file each time, because it can change."""
        try:
            return context_names(self._kubeconfig)
        except ConfigError:
            return [self.default]

    async def open(self, name: str) -> T:
        """Returns the open backend of a context. Raises `ConfigError` if the context does not exist."""
        async with self._opening:
            if name not in self._opened:
                client = Client(load_config(kubeconfig=self._kubeconfig, context=name))
                self._opened[name] = await self._make(client, name).__aenter__()
            return self._opened[name]

    async def close(self) -> None:
        """Closes all opened backends."""
        opened, self._opened = [*self._opened.values()], {}
        for console in opened:
            await console.__aexit__(None, None, None)
