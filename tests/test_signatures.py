"""The annotations of all public functions and classes can be evaluated at run time."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import msgspec
import pytest

ROOMS = ["api", "cache", "client", "controller", "election", "events", "observe", "operator", "queue", "webhook"]


@pytest.mark.parametrize("room", ROOMS)
def test_every_struct_has_a_signature(room: str) -> None:
    """`help` and documentation ask for it. Names that are imported for type checkers alone would fail there."""
    package = importlib.import_module(f"kubewright.{room}")
    names = [package.__name__, *(each.name for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))]
    for module in map(importlib.import_module, names):
        for thing in vars(module).values():
            if isinstance(thing, type) and issubclass(thing, msgspec.Struct) and thing.__module__ == module.__name__:
                inspect.signature(thing)
