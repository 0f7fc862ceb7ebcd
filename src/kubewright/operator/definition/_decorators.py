"""The types of the decorators: the functions that `operator.reconciles(Foo)` accepts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from kubewright.api import Object

if TYPE_CHECKING:
    from kubewright.cache import ObjectKey
    from kubewright.controller import BlockingContext, Context, Result
    from kubewright.controller.registration import Reconciler

__all__ = ["DaemonDecorator", "ObjectDecorator", "ReconcileDecorator"]

R = TypeVar("R", bound=Object)
C = TypeVar("C")


class ReconcileDecorator(Generic[R]):
    """Registers a function, a class or an instance that reconciles `R`, and returns it unchanged."""

    def __init__(self, register: Callable[[Any], None]) -> None:
        self._register = register

    @overload
    def __call__(
        self, handler: Callable[[R, Context[R]], Awaitable[Result | None]]
    ) -> Callable[[R, Context[R]], Awaitable[Result | None]]: ...
    @overload
    def __call__(
        self, handler: Callable[[R, BlockingContext[R]], Result | None]
    ) -> Callable[[R, BlockingContext[R]], Result | None]: ...
    @overload
    def __call__(
        self, handler: Callable[[ObjectKey, Context[R]], Awaitable[Result | None]]
    ) -> Callable[[ObjectKey, Context[R]], Awaitable[Result | None]]: ...
    @overload
    def __call__(
        self, handler: Callable[[ObjectKey, BlockingContext[R]], Result | None]
    ) -> Callable[[ObjectKey, BlockingContext[R]], Result | None]: ...
    @overload
    def __call__(self, handler: Callable[[], Reconciler[R]]) -> Callable[[], Reconciler[R]]: ...
    @overload
    def __call__(self, handler: Reconciler[R]) -> Reconciler[R]: ...
    def __call__(self, handler: Any) -> Any:
        """Registers the handler and returns it."""
        self._register(handler)
        return handler


class DaemonDecorator(Generic[R]):
    """Registers an async function of an object of `R` and its context, and returns it unchanged."""

    def __init__(self, register: Callable[[Any], None]) -> None:
        self._register = register

    def __call__(
        self, handler: Callable[[R, Context[R]], Awaitable[Result | None]]
    ) -> Callable[[R, Context[R]], Awaitable[Result | None]]:
        """Registers the handler and returns it."""
        self._register(handler)
        return handler


class ObjectDecorator(Generic[R]):
    """Registers a function of an object of `R` and its context, and returns it unchanged."""

    def __init__(self, register: Callable[[Any], None]) -> None:
        self._register = register

    @overload
    def __call__(
        self, handler: Callable[[R, Context[R]], Awaitable[Result | None]]
    ) -> Callable[[R, Context[R]], Awaitable[Result | None]]: ...
    @overload
    def __call__(
        self, handler: Callable[[R, BlockingContext[R]], Result | None]
    ) -> Callable[[R, BlockingContext[R]], Result | None]: ...
    def __call__(self, handler: Any) -> Any:
        """Registers the handler and returns it."""
        self._register(handler)
        return handler
