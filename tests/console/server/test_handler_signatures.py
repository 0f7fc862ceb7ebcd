"""The signatures of NiceGUI's handlers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from nicegui import helpers

from kubewright.console.server import remember_handler_signatures


class _Handlers:
    def without(self) -> None: ...
    def optional(self, value: int = 0, *more: int, **others: int) -> None: ...
    def needs(self, value: int) -> None: ...
    def needs_named(self, *, value: int) -> None: ...
    @classmethod
    def of_class(cls, value: int) -> None: ...
    def __call__(self, value: int) -> None: ...


@pytest.mark.parametrize(
    "handler",
    [
        _Handlers().without,
        _Handlers().optional,
        _Handlers().needs,
        _Handlers().needs_named,
        _Handlers.of_class,
        _Handlers(),
        partial(_Handlers().needs, 1),
        partial(_Handlers().needs),
        lambda: None,
        lambda event: None,
    ],
)
def test_answers_like_nicegui(handler: Callable[..., Any]) -> None:
    remember_handler_signatures()
    assert helpers.expects_arguments(handler) == inspect.unwrap(helpers.expects_arguments)(handler)
    assert helpers.expects_arguments(handler) == inspect.unwrap(helpers.expects_arguments)(handler)  # remembered
