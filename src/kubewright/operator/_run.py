"""`operator.run()`: an operator as a program, with its event loop, its log and its signals."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kubewright.client import Client, Forbidden, load_config
from kubewright.controller._controller import THREADS

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator
    from kubewright.operator._running import Running

__all__ = ["run"]

logger = logging.getLogger("kubewright.operator")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LAST_SECONDS = 1.0


def run(
    operator: Operator,
    *,
    kubeconfig: str | os.PathLike[str] | None,
    context: str | None,
    server: str | None,
) -> None:
    """Run until a signal."""
    show_log()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_main(operator, kubeconfig, context, server))
    _leave_threads_behind()


def _leave_threads_behind() -> None:
    """End the process although a plain reconciler does not: Python itself would wait for its thread for ever."""
    for thread in threading.enumerate():
        if not thread.name.startswith(THREADS):
            continue
        thread.join(_LAST_SECONDS)
        if thread.is_alive():
            logger.error("%s does not end; leaving without it", thread.name)
            logging.shutdown()
            os._exit(1)


def show_log() -> None:
    """Write the log to standard error, unless the program has arranged for its log itself."""
    if not logging.getLogger().handlers:
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-7s %(message)s")


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every platform
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _main(
    operator: Operator, kubeconfig: str | os.PathLike[str] | None, context: str | None, server: str | None
) -> None:
    stopping = _Signals()
    config = load_config(kubeconfig=kubeconfig, context=context, server=server)
    async with Client(config, clock=operator.clock, rng=operator.rng) as client:
        await _reach(client)
        running = operator.running(client, install_crds=False)
        with stopping.listening(running):
            # A signal while the caches fill must not have to wait for them.
            start = asyncio.ensure_future(running.__aenter__())
            either: list[asyncio.Future[Any]] = [start, stopping.first]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not start.done():
                start.cancel()
                await asyncio.wait([start])
                return
            await start
            gc.freeze()  # the caches stay: to walk 10,000 objects at each full collection stalls everything for 30 ms
            try:
                await stopping.first
            finally:
                await running.__aexit__(None, None, None)


async def _reach(client: Client) -> None:
    """Fail at once, and in one sentence, where no cache could ever fill: bad credentials, something else's address."""
    with contextlib.suppress(Forbidden):  # whoever may not ask for the version may still do the work
        await client.server_version()


class _Signals:
    """The first signal asks to stop, the second to stop at once."""

    def __init__(self) -> None:
        self.first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running: Running | None = None

    def listening(self, running: Running) -> _Listening:
        """Hear the signals for the length of a block."""
        self._running = running
        return _Listening(self._heard)

    def _heard(self, name: str) -> None:
        if not self.first.done():
            logger.info("%s: stopping; running reconciles may finish, once more stops at once", name)
            self.first.set_result(None)
        elif self._running is not None:
            logger.warning("%s: stopping at once", name)
            self._running.stop_now()


class _Listening:
    def __init__(self, heard: Callable[[str], None]) -> None:
        self._heard = heard

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._heard, number.name)

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
