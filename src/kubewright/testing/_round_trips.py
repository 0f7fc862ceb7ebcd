"""`check_round_trips`: checks that conversions to another version and back lose nothing."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import msgspec

from kubewright.api import Object, encode, from_dict, info_of, to_dict
from kubewright.diff import ListKeys, diff
from kubewright.operator import Operator
from kubewright.tasks import LoopThread
from kubewright.testing._objects import objects_of
from kubewright.webhook import Conversions

__all__ = ["check_round_trips"]

_Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]


def check_round_trips(operator: Operator, *, examples: int = 100) -> None:
    """Raises AssertionError if an object differs after a conversion to another version and back.

    For each converted kind, Hypothesis generates `examples` objects of each version from the schema. They are converted
    to the stored version, or from it to each other one, and back. The message has the paths of all differences, for the
    smallest object that shows them. Every run uses the same objects.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise ModuleNotFoundError("check_round_trips needs Hypothesis: pip install hypothesis")
    families = operator.webhooks.conversions.families()
    if not families:
        raise ValueError(f"operator {operator.name!r} has no conversions")
    with _loop() as run:
        for hub, *spokes in families:
            for spoke in spokes:
                _check(operator.webhooks.conversions, run, spoke, hub, examples)
                _check(operator.webhooks.conversions, run, hub, spoke, examples)


def _check(conversions: Conversions, run: _Run, start: type[Object], over: type[Object], examples: int) -> None:
    from hypothesis import HealthCheck, Phase, given, settings

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        print_blob=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(objects_of(start))
    def round_trip(obj: Object) -> None:
        before = encode(obj)
        there = run(conversions.convert(before, over, start))
        back = run(conversions.convert(msgspec.json.encode(there), start, over))
        # Compared through the model, for which an empty field equals an absent one.
        lost = _differences(start, msgspec.json.decode(before), to_dict(from_dict(start, back)))
        assert not lost, _message(start, over, obj, lost)

    round_trip()


def _differences(kind: type[Object], before: Any, after: Any) -> list[str]:
    found = []
    for operation in diff(ListKeys(kind), before, before, after):
        path = operation["path"].removeprefix("/").replace("/", ".")
        found.append(f"{path} is lost" if operation["op"] == "remove" else f"{path} is {operation.get('value')!r}")
    return found


def _message(start: type[Object], over: type[Object], obj: Object, lost: list[str]) -> str:
    way = f"{info_of(start).version} to {info_of(over).version} and back"
    return f"a {info_of(start).kind} converted from {way} differs: {'; '.join(lost)}. The object: {to_dict(obj)}"


@contextlib.contextmanager
def _loop() -> Iterator[_Run]:
    """Yields a function that runs coroutines in a separate event loop: the test may run in another."""
    thread = LoopThread("round trips")
    try:
        yield thread.call
    finally:
        thread.close()
