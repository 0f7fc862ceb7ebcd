"""What is told of finalizers that nobody takes off any more: without a server, so nothing can be taken off."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from kubewright.clock import VirtualClock
from kubewright.controller import Context
from kubewright.operator import Operator
from tests.controller.conftest import Part, Thing, thing, working

GOING = datetime(2030, 1, 31, tzinfo=UTC)


@pytest.fixture(autouse=True)
def handlers(operator: Operator) -> None:
    @operator.reconciles(Thing, resync=60)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None: ...

    @operator.finalizes(Thing)
    async def clean(obj: Thing, ctx: Context[Thing]) -> None: ...

    @operator.finalizes(Part, name="example.com/part")
    async def clean_part(obj: Part, ctx: Context[Part]) -> None: ...


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


async def test_a_finalizer_of_a_former_name_is_told_once_and_left(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with working(operator, clock) as stage:
        stage.put(thing(finalizers=["example.com/old-name"], deletion_timestamp=GOING))
        await clock.advance(3600)
        stage.put(thing(size=2, finalizers=["example.com/old-name"], deletion_timestamp=GOING))
        await clock.advance(3600)
    assert warnings(caplog) == [
        "Thing default/one: being deleted, it waits for the finalizer example.com/old-name, which no controller of this"
        " operator calls. If it is the former name of one, nobody takes it off: register what it stands for, with"
        " finalizes(Thing, name='example.com/old-name'), or take it off by hand"
    ]


@pytest.mark.parametrize(
    "kept",
    [
        thing(finalizers=["example.com/thing-operator", "example.com/old-name"]),
        thing(finalizers=["example.com/part"], deletion_timestamp=GOING),
        thing(finalizers=["example.org/theirs"], deletion_timestamp=GOING),
        thing(finalizers=["foregroundDeletion"], deletion_timestamp=GOING),
    ],
    ids=["not in deletion", "another controller's", "of another domain", "of no domain"],
)
async def test_other_finalizers_are_not_told(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, kept: Thing
) -> None:
    async with working(operator, clock) as stage:
        stage.put(kept)
        await clock.settle()
    assert warnings(caplog) == []
