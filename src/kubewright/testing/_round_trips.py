"""Proof that conversions lose nothing: objects of every sort go to another version and come back the same."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import msgspec

from kubewright.api import Object, encode, from_dict, info_of, to_dict
from kubewright.diff import ListKeys, diff
from kubewright.operator import Operator
from kubewright.testing._objects import objects_of
from kubewright.webhook import Conversions

__all__ = ["check_round_trips"]

_Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]


def check_round_trips(operator: Operator, *, examples: int = 100) -> None:
    """Raise AssertionError when an object that an operator converts is another one when it comes back.

    For each kind that it converts, hypothesis makes `examples` objects of each version, of every sort that the schema
    allows; they are converted to the stored version, or from it to each other one, and back. What differs is named by
    its path, for the smallest object that shows it. The same objects are tried each time.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise ModuleNotFoundError("check_round_trips makes its objects with hypothesis: pip install hypothesis")
    families = operator.webhooks.conversions.families()
    if not families:
        raise ValueError(f"operator {operator.name!r} converts nothing")
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
        # Through the model: what it leaves out when it is empty counts as absent.
        lost = _differences(start, msgspec.json.decode(before), to_dict(from_dict(start, back)))
        assert not lost, _told(start, over, obj, lost)

    round_trip()


def _differences(kind: type[Object], before: Any, after: Any) -> list[str]:
    found = []
    for operation in diff(ListKeys(kind), before, before, after):
        path = operation["path"].removeprefix("/").replace("/", ".")
        found.append(f"{path} is gone" if operation["op"] == "remove" else f"{path} is {operation.get('value')!r}")
    return found


def _told(start: type[Object], over: type[Object], obj: Object, lost: list[str]) -> str:
    way = f"{info_of(start).version} to {info_of(over).version} and back"
    return f"a {info_of(start).kind} that goes from {way} is not the same: {'; '.join(lost)}. It was {to_dict(obj)}"


@contextlib.contextmanager
def _loop() -> Iterator[_Run]:
    """What runs coroutines to their end, in a loop of its own: the test itself may run in another."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="round trips")
    thread.start()
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
