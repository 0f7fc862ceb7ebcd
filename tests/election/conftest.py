"""Virtual time and a cluster in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubewright.clock import VirtualClock
from tests.election.processes import LeaseServer, Process


@pytest.fixture
def time() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def server() -> LeaseServer:
    return LeaseServer()


@pytest.fixture
def process(server: LeaseServer, time: VirtualClock) -> Callable[..., Process]:
    def make(name: str, **options: float) -> Process:
        return Process(name, server, time, **options)

    return make
