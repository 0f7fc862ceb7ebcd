"""`ConsoleBeside`: the web console next to the program, if it is installed."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from kubewright.development._place import Place
from kubewright.development.messages import ConsoleReady, Hint, Message

if TYPE_CHECKING:
    from kubewright.console import Console

__all__ = ["ConsoleBeside"]

_MISSING: Final = "a web console is available: pip install 'kubewright[console]'"


class ConsoleBeside:
    """Serves the console of a cluster on this machine while the `async with` block runs.

    Its errors are reported and otherwise ignored. Without a port there is no console.
    """

    def __init__(self, place: Place, port: int | None, tell: Callable[[Message], None]) -> None:
        self._place = place
        self._port = port
        self._tell = tell
        self._address = ""
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def operator_at(self, address: str) -> None:
        """Sets the address of the operator's pages."""
        if address and address != self._address:
            self._address = address
            self._moved.set()

    async def __aenter__(self) -> Self:
        if self._port is not None:
            self._task = asyncio.create_task(self._serve(self._port), name="console")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _serve(self, port: int) -> None:
        if importlib.util.find_spec("nicegui") is None:
            self._tell(Hint(text=_MISSING))
            return
        try:
            # It takes seconds, in which the cluster must keep answering.
            await asyncio.to_thread(importlib.import_module, "kubewright.console.server")
            from kubewright.console import Console

            console = Console.connect(kubeconfig=self._place.kubeconfig, context=self._place.context)
            async with console, console.serving(port=port) as url:
                self._tell(ConsoleReady(url=f"{url}{console.invitation() if console.local else ''}"))
                await self._follow(console)
        except Exception as error:  # any error: development continues without the console
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self._tell(Hint(text=f"the web console cannot be served: {reason}"))

    async def _follow(self, console: Console) -> None:
        """Lets the console use the operator's current address."""
        from kubewright.console.operators import Remote, WatchedOperator

        asked: WatchedOperator | None = None
        while True:
            await self._moved.wait()
            self._moved.clear()
            if asked is not None:
                await console.operators.remove(asked)
            asked = console.operators.add(Remote(self._address))
