"""Virtual time and a cluster in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubewright.clock import VirtualClock
from tests.election.memory_cluster import Process, Server


@pytest.fixture
def time() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def process(server: Server, time: VirtualClock) -> Callable[..., Process]:
    def make(name: str, **options: float) -> Process:
        return Process(name, server, time, **options)

    return make
