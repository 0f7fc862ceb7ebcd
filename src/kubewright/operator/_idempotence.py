"""Checks that reconciles are idempotent: one more reconcile of every unchanged object writes nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final

from kubewright.cache import ObjectKey
from kubewright.controller import Controller
from kubewright.observe import ReconcileRecord

__all__ = ["NotIdempotent", "check_idempotent"]

_TRIGGER: Final = "idempotence check"
_SHOWN: Final = 10


class NotIdempotent(AssertionError):
    """A reconcile of an unchanged object wrote something or failed. The message names each write."""


async def check_idempotent(controllers: Sequence[Controller[Any]], settled: Callable[[], Awaitable[None]]) -> None:
    """Reconciles every object again. Raises `NotIdempotent` if a reconcile writes anything or fails."""
    await settled()
    keys = [
        (controller, key)
        for controller in controllers
        if controller.role == "reconciler"
        for key in controller.object_keys()
    ]
    for controller, key in keys:
        controller.enqueue(key, _TRIGGER)
    await settled()
    problems = [problem for controller, key in keys for problem in _problems(controller, key)]
    if problems:
        more = f"\n  and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        listed = "".join(f"\n  {problem}" for problem in problems[:_SHOWN])
        raise NotIdempotent(f"one more reconcile of unchanged objects wrote or failed:{listed}{more}")


def _problems(controller: Controller[Any], key: ObjectKey) -> Iterator[str]:
    name = f"{controller.kind.__name__} {key}"
    for record in controller.inspect(key).results:
        if record.trigger == _TRIGGER:
            yield from _of_record(name, record)
            return


def _of_record(name: str, record: ReconcileRecord) -> Iterator[str]:
    if record.error:
        yield f"{name}: {record.error}"
    for write in record.writes:
        paths = ", ".join(change.path for change in write.changes or ())
        target = "/".join(part for part in (write.namespace, write.name) if part)
        yield f"{name}: {write.verb} {write.resource} {target}{f' ({paths})' if paths else ''}"
