"""Only what differs in a status is sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kubewright import resource
from kubewright.api import JSON, Model, Object, Resource, Untyped, decode, encode
from kubewright.api.meta.v1 import Condition
from kubewright.controller.status import status_changes, status_of
from kubewright.diff import Operation


class Port(Model):
    name: str
    number: int = 0


class BoxStatus(Model):
    available: int = 0
    note: str | None = None
    ports: list[Port] = msgspec.field(default_factory=list)
    conditions: list[Condition] = msgspec.field(default_factory=list)


@resource("example.com/v1")
class Box(Resource[JSON, BoxStatus]):
    """A kind with a status."""


@resource("example.com/v1", kind="Plain")
class Plain(Resource[JSON, str | None]):
    """A kind whose status is a text."""


GUARD = {"op": "replace", "path": "/metadata/resourceVersion", "value": "7"}


def raw(status: Any = None) -> bytes:
    content = {"metadata": {"name": "a", "resourceVersion": "7"}, "spec": {}}
    return encode(content if status is None else content | {"status": status})


def changes(kind: type[Object], there: bytes, wanted: Any) -> list[Operation]:
    return status_changes(kind, there, status_of(decode(kind, there)), wanted)


@pytest.mark.promise(
    "What a reconciler works with",
    "`set_status` sends what differs, an explicit zero too, and keeps what the model does not know.",
)
def test_an_explicit_zero_is_written_when_the_server_has_none() -> None:
    assert changes(Box, raw(), BoxStatus()) == [
        GUARD,
        {"op": "add", "path": "/status", "value": {"available": 0, "ports": [], "conditions": []}},
    ]
    assert changes(Box, raw({"ports": [], "conditions": []}), BoxStatus()) == [
        GUARD,
        {"op": "add", "path": "/status/available", "value": 0},
    ]


@pytest.mark.promise(
    "What a reconciler works with",
    "`set_status` sends what differs, an explicit zero too, and keeps what the model does not know.",
)
def test_nothing_is_sent_when_nothing_differs() -> None:
    there = {"available": 0, "ports": [{"name": "http", "number": 80}], "conditions": []}
    assert changes(Box, raw(there), BoxStatus(ports=[Port(name="http", number=80)])) == []


def test_only_the_field_that_differs_is_sent() -> None:
    there = {"available": 1, "ports": [], "conditions": []}
    assert changes(Box, raw(there), BoxStatus(available=2)) == [
        GUARD,
        {"op": "replace", "path": "/status/available", "value": 2},
    ]


def test_what_the_model_does_not_know_stays_also_inside_lists() -> None:
    there = {"available": 1, "ports": [{"name": "http", "number": 80, "secret": 1}], "conditions": [], "phase": "Up"}
    wanted = BoxStatus(available=1, ports=[Port(name="http", number=81)])
    assert changes(Box, raw(there), wanted) == [
        GUARD,
        {"op": "replace", "path": "/status/ports/0/number", "value": 81},
    ]


def test_what_the_model_knows_and_no_longer_wants_is_removed() -> None:
    there = {"available": 1, "note": "old", "ports": [], "conditions": []}
    assert changes(Box, raw(there), BoxStatus(available=1)) == [GUARD, {"op": "remove", "path": "/status/note"}]


def test_writes_a_status_that_is_a_string() -> None:
    assert changes(Plain, raw(), "HANDLED") == [GUARD, {"op": "add", "path": "/status", "value": "HANDLED"}]
    assert changes(Plain, raw("HANDLED"), "HANDLED") == []
    assert changes(Plain, raw("HANDLED"), None) == [GUARD, {"op": "remove", "path": "/status"}]


def test_the_status_of_an_untyped_object() -> None:
    kind = Untyped.kind_of("example.com/v1", "Box", plural="boxes")
    assert changes(kind, raw({"available": 1}), {"available": 2}) == [
        GUARD,
        {"op": "replace", "path": "/status/available", "value": 2},
    ]
