"""Local processes: nothing stays open if their start is canceled."""

from __future__ import annotations

import asyncio
import os
from typing import Any, NoReturn

import pytest

from kubewright.kubelet import LocalProcess
from tests.patience import until

_TURNS = 12  # of the event loop: more than a start takes


@pytest.mark.parametrize("options", [{}, {"stdin": True}, {"tty": True}], ids=["pipes", "stdin", "terminal"])
async def test_canceled_start_leaves_nothing_open(options: dict[str, Any]) -> None:
    before, reached = open_descriptors(), asyncio.Event()

    async def never(*_: Any, **__: Any) -> NoReturn:
        reached.set()
        await asyncio.Event().wait()
        raise AssertionError

    for turns in range(_TURNS):
        starting = asyncio.ensure_future(LocalProcess.start(["true"], environment={}, spawn=never, **options))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await until(lambda: open_descriptors() == before, f"the end of a start that was canceled after {turns} turns")
    assert reached.is_set()


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))
