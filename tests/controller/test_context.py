"""What the context gives without a server: its logger and its clock."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from kubewright import resource
from kubewright.api import Model, Object, ObjectMeta, Resource, core
from kubewright.clock import VirtualClock
from kubewright.controller import Context
from kubewright.operator import Operator
from tests.controller.conftest import Thing, thing, working


@resource("example.com/v1", scope="Cluster")
class Realm(Resource[Model, None]):
    """What is in no namespace."""


@pytest.mark.promise("What a reconciler works with", "The logger is bound to the object.")
async def test_the_logger_is_bound_to_the_object(
    operator: Operator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        ctx.log.warning("%d %% of %s", 50, "all")

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
    [record] = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.getMessage() == "Thing default/one: 50 % of all"
    fields = record.__dict__
    assert (fields["controller"], fields["kind"], fields["object"]) == ("thing", "Thing", "default/one")


@pytest.mark.promise("What a reconciler works with", "The clock is the operator's.")
async def test_the_clock_is_the_one_that_the_operator_was_given(operator: Operator, clock: VirtualClock) -> None:
    clocks: list[object] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        clocks.append(ctx.clock)

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
    assert clocks == [clock]


async def test_a_traceback_does_not_show_the_content_of_a_context(operator: Operator, clock: VirtualClock) -> None:
    shown: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        backend = ctx._backend
        shown.extend([backend.raw.decode(), repr(ctx), repr(backend), repr(backend.__rich_repr__())])

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
    content, *others = shown
    assert "resourceVersion" in content
    assert not [text for text in others if "resourceVersion" in text]
    assert shown[2] == "<ContextBackend of Thing default/one>"


async def test_every_write_rejects_a_value_that_is_not_an_object(operator: Operator, clock: VirtualClock) -> None:
    messages: list[str] = []

    @operator.reconciles(Thing)
    async def sync(obj: Thing, ctx: Context[Thing]) -> None:
        unchecked: Any = ctx
        attempts = [
            unchecked.apply(Thing),
            unchecked.create([obj]),
            unchecked.update(Thing),
            unchecked.delete("one"),
            unchecked.prune([Thing], keep=["one"]),
        ]
        for attempt in attempts:
            with pytest.raises(TypeError) as caught:
                await attempt
            messages.append(str(caught.value))

    async with working(operator, clock) as stage:
        stage.put(thing())
        await clock.settled()
    expected = "expected an object, such as core.ConfigMap(...), not "
    assert messages == [
        expected + given for given in ("the class Thing", "a list", "the class Thing", "a str", "a str")
    ]


async def refusals(operator: Operator, clock: VirtualClock, parent: Object, child: Object) -> list[str]:
    """What `apply` and `create` say to a child, on a stage on which nothing can be sent."""
    messages: list[str] = []

    @operator.reconciles(type(parent))
    async def sync(obj: Any, ctx: Context[Any]) -> None:
        for attempt in (ctx.apply(child), ctx.create(child)):
            with pytest.raises(ValueError) as caught:
                await attempt
            messages.append(str(caught.value))

    async with working(operator, clock) as stage:
        stage.put(parent)
        await clock.settled()
    return messages


def named(name: str, namespace: str = "") -> ObjectMeta:
    return ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}")


@pytest.mark.parametrize(
    ("parent", "child", "reason"),
    [
        pytest.param(
            Realm(metadata=named("all"), spec=Model()),
            core.ConfigMap(metadata=ObjectMeta(name="child")),
            "ConfigMap child needs a namespace, and Realm all is cluster-scoped. Set metadata.namespace",
            id="no namespace to be had",
        ),
        pytest.param(
            Realm(metadata=named("all"), spec=Model()),
            core.Namespace(metadata=ObjectMeta(name="child", namespace="default")),
            "Namespace default/child cannot be in a namespace: Namespace (v1) is cluster-scoped."
            " Leave metadata.namespace out",
            id="a namespace that cannot be",
        ),
        pytest.param(
            thing(),
            core.Namespace(metadata=ObjectMeta(name="child")),
            "Thing default/one cannot own Namespace child: an object in a namespace cannot own one that is"
            " cluster-scoped",
            id="cluster-scoped, with an owner in a namespace",
        ),
        pytest.param(
            thing(),
            core.ConfigMap(metadata=ObjectMeta(name="child", namespace="other")),
            "Thing default/one cannot own ConfigMap other/child: an owner in a namespace can own only objects in the"
            " same one",
            id="an owner in another namespace",
        ),
    ],
)
async def test_rejects_a_wrong_scope_before_anything_is_sent(
    operator: Operator, clock: VirtualClock, parent: Object, child: Object, reason: str
) -> None:
    assert await refusals(operator, clock, parent, child) == [reason, reason]
