"""Looking at the functions and classes that are to handle requests, once, where they are written.

A function takes the object, and the request if it wants it. A class has a method for each operation:

    validate_create(self, foo), validate_update(self, old, new), validate_delete(self, foo), or default(self, foo)

each with the request as one more parameter if it wants it, each async or plain. Plain ones run in a thread, so that
one that blocks or hangs holds up nobody else.
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

__all__ = ["Calls", "Form", "defaulting", "form_of", "validating"]

_METHODS: Mapping[str, Operation] = {
    "validate_create": "CREATE",
    "validate_update": "UPDATE",
    "validate_delete": "DELETE",
}


class Form(msgspec.Struct, frozen=True):
    """A handler, and how it wants to be called."""

    function: Callable[..., Any]
    name: str
    blocking: bool
    objects: int
    """How many objects it takes: the one in question, or the old and the new one."""
    wants_request: bool


class Calls(msgspec.Struct, frozen=True):
    """What is called for which operation; made anew each time the server starts."""

    make: Callable[[], Callable[[str], Form | None]]
    operations: tuple[Operation, ...] | None
    """What a class handles, by its methods; None for a function, which handles whatever it is registered for."""
    name: str


def validating(given: Any, kind: type[Object]) -> Calls:
    """What validates: a function of the object, or a class or an instance with methods for operations."""
    if not _has_methods(given):
        return _alone(given, kind)
    if misspelled := [name for name in dir(given) if name.startswith("validate_") and name not in _METHODS]:
        raise TypeError(f"{_name(given)}.{misspelled[0]} is never called; the methods are: {', '.join(_METHODS)}")
    found = {operation: name for name, operation in _METHODS.items() if hasattr(given, name)}
    if not found:
        raise TypeError(f"{_name(given)} has none of the methods {', '.join(_METHODS)}")

    def bound(instance: Any) -> dict[str, Form]:
        return {
            operation: form_of(method_of(instance, name), kind, objects=2 if operation == "UPDATE" else 1)
            for operation, name in found.items()
        }

    return Calls(_maker(given, bound), tuple(found), _name(given))


def defaulting(given: Any, kind: type[Object]) -> Calls:
    """What fills in defaults: a function of the object, or a class or an instance with a method `default`."""
    if not _has_methods(given):
        return _alone(given, kind)
    if not hasattr(given, "default"):
        raise TypeError(f"{_name(given)} has no method default(self, obj: {kind.__name__})")

    def bound(instance: Any) -> dict[str, Form]:
        form = form_of(method_of(instance, "default"), kind)
        return dict.fromkeys(("CREATE", "UPDATE"), form)

    return Calls(_maker(given, bound), None, _name(given))


def _alone(function: Any, kind: type[Object]) -> Calls:
    form = form_of(function, kind)
    return Calls(lambda: lambda _: form, None, form.name.rpartition(".")[2])


def _has_methods(given: Any) -> bool:
    return isinstance(given, type) or not callable(given)


def _maker(given: Any, bound: Callable[[Any], dict[str, Form]]) -> Callable[[], Callable[[str], Form | None]]:
    if not isinstance(given, type):
        forms = bound(given)
        return lambda: forms.get
    try:
        inspect.signature(given).bind()
    except TypeError as error:
        raise TypeError(
            f"{given.__name__} cannot be made without arguments ({error}): hand in an instance instead"
        ) from None
    bound(given)  # whatever is wrong with a method fails here, and not at the first request
    return lambda: bound(given()).get


def form_of(function: Any, kind: type[Object], *, objects: int = 1) -> Form:
    """How a function wants to be called. Raises TypeError for one that cannot be."""
    name = name_of(function)
    if not callable(function):
        raise TypeError(f"expected a function of an object, found {function!r}")
    signature = signature_of(function)
    parameters = signature.parameters
    if len(parameters) < objects or signature.required > objects + 1:
        wanted = "old and new object" if objects > 1 else "the object"
        raise TypeError(f"{name} must take {wanted}, and the request if it wants it; found {signature.whole}")
    check_keywords(name, signature)
    for parameter in parameters[:objects]:
        annotation = get_origin(parameter.annotation) or parameter.annotation
        if isinstance(annotation, type) and annotation is AdmissionRequest:
            raise TypeError(f"{name} takes the object first, and then the request")
        if isinstance(annotation, type) and issubclass(annotation, Object) and not issubclass(kind, annotation):
            raise TypeError(f"{name} takes a {annotation.__name__}, but is handed in for {kind.__name__}")
    for parameter in parameters[objects : objects + 1]:
        annotation = get_origin(parameter.annotation) or parameter.annotation
        if isinstance(annotation, type) and issubclass(annotation, Context | BlockingContext):
            raise TypeError(
                f"{name} takes a {annotation.__name__}, which reconcilers get: a handler of requests gets the object,"
                f" and the request if it wants it, `{parameter.name}: AdmissionRequest[{kind.__name__}]`"
            )
    return Form(
        function=function,
        name=name,
        blocking=not is_async(function),
        objects=objects,
        wants_request=len(parameters) > objects,
    )


def _name(given: Any) -> str:
    return given.__name__ if isinstance(given, type) else type(given).__name__
