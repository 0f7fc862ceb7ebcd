"""`attach_console`: an operator serves a console of its own kinds."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kubewright.api import ResourceInfo, info_of
from kubewright.client import Client
from kubewright.console._console import Console
from kubewright.console.objects import with_dependents
from kubewright.console.operators import InProcess
from kubewright.operator import Operator, Running, SettingError

__all__ = ["attach_console", "kinds_of_operator"]

logger = logging.getLogger("kubewright.console")


def attach_console(
    operator: Operator,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    read_only: bool = False,
    announce: Callable[[str], Any] = print,
    **serving: Any,
) -> None:
    """Let the operator serve a console, from the moment when its caches are in sync until it stops.

    It shows the kinds that the operator reconciles, watches and owns, what Kubernetes makes of those, and their events;
    with the rights that the operator has, and to everybody only what he may see. As anywhere, there is one console in a
    process.

    Args:
        operator: whose kinds.
        host: where to listen.
        port: a free one unless given.
        read_only: refuse every write.
        announce: called with the address; it lets whoever sees it in, so it is printed and not logged.
        serving: what else `Console.serving` takes.
    """

    @asynccontextmanager
    async def component(running: Running) -> AsyncIterator[None]:
        console = Console(
            _client(running),
            read_only=read_only,
            only=kinds_of_operator(operator),
            namespaces=running.settings.namespaces,
            operators=[InProcess(running)],
        )
        async with console:
            try:
                served = console.serving(host, port, **serving)
                url = await served.__aenter__()
            except OSError as error:
                raise SettingError(f"the console {error.strerror}") from None
            try:
                logger.info("the console is at %s", url)
                announce(url + console.invitation() if console.local else url)
                yield
            finally:
                await served.__aexit__(None, None, None)

    operator.attach(component)


def _client(running: Running) -> Client:
    """A client like the operator's. Not its own: that writes only while the replica leads, which people need not."""
    config = running.client.config
    return running.client.through(lambda transport: transport) if config is None else Client(config)


def kinds_of_operator(operator: Operator) -> set[str]:
    """The paths of the kinds that belong to an operator."""
    infos: set[ResourceInfo] = set()
    for registration in operator.registrations():
        infos.add(registration.info)
        infos.update(info_of(owned.kind) for owned in registration.owns)
        infos.update(info_of(watched.kind) for watched in registration.watches)
        infos.update(info_of(kind) for kind in registration.reads)
    paths = {f"{info.group or 'core'}/{info.plural}" for info in infos}
    return set(with_dependents(paths))
