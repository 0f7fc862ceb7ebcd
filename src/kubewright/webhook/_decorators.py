"""The types of the decorators: the functions that `operator.validates(Foo)` accepts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, overload

from kubewright.api import Object
from kubewright.webhook._request import AdmissionRequest
from kubewright.webhook.reviews._refusals import AdmissionWarning, FieldError

__all__ = ["ConvertDecorator", "DefaultDecorator", "Found", "ValidateDecorator"]

R = TypeVar("R", bound=Object)
S = TypeVar("S", bound=Object)


class _Defaults(Protocol):
    @property
    def default(self) -> Callable[..., Any]: ...


class _Creates(Protocol):
    @property
    def validate_create(self) -> Callable[..., Any]: ...


class _Updates(Protocol):
    @property
    def validate_update(self) -> Callable[..., Any]: ...


class _Deletes(Protocol):
    @property
    def validate_delete(self) -> Callable[..., Any]: ...


D = TypeVar("D", bound=_Defaults)
V = TypeVar("V", bound=_Creates | _Updates | _Deletes)

Found: TypeAlias = FieldError | AdmissionWarning | Iterable[FieldError | AdmissionWarning] | None
"""The result of a validating handler."""
_Awaited: TypeAlias = Awaitable[Found] | AsyncIterator[FieldError | AdmissionWarning]


class _Decorator:
    def __init__(self, register: Callable[[Any], None]) -> None:
        self._register = register


class DefaultDecorator(_Decorator, Generic[R]):
    """Registers a function, or a class with a method `default`, and returns it unchanged."""

    @overload
    def __call__(self, handler: Callable[[R], Awaitable[R | None]]) -> Callable[[R], Awaitable[R | None]]: ...
    @overload
    def __call__(
        self, handler: Callable[[R, AdmissionRequest[R]], Awaitable[R | None]]
    ) -> Callable[[R, AdmissionRequest[R]], Awaitable[R | None]]: ...
    @overload
    def __call__(self, handler: Callable[[R], R | None]) -> Callable[[R], R | None]: ...
    @overload
    def __call__(
        self, handler: Callable[[R, AdmissionRequest[R]], R | None]
    ) -> Callable[[R, AdmissionRequest[R]], R | None]: ...
    @overload
    def __call__(self, handler: Callable[[], D]) -> Callable[[], D]: ...
    @overload
    def __call__(self, handler: D) -> D: ...
    def __call__(self, handler: Any) -> Any:
        """Registers the handler and returns it."""
        self._register(handler)
        return handler


class ValidateDecorator(_Decorator, Generic[R]):
    """Registers a function, or a class with a method per operation, and returns it unchanged."""

    @overload
    def __call__(self, handler: Callable[[R], _Awaited]) -> Callable[[R], _Awaited]: ...
    @overload
    def __call__(
        self, handler: Callable[[R, AdmissionRequest[R]], _Awaited]
    ) -> Callable[[R, AdmissionRequest[R]], _Awaited]: ...
    @overload
    def __call__(self, handler: Callable[[R], Found]) -> Callable[[R], Found]: ...
    @overload
    def __call__(
        self, handler: Callable[[R, AdmissionRequest[R]], Found]
    ) -> Callable[[R, AdmissionRequest[R]], Found]: ...
    @overload
    def __call__(self, handler: Callable[[], V]) -> Callable[[], V]: ...
    @overload
    def __call__(self, handler: V) -> V: ...
    def __call__(self, handler: Any) -> Any:
        """Registers the handler and returns it."""
        self._register(handler)
        return handler


class ConvertDecorator(_Decorator, Generic[R, S]):
    """Registers a function from one version to another, and returns it unchanged."""

    @overload
    def __call__(self, handler: Callable[[R], Awaitable[S]]) -> Callable[[R], Awaitable[S]]: ...
    @overload
    def __call__(self, handler: Callable[[R], S]) -> Callable[[R], S]: ...
    def __call__(self, handler: Any) -> Any:
        """Registers the handler and returns it."""
        self._register(handler)
        return handler
