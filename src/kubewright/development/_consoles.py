"""`ConsoleBeside`: the web console next to the program, if it is installed."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from kubewright.development._target import TargetCluster
from kubewright.development.messages import ConsoleReady, Hint, Message

if TYPE_CHECKING:
    from kubewright.console import Console, Extension

__all__ = ["ConsoleBeside"]

_MISSING: Final = "a web console is available: pip install 'kubewright[console]'"


class ConsoleBeside:
    """Serves the console of a cluster on this machine while the `async with` block runs.

    Its errors are reported and otherwise ignored. Without a port there is no console.
    """

    def __init__(self, target: TargetCluster, port: int | None, notify: Callable[[Message], None]) -> None:
        self._target = target
        self._port = port
        self._notify = notify
        self._address = ""
        self._extensions: tuple[str, ...] | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def operator_at(self, address: str) -> None:
        """Sets the address of the operator's pages."""
        if address and address != self._address:
            self._address = address
            self._changed.set()

    def extend(self, names: Iterable[str]) -> None:
        """Loads the console's extensions of a new version of the program, as `module:name`."""
        self._extensions = tuple(names)
        self._changed.set()

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
            self._notify(Hint(text=_MISSING))
            return
        try:
            # It takes seconds, in which the cluster must keep answering.
            await asyncio.to_thread(importlib.import_module, "kubewright.console.server")
            from kubewright.console import Console

            console = Console.connect(kubeconfig=self._target.kubeconfig, context=self._target.context)
            async with console, console.serving(port=port) as url:
                self._notify(ConsoleReady(url=f"{url}{console.invitation() if console.local else ''}"))
                await self._follow(console)
        except Exception as error:  # any error: development continues without the console
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self._notify(Hint(text=f"the web console cannot be served: {reason}"))

    async def _follow(self, console: Console) -> None:
        """Lets the console use the operator's current address, and the extensions of its current version."""
        from kubewright.console.operators import Remote, WatchedOperator

        asked: WatchedOperator | None = None
        address = ""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._extensions is not None:
                names, self._extensions = self._extensions, None
                await self._load(console, names)
            if self._address != address:
                address = self._address
                if asked is not None:
                    await console.operators.remove(asked)
                asked = console.operators.add(Remote(address))

    async def _load(self, console: Console, names: Sequence[str]) -> None:
        """Replaces the extensions. A failure is reported, and the earlier ones stay."""
        from kubewright.console.extensions import ExtensionError, check_extensions, load_extension

        def load() -> list[Extension]:
            _forget(names)
            return [load_extension(name) for name in names]

        try:
            console.extensions = check_extensions(await asyncio.to_thread(load))
        except ExtensionError as error:
            self._notify(Hint(text=f"the web console: {error}"))


def _forget(names: Sequence[str]) -> None:
    """Makes the next import of these extensions read the project's files again. Installed packages stay."""
    folder = Path.cwd()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    packages = {name.partition(":")[0].partition(".")[0] for name in names}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in packages and file and Path(file).is_relative_to(folder):
            del sys.modules[name]
    importlib.invalidate_caches()
