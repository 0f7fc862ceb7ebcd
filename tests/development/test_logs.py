"""Warnings of the parts that run in the process of `dev`."""

from __future__ import annotations

import asyncio
import logging

import pytest

from kubewright.development import shown_logs
from kubewright.development.messages import Logged


async def heard(*records: tuple[int, str]) -> list[Logged]:
    found: list[Logged] = []
    with shown_logs(found.append):
        for level, text in records:
            await asyncio.to_thread(logging.getLogger("kubewright.cluster").log, level, text)
        await asyncio.sleep(0)
    logging.getLogger("kubewright.cluster").warning("after the block")
    await asyncio.sleep(0)
    return found


async def test_reports_warnings_of_any_thread() -> None:
    assert await heard((logging.INFO, "nothing"), (logging.WARNING, "slow")) == [
        Logged(level="warning", logger="kubewright.cluster", message="slow")
    ]


async def test_writes_nothing_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    found: list[Logged] = []
    with shown_logs(found.append):
        try:
            raise ValueError("broken")
        except ValueError:
            logging.getLogger("kubewright.cluster").exception("failed")
        await asyncio.sleep(0)
    assert (found[0].level, found[0].traceback.splitlines()[-1]) == ("error", "ValueError: broken")
    assert capfd.readouterr().err == ""
