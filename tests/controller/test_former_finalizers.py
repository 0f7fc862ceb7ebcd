"""Warnings about finalizers that nothing removes any more, without a server."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import pytest

from kubewright.cache import ObjectKey
from kubewright.clock import VirtualClock
from kubewright.controller import Context
from kubewright.operator import Operator
from tests.controller.conftest import Part, Thing, thing, working

GOING = datetime(2030, 1, 1, tzinfo=UTC)  # when the clock begins


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


def waiting(*finalizers: str, size: int = 0) -> Thing:
    return thing(size=size, finalizers=list(finalizers), deletion_timestamp=GOING)


async def test_warns_once_about_a_former_finalizer(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with working(operator, clock) as stage:
        stage.put(waiting("example.com/old-name"))
        await clock.advance(3600)
        stage.put(waiting("example.com/old-name", size=2))
        await clock.advance(3600)
    assert warnings(caplog) == [
        "Thing default/one: being deleted for more than ten minutes, waiting for the finalizer example.com/old-name,"
        " which no controller of this operator handles. If it belongs to another operator, check that one. If it is the"
        " former name of one of this operator's finalizers, nothing removes it: register its handler with"
        " finalizes(Thing, name='example.com/old-name'), or remove it manually"
    ]


async def test_warns_after_ten_minutes_without_other_changes(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    quiet, triggers = Operator("quiet-operator"), list[str]()

    @quiet.reconciles(Thing)
    async def sync(key: ObjectKey, ctx: Context[Thing]) -> None:
        triggers.append(ctx.trigger)

    @quiet.finalizes(Part, name="example.com/part")
    async def clean_part(obj: Part, ctx: Context[Part]) -> None: ...

    async with working(quiet, clock) as stage:
        await clock.advance(60)
        stage.put(waiting("example.com/old-name"))
        await clock.advance(100)
        stage.put(waiting("example.com/old-name", size=2))
        await clock.advance(439)
        assert warnings(caplog) == []
        await clock.advance(1)
        assert len(warnings(caplog)) == 1
        await clock.advance(3600)
    assert triggers == ["added", "updated", "requeue"]
    assert len(warnings(caplog)) == 1


async def test_does_not_warn_about_a_finalizer_that_another_operator_removes(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with working(operator, clock) as stage:
        stage.put(waiting("example.com/other-operator", "example.org/slow"))
        await clock.advance(599)
        stage.put(waiting("example.org/slow"))
        await clock.advance(3600)
    assert warnings(caplog) == []


@pytest.mark.parametrize(
    "kept",
    [
        thing(finalizers=["example.com/thing-operator", "example.com/old-name"]),
        waiting("example.com/part"),
        waiting("example.org/theirs"),
        waiting("foregroundDeletion"),
    ],
    ids=["not in deletion", "another controller's", "of another domain", "of no domain"],
)
async def test_does_not_warn_about_other_finalizers(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture, kept: Thing
) -> None:
    async with working(operator, clock) as stage:
        stage.put(kept)
        await clock.advance(3600)
    assert warnings(caplog) == []
