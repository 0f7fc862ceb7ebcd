"""What round trips lose is found."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
import pytest
from hypothesis import given, settings

import kubewright as kw
from kubewright.api import IntOrString, Quantity, Time
from kubewright.testing import check_round_trips, objects_of


class Part(kw.Model):
    name: str
    weight: Annotated[int, kw.Range(1, 9)] = 1


class Spec(kw.Model):
    title: Annotated[str, kw.Length(1, 8)]
    size: Annotated[int, kw.MultipleOf(5)] = 5
    ratio: float | None = None
    flag: bool | None = None
    kind: Literal["a", "b"] = "a"
    parts: Annotated[list[Part], kw.ListType("map", keys=["name"])] = msgspec.field(default_factory=list)
    tags: Annotated[list[str], kw.ListType("set")] | None = None
    options: dict[str, int] | None = None
    code: Annotated[str, kw.Pattern("^[a-z]{2}[0-9]$")] | None = None
    since: Time | None = None
    port: IntOrString | None = None
    memory: Quantity | None = None


class Status(kw.Model):
    seen: int | None = None


@kw.resource("trips.example.com/v1", storage=True)
class Trip(kw.Resource[Spec, Status]):
    """A kind with every sort of field."""


@pytest.mark.promise("Webhooks", "What round trips between versions lose is found and named.")
def test_what_is_lost_is_named_for_the_smallest_object() -> None:
    class Same(kw.Model):
        flag: bool | None = None
        other: str | None = None

    @kw.resource("trips.example.com/v1", storage=True, kind="Trip")
    class New(kw.Resource[Same, None]): ...

    @kw.resource("trips.example.com/v1alpha1", kind="Trip")
    class Old(kw.Resource[Same, None]): ...

    forgetful = kw.Operator("trips")
    forgetful.converts(Old, New)(lambda old: New(spec=old.spec))
    forgetful.converts(New, Old)(lambda new: Old(spec=Same(other=new.spec.other, flag=new.spec.flag or None)))
    with pytest.raises(AssertionError, match=r"from v1alpha1 to v1 and back differs: spec\.flag is lost") as small:
        check_round_trips(forgetful)
    assert "'spec': {'flag': False}" in str(small.value)


def test_lossless_conversion_passes() -> None:
    class Same(kw.Model):
        content: Spec

    @kw.resource("trips.example.com/v2", storage=True, kind="Trip")
    class New(kw.Resource[Spec, Status]): ...

    @kw.resource("trips.example.com/v1alpha1", kind="Trip")
    class Old(kw.Resource[Same, Status]): ...

    made = kw.Operator("trips")

    @made.converts(Old, New)
    async def up(old: Old) -> New:
        await asyncio.sleep(0)
        return New(metadata=old.metadata, spec=old.spec.content, status=old.status)

    @made.converts(New, Old)
    def down(new: New) -> Old:
        return Old(metadata=new.metadata, spec=Same(content=new.spec), status=new.status)

    check_round_trips(made, examples=40)


async def test_works_inside_an_event_loop() -> None:
    with pytest.raises(ValueError, match="operator 'idle' has no conversions"):
        check_round_trips(kw.Operator("idle"))


@given(objects_of(Trip))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_generates_valid_objects_with_all_fields(trip: Trip) -> None:
    kw.validate(trip)
    assert trip.metadata.name
    assert trip.metadata.namespace
