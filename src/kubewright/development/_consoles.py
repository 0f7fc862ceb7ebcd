"""The web console beside the program, where it is installed."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kubewright.development._messages import ConsoleReady, Hint, Message
from kubewright.development._place import Place

__all__ = ["console_at"]

_MISSING = "there is a web console for this: pip install 'kubewright[console]'"


@asynccontextmanager
async def console_at(place: Place, port: int | None, tell: Callable[[Message], None]) -> AsyncIterator[None]:
    """Serve the console of that cluster on this machine, from soon on until the block ends.

    It never disturbs: whatever is wrong with it is told, and the block goes on.
    """
    task = None if port is None else asyncio.create_task(_serve(place, port, tell), name="console")
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def _serve(place: Place, port: int, tell: Callable[[Message], None]) -> None:
    if importlib.util.find_spec("nicegui") is None:
        tell(Hint(text=_MISSING))
        return
    try:
        # It takes seconds, in which the cluster must go on answering.
        await asyncio.to_thread(importlib.import_module, "kubewright.console._server")
        from kubewright.console import Console

        console = Console.connect(kubeconfig=place.kubeconfig, context=place.context)
        async with console, console.serving(port=port) as url:
            tell(ConsoleReady(url=url))
            await asyncio.Event().wait()
    except Exception as error:  # whatever it is: the program can be developed without it
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        tell(Hint(text=f"the web console cannot be served: {reason}"))
