"""Every public parameter that takes a time takes a `Duration`: seconds, a timedelta, or a string such as "5m"."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

import kubewright

ROOMS = (
    "kubewright",
    "kubewright.cache",
    "kubewright.client",
    "kubewright.clock",
    "kubewright.cluster",
    "kubewright.controller",
    "kubewright.crd",
    "kubewright.deployment",
    "kubewright.election",
    "kubewright.events",
    "kubewright.operator",
    "kubewright.queue",
    "kubewright.testing",
    "kubewright.webhook",
)
TIMES = re.compile(r"(^|_)(after|timeout|resync|period|interval|deadline|delay|grace|duration|within|refill)$")
"""Names of times. A name that ends with `seconds` states its unit, and takes a number, as Kubernetes' fields do."""
CHECKED = {
    "Child",  # its `after` names other children
    "HandlerRegistration",  # made by `Informer.add_handler`
    "LeaseRecord",  # read from a Lease
    "PodPlan",  # numbers of seconds that a simulated pod sleeps
    "QueueStats",
    "Refusal",  # the header Retry-After of a test server
    "Registration",  # made by `Operator.reconciles`
    "Request",  # made by the client
    "Settings",  # made from `Options`
    "WriteConflict",  # raised by `Applier.apply`
}
"""Classes of checked values: their times are seconds, and users do not write them."""


def public() -> Iterator[tuple[str, Any]]:
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            yield f"{room}.{name}", getattr(module, name)


def annotations_of(made: Any) -> Iterator[tuple[str, str, str]]:
    """Yields the functions and classes of a public name: where, the parameter or field, its annotation."""
    if inspect.isfunction(made):
        yield from ((made.__qualname__, name, str(hint)) for name, hint in inspect.unwrap(made).__annotations__.items())
    elif inspect.isclass(made) and made.__module__.startswith("kubewright"):
        for base in made.__mro__:
            for name, hint in vars(base).get("__annotations__", {}).items():
                yield made.__qualname__, name, str(hint)
            for name, member in vars(base).items():
                if name == "__init__" or not name.startswith("_"):
                    yield from annotations_of(getattr(member, "__func__", member))


def times() -> dict[str, str]:
    return {
        f"{where}({name}=)": hint
        for _, made in public()
        for where, name, hint in annotations_of(made)
        if TIMES.search(name) and not CHECKED.intersection(where.split("."))
    }


@pytest.mark.promise("What a reconciler works with", "Every public option that is a time takes seconds, timedelta, 5m.")
def test_every_public_time_is_a_duration() -> None:
    found = times()
    assert len(found) > 25
    assert {where: hint for where, hint in found.items() if "Duration" not in hint} == {}


def test_the_one_duration_is_exported() -> None:
    assert kubewright.Duration == float | timedelta | str
