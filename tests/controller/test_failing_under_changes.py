"""A key that fails while other clients change its object: its backoff limits the rate."""

from __future__ import annotations

import pytest

from kubewright.clock import VirtualClock
from kubewright.controller import Context
from kubewright.operator import Operator
from tests.controller.conftest import Thing, thing, working


@pytest.mark.promise("How a reconcile ends", "An exception: backoff from 5 ms, and a full line in the log.")
async def test_changes_during_failing_reconciles_do_not_bypass_the_backoff(
    operator: Operator, clock: VirtualClock
) -> None:
    attempts = 0

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 50:
            changed = thing()
            changed.status.ready = attempts
            stage.put(changed)  # another client writes the status during each attempt
        raise ConnectionError("another system is away")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
        assert attempts <= 2, "one retry may be early"
        await clock.advance(60)
        assert attempts > 2, "it is retried"
