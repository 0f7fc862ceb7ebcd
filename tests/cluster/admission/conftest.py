"""A webhook server for the tests of admission."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from tests.cluster.admission.hooks import HookServer


@pytest_asyncio.fixture
async def hooks(tmp_path: Path) -> AsyncIterator[HookServer]:
    async with HookServer(tmp_path) as server:
        yield server
