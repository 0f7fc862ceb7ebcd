"""Inspects the functions and classes that handle requests, once, when they are registered.

A function takes the object and, optionally, the request. A class has a method for each operation:

    validate_create(self, foo), validate_update(self, old, new), validate_delete(self, foo), or default(self, foo)

each with the request as an optional last parameter, each async or plain. Plain ones run in a thread, so that one that
blocks or hangs does not delay other handlers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, get_origin

import msgspec

from kubewright.api import Object
from kubewright.controller import BlockingContext, Context
from kubewright.signatures import check_keywords, is_async, method_of, name_of, signature_of
from kubewright.webhook._request import AdmissionRequest, Operation

__all__ = ["HandlerFactory", "HandlerFunction", "defaulting", "handler_function", "validating"]

_METHODS: Mapping[str, Operation] = {
    "validate_create": "CREATE",
    "validate_update": "UPDATE",
    "validate_delete": "DELETE",
}


class HandlerFunction(msgspec.Struct, frozen=True):
    """A handler function and how to call it."""

    function: Callable[..., Any]
    name: str
    blocking: bool
    objects: int
    """1 for the object, 2 for the old and the new one."""
    wants_request: bool


class HandlerFactory(msgspec.Struct, frozen=True):
    """Makes the handlers of a webhook, by operation, each time the server starts."""

    make: Callable[[], Callable[[str], HandlerFunction | None]]
    operations: tuple[Operation, ...] | None
    """The operations that the methods of a class handle; None for a function, whose registration names them."""
    name: str


def validating(given: Any, kind: type[Object]) -> HandlerFactory:
    """Inspects a validating handler: a function, or a class or an instance with a method per operation."""
    if not _has_methods(given):
        return _alone(given, kind)
    if misspelled := [name for name in dir(given) if name.startswith("validate_") and name not in _METHODS]:
        raise TypeError(f"{_name(given)}.{misspelled[0]} is never called; the methods are: {', '.join(_METHODS)}")
    found = {operation: name for name, operation in _METHODS.items() if hasattr(given, name)}
    if not found:
        raise TypeError(f"{_name(given)} has none of the methods {', '.join(_METHODS)}")

    def bound(instance: Any) -> dict[str, HandlerFunction]:
        return {
            operation: handler_function(method_of(instance, name), kind, objects=2 if operation == "UPDATE" else 1)
            for operation, name in found.items()
        }

    return HandlerFactory(_maker(given, bound), tuple(found), _name(given))


def defaulting(given: Any, kind: type[Object]) -> HandlerFactory:
    """Inspects a defaulting handler: a function, or a class or an instance with a method `default`."""
    if not _has_methods(given):
        return _alone(given, kind)
    if not hasattr(given, "default"):
        raise TypeError(f"{_name(given)} has no method default(self, obj: {kind.__name__})")

    def bound(instance: Any) -> dict[str, HandlerFunction]:
        handler = handler_function(method_of(instance, "default"), kind)
        return dict.fromkeys(("CREATE", "UPDATE"), handler)

    return HandlerFactory(_maker(given, bound), None, _name(given))


def _alone(function: Any, kind: type[Object]) -> HandlerFactory:
    handler = handler_function(function, kind)
    return HandlerFactory(lambda: lambda _: handler, None, handler.name.rpartition(".")[2])


def _has_methods(given: Any) -> bool:
    return isinstance(given, type) or not callable(given)


def _maker(
    given: Any, bound: Callable[[Any], dict[str, HandlerFunction]]
) -> Callable[[], Callable[[str], HandlerFunction | None]]:
    if not isinstance(given, type):
        handlers = bound(given)
        return lambda: handlers.get
    try:
        inspect.signature(given).bind()
    except TypeError as error:
        raise TypeError(
            f"{given.__name__} cannot be instantiated without arguments ({error}): pass an instance instead"
        ) from None
    bound(given)  # an invalid method fails here, not at the first request
    return lambda: bound(given()).get


def handler_function(function: Any, kind: type[Object], *, objects: int = 1) -> HandlerFunction:
    """Inspects a function. Raises TypeError for a signature that does not fit."""
    name = name_of(function)
    if not callable(function):
        raise TypeError(f"expected a function of an object, found {function!r}")
    signature = signature_of(function)
    parameters = signature.parameters
    if len(parameters) < objects or signature.required > objects + 1:
        wanted = "the old and the new object" if objects > 1 else "the object"
        raise TypeError(f"{name} must take {wanted} and, optionally, the request; found {signature.whole}")
    check_keywords(name, signature)
    for parameter in parameters[:objects]:
        annotation = get_origin(parameter.annotation) or parameter.annotation
        if isinstance(annotation, type) and annotation is AdmissionRequest:
            raise TypeError(f"{name} must take the object first, then the request")
        if isinstance(annotation, type) and issubclass(annotation, Object) and not issubclass(kind, annotation):
            raise TypeError(f"{name} takes a {annotation.__name__}, but is registered for {kind.__name__}")
    for parameter in parameters[objects : objects + 1]:
        annotation = get_origin(parameter.annotation) or parameter.annotation
        if isinstance(annotation, type) and issubclass(annotation, Context | BlockingContext):
            raise TypeError(
                f"{name} takes a {annotation.__name__}, which only reconcilers get: a webhook handler gets the object"
                f" and, optionally, the request, `{parameter.name}: AdmissionRequest[{kind.__name__}]`"
            )
    return HandlerFunction(
        function=function,
        name=name,
        blocking=not is_async(function),
        objects=objects,
        wants_request=len(parameters) > objects,
    )


def _name(given: Any) -> str:
    return given.__name__ if isinstance(given, type) else type(given).__name__
