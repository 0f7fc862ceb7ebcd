"""`attach_console`: serves a console for an operator's own kinds, from the operator's process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from kubewright.api import ResourceInfo, info_of
from kubewright.client import Client
from kubewright.console._console import Console
from kubewright.console.extensions import Extension, ExtensionError, check_extensions, load_extension
from kubewright.console.objects import with_dependents
from kubewright.console.oidc import OIDC
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
    extensions: Sequence[Extension | str] = (),
    oidc: OIDC | None = None,
    announce: Callable[[str], Any] = print,
    **serving: Any,
) -> None:
    """Makes the operator serve a console from the moment its caches are in sync until it stops.

    The console shows the kinds that the operator reconciles, watches and owns, the objects that Kubernetes creates for
    those, and their events. It reads with the operator's permissions, and shows each viewer only what that viewer may
    see. A process can serve only one console.

    Args:
        operator: the operator whose kinds are shown.
        host: the address to listen on.
        port: the port to listen on. Default: a free port.
        read_only: reject every write.
        extensions: pages and actions, as values or as names (`fleet.ui:fleet`), in addition to those that the operator
            declares with `extend_console`. They are imported when the console starts.
        oidc: the OpenID Connect provider with which users can sign in, in addition to tokens.
        announce: called with the URL. The URL signs in its first user, so print it and do not log it.
        serving: further arguments of `Console.serving`.
    """

    @asynccontextmanager
    async def component(running: Running) -> AsyncIterator[None]:
        try:
            # Their modules import NiceGUI, which takes seconds.
            targets = [*operator.console_extensions, *extensions]
            found = check_extensions(await asyncio.to_thread(lambda: [load_extension(one) for one in targets]))
        except ExtensionError as error:
            raise SettingError(f"the console: {error}") from error
        console = Console(
            _client(running),
            extensions=found,
            oidc=oidc,
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
                logger.info("the console is served at %s", url)
                announce(url + console.invitation() if console.local else url)
                yield
            finally:
                await served.__aexit__(None, None, None)

    operator.attach(component)


def _client(running: Running) -> Client:
    """Returns a client like the operator's. The operator's own client writes only while the replica leads; users may
    always write.
    """
    config = running.client.config
    return running.client.through(lambda transport: transport) if config is None else Client(config)


def kinds_of_operator(operator: Operator) -> set[str]:
    """Returns the paths of the kinds that belong to an operator."""
    infos: set[ResourceInfo] = set()
    for registration in operator.registrations():
        infos.update(info_of(use.kind) for use in registration.caches)
    paths = {f"{info.group or 'core'}/{info.plural}" for info in infos}
    return set(with_dependents(paths))
