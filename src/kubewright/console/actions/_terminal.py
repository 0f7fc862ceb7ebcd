"""`Terminal`: a shell in a container, for one viewer. It draws nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from kubewright.client import ApiError
from kubewright.client.streams import Session
from kubewright.clock import Clock
from kubewright.console.access import Viewer
from kubewright.console.kinds import Kind

__all__ = ["MAX_INPUT_BYTES", "MISSING_VERB", "Terminal", "may_exec"]

MAX_INPUT_BYTES: Final = 65_536
"""Input that the container has not read yet. More is rejected."""
MISSING_VERB: Final = "you need the verb “create” on pods/exec."

_CHECK_SECONDS: Final = 5.0
_MAX_CELLS: Final = 1_000
_OUTPUT_BYTES: Final = 65_536
# The image decides which shell exists. A terminal of the browser is compatible with this TERM.
_SHELL: Final = ("sh", "-c", "TERM=xterm-256color; export TERM; command -v bash >/dev/null 2>&1 && exec bash; exec sh")


async def may_exec(viewer: Viewer, pods: Kind, namespace: str, pod: str) -> bool:
    """Whether the viewer may open a shell in this pod. Never in a read-only console."""
    return await viewer.may("create", pods, namespace, pod, "exec")


class Terminal:
    """A shell in a container, with the viewer's own credentials.

    It ends with the shell, when `run` is canceled, and within 15 seconds after the viewer has lost the permission.
    Output is read no faster than `show` returns. Input is bounded.
    """

    def __init__(
        self,
        viewer: Viewer,
        pods: Kind,
        namespace: str,
        pod: str,
        container: str,
        *,
        show: Callable[[bytes], Awaitable[object]],
        record: Callable[[str], None],
        clock: Clock,
    ) -> None:
        """Takes the viewer and the container, a function that shows output, and one that records whether the shell
        was opened: `ok`, or the name of the error.
        """
        self._viewer = viewer
        self._pods = pods
        self._place = (namespace, pod)
        self._container = container
        self._show = show
        self._audit = record
        self._clock = clock
        self._input = bytearray()
        self._size: tuple[int, int] | None = None
        self._given = asyncio.Event()

    def write(self, text: object) -> bool:
        """Sends input to the shell. Returns False, and sends nothing, if it is not a string or too long."""
        if not isinstance(text, str) or len(text) > MAX_INPUT_BYTES:
            return False
        data = text.encode(errors="replace")
        if len(self._input) + len(data) > MAX_INPUT_BYTES:
            return False
        self._input += data
        self._given.set()
        return True

    def resize(self, columns: object, rows: object) -> None:
        """Sets the size of the terminal. Ignores values that are not a size."""
        if all(type(one) is int and 0 < one <= _MAX_CELLS for one in (columns, rows)):
            self._size = columns, rows  # type: ignore[assignment]  # checked above
            self._given.set()

    async def run(self) -> str:
        """Runs the shell until it ends. Returns why it ended, as a sentence for the user."""
        namespace, pod = self._place
        if not await may_exec(self._viewer, self._pods, namespace, pod):
            return f"You may not open a terminal: {MISSING_VERB}"
        opening = self._viewer.client.exec(pod, _SHELL, namespace, container=self._container, stdin=True, tty=True)
        opened = False
        try:
            async with opening as session:
                opened = True
                self._audit("ok")
                return await self._first_result(self._read(session), self._feed(session), self._watch_permission())
        except (ApiError, OSError) as error:
            if not opened:
                self._audit(type(error).__name__)
            reason = error.status.message if isinstance(error, ApiError) else ""
            return f"The terminal ended: {reason or error}"

    @staticmethod
    async def _first_result(*works: Awaitable[str]) -> str:
        """Returns the result of the first that ends, and cancels the others."""
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next(task for task in tasks if task in done).result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self, session: Session) -> str:
        async for output in session:
            for start in range(0, len(output.data), _OUTPUT_BYTES):
                await self._show(output.data[start : start + _OUTPUT_BYTES])
        return f"The shell ended with exit code {session.exit_code}."

    async def _feed(self, session: Session) -> str:
        sent: tuple[int, int] | None = None
        while True:
            await self._given.wait()
            self._given.clear()
            if self._size is not None and self._size != sent:
                sent = self._size
                await session.resize(*sent)
            while self._input:
                data = bytes(self._input)
                await session.write(data)
                del self._input[: len(data)]  # only now, so that unread input counts

    async def _watch_permission(self) -> str:
        while True:
            await self._clock.sleep(_CHECK_SECONDS)
            try:
                if not await may_exec(self._viewer, self._pods, *self._place):
                    return f"The terminal was closed: {MISSING_VERB}"
            except (ApiError, OSError):
                continue  # unknown; a broken connection ends the shell
