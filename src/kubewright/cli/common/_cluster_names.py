"""Names in the cluster, for shell completion: namespaces, kinds, and objects of a kind.

A completion that waits or fails is worse than none. The cluster has one second, whatever it waits for: name resolution,
a credential plugin, or a server that hangs. Plugins never ask the user for anything.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

if TYPE_CHECKING:
    from kubewright.client import Client, ServedResource

__all__ = ["LIMIT_SECONDS", "kinds_in_cluster", "namespaces_in_cluster", "objects_in_cluster"]

LIMIT_SECONDS: Final = 1.0
_EXIT_SECONDS: Final = 0.2
_MAX_NAMES: Final = 500
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:-]{0,252}")


def namespaces_in_cluster(ctx: click.Context) -> Iterable[str]:
    """Returns the namespaces; none if the cluster does not answer in time."""

    async def ask(client: Client) -> list[str]:
        return await _names(client, "/api/v1/namespaces")

    return _asked(ctx, ask)


def kinds_in_cluster(ctx: click.Context) -> Iterable[str]:
    """Returns the kinds that can be listed."""

    async def ask(client: Client) -> list[str]:
        return [one.info.kind for one in await client.discovery.resources() if "list" in one.verbs]

    return _asked(ctx, ask)


def objects_in_cluster(ctx: click.Context, kind: str) -> Iterable[str]:
    """Returns the names of the objects of a kind, in the namespace of the command."""

    async def ask(client: Client) -> list[str]:
        for one in await client.discovery.resources():
            if "list" in one.verbs and kind.lower() in _spellings(one):
                namespace = quote(ctx.params.get("namespace") or client.namespace, safe="")
                within = f"/namespaces/{namespace}" if one.info.namespaced else ""
                return await _names(client, f"{one.info.path}{within}/{one.info.plural}")
        return []

    return _asked(ctx, ask)


def _spellings(resource: ServedResource) -> set[str]:
    return {resource.info.kind.lower(), resource.info.plural, *resource.short_names}


async def _names(client: Client, path: str) -> list[str]:
    import msgspec

    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    answer = msgspec.json.decode(await client.request("GET", path, query={"limit": str(_MAX_NAMES)}, accept=accept))
    return [item["metadata"]["name"] for item in answer["items"]]


def _asked(ctx: click.Context, ask: Callable[[Client], Awaitable[list[str]]]) -> list[str]:
    """Asks the cluster of the command line, in a thread that is left behind when the time is over."""
    answer: Future[list[str]] = Future()

    def work() -> None:
        try:
            answer.set_result(asyncio.run(_connected(ctx.params, ask)))
        except BaseException as error:
            answer.set_exception(error)

    Thread(target=work, name="completion", daemon=True).start()
    try:
        found = answer.result(LIMIT_SECONDS)
    except TimeoutError:
        _exit_soon()
        return []
    # A hostile server must not write to the terminal.
    return [name for name in found if _NAME.fullmatch(name)]


async def _connected(params: dict[str, Any], ask: Callable[[Client], Awaitable[list[str]]]) -> list[str]:
    from msgspec.structs import replace

    from kubewright.client import Client, RetryPolicy, load_config

    config = load_config(kubeconfig=params.get("kubeconfig"), context=params.get("context"))
    if config.credentials.exec is not None:
        plugin = replace(config.credentials.exec, interactive_mode="Never")
        config = replace(config, credentials=replace(config.credentials, exec=plugin))
    async with (
        asyncio.timeout(LIMIT_SECONDS),
        Client(config, retry=RetryPolicy(attempts=1), timeout=LIMIT_SECONDS) as client,
    ):
        return await ask(client)


def _exit_soon() -> None:
    """Ends the process soon: Python would wait for threads that resolve names. The completions are printed before."""

    def leave() -> None:
        Event().wait(_EXIT_SECONDS)
        os._exit(0)

    Thread(target=leave, name="completion is over", daemon=True).start()
