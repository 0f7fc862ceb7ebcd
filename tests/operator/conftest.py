"""Foo, its definition on the server, and ways to wait for what an operator does."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pytest
import yaml

from kubewright.api.apiextensions.v1 import CustomResourceDefinition
from kubewright.api import from_dict, is_condition_true
from kubewright.client import AlreadyExists, Client

T = TypeVar("T")

EXAMPLE = Path(__file__).parents[2] / "examples" / "foo"


@pytest.fixture
def example() -> Iterator[ModuleType]:
    """The example, loaded anew for each test: its operator belongs to the test."""
    spec = importlib.util.spec_from_file_location("foo_example", EXAMPLE / "foo.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["foo_example"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["foo_example"]


@pytest.fixture
async def foo_definition(client: Client) -> AsyncIterator[None]:
    """The CRD of the example, established."""
    await install(client, yaml.safe_load((EXAMPLE / "foo-crd.yaml").read_text()))
    yield


async def install(client: Client, definition: dict[str, Any]) -> None:
    """Install a definition and wait until the server serves it."""
    wanted = from_dict(CustomResourceDefinition, definition)
    try:
        await client.create(wanted)
    except AlreadyExists:
        return
    async for event in client.watch(CustomResourceDefinition, fields=f"metadata.name={wanted.metadata.name}"):
        if event.object is not None and is_condition_true(event.object.status, "Established"):
            return


async def until(check: Callable[[], Awaitable[T]], seconds: float = 30.0) -> T:
    """Ask again until the answer is true. The limit only keeps a broken test from hanging."""
    async with asyncio.timeout(seconds):
        while True:
            if answer := await check():
                return answer
            await asyncio.sleep(0.02)
