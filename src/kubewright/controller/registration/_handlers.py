"""Checks the functions and classes that handle objects, where they are registered.

A mistake fails at import and not at the first reconcile: the number of parameters, an object of another kind, the async
context in a plain function.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_origin

import msgspec

from kubewright.api import Object
from kubewright.cache import ObjectKey
from kubewright.controller._context import BlockingContext, Context
from kubewright.signatures import check_keywords, is_async, is_generator, method_of, name_of, signature_of
from kubewright.suggestions import nearest

if TYPE_CHECKING:
    from kubewright.controller._reconcile import Result

__all__ = ["Handler", "Handlers", "Reconciler", "check_handler", "handler_factory"]

R_contra = TypeVar("R_contra", bound=Object, contravariant=True)

_METHODS = ("reconcile", "finalize", "deleted")


class Reconciler(Protocol[R_contra]):
    """The class form of a reconciler. `finalize` and `deleted`, of the same shape, are optional methods."""

    def reconcile(self, obj: R_contra, ctx: Context[R_contra], /) -> Awaitable[Result | None]:
        """Makes the world match the object."""


class Handler(msgspec.Struct, frozen=True):
    """A handler and how it is called."""

    function: Callable[[Any, Any], Any]
    """Takes an object or a key, and a `Context` or a `BlockingContext`."""
    name: str
    blocking: bool
    by_key: bool


class Handlers(msgspec.Struct, frozen=True):
    """The handlers of one controller."""

    reconcile: Handler | None = None
    finalize: Handler | None = None
    deleted: Handler | None = None


def handler_factory(given: Any, kind: type[Object]) -> Callable[[], Handlers]:
    """Returns a function that makes the handlers. It is called each time the operator starts."""
    if isinstance(given, type):
        _check_class(given, kind)
        return lambda: _bound(given(), kind)
    if not inspect.isroutine(given) and hasattr(given, "reconcile"):
        _check_method_names(type(given))
        handlers = _bound(given, kind)
        return lambda: handlers
    handler = check_handler(given, kind)
    return lambda: Handlers(reconcile=handler)


def check_handler(function: Any, kind: type[Object], *, by_key: bool = True) -> Handler:
    """Returns the handler for a function. `by_key`: whether it may take only the key. Raises TypeError."""
    name = name_of(function)
    if not callable(function):
        raise TypeError(f"expected a function of an object and a context, found {function!r}")
    signature = signature_of(function)
    parameters = signature.parameters
    if len(parameters) < 2 or signature.required > 2:
        raise TypeError(
            f"{name} must take two parameters, the object and the context: {_shape(name, kind)}; "
            f"found {signature.whole}"
        )
    check_keywords(name, signature)
    if is_generator(function):
        raise TypeError(f"{name} has a yield, so a call would not run it: return None or a Result instead")
    if _is_context(parameters[0].annotation):
        raise TypeError(f"{name} has its parameters in the wrong order: the object comes first, {_shape(name, kind)}")
    blocking = not is_async(function)
    takes_key = _check_subject(name, parameters[0].annotation, kind)
    if takes_key and not by_key:
        raise TypeError(f"{name} takes the key alone, but only reconcilers can: annotate it with {kind.__name__}")
    _check_context(name, parameters[1].annotation, kind, blocking=blocking)
    return Handler(function=function, name=name, blocking=blocking, by_key=takes_key)


def _bound(given: Any, kind: type[Object]) -> Handlers:
    """Returns the handlers of an instance. Those of a class are only checked, and never called."""

    def method(name: str, *, by_key: bool = False) -> Handler | None:
        if getattr(given, name, None) is None:
            return None
        return check_handler(method_of(given, name), kind, by_key=by_key)

    return Handlers(reconcile=method("reconcile", by_key=True), finalize=method("finalize"), deleted=method("deleted"))


def _check_class(cls: type, kind: type[Object]) -> None:
    _check_method_names(cls)
    if not hasattr(cls, "reconcile"):
        raise TypeError(f"{cls.__name__} has no method reconcile(self, obj: {kind.__name__}, ctx)")
    try:
        inspect.signature(cls).bind()
    except TypeError as error:
        raise TypeError(
            f"{cls.__name__} cannot be instantiated without arguments ({error}): pass an instance instead,"
            f" operator.reconciles({kind.__name__})({cls.__name__}(...))"
        ) from None
    except ValueError:  # a class without a known signature
        return
    _bound(cls, kind)


def _check_method_names(cls: type) -> None:
    """Raises TypeError for a method whose name is a misspelled handler name, because nothing would call it."""
    for name, _ in inspect.getmembers(cls, inspect.isroutine):
        meant = None if name.startswith("_") or name in _METHODS else nearest(name, _METHODS, likeness=0.8)
        if meant is not None and not hasattr(cls, meant) and _may_be_handler(method_of(cls, name)):
            raise TypeError(
                f"{cls.__name__} has a method {name!r}, which nothing calls. Did you mean {meant!r}? The methods are:"
                f" {', '.join(_METHODS)}; the name of a method of your own may begin with _"
            )


def _may_be_handler(method: Any) -> bool:
    """Returns whether a method takes an object and a context, according to its annotations."""
    parameters = signature_of(method).parameters
    return len(parameters) == 2 and (
        parameters[1].annotation is inspect.Parameter.empty or _is_context(parameters[1].annotation)
    )


def _check_subject(name: str, annotation: Any, kind: type[Object]) -> bool:
    """Returns whether the first parameter is a key."""
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] in ("ObjectKey", "Request")
    if annotation is ObjectKey:
        return True
    if isinstance(annotation, type) and issubclass(annotation, Object) and not issubclass(kind, annotation):
        raise TypeError(
            f"{name} takes a {annotation.__name__}, but is registered for {kind.__name__}:"
            " annotate it with that, or with ObjectKey for the key alone"
        )
    return False


def _check_context(name: str, annotation: Any, kind: type[Object], *, blocking: bool) -> None:
    context = get_origin(annotation) or annotation
    if context is Context and blocking:
        raise TypeError(
            f"{name} is a plain function, so it runs in a thread: make it async def, or annotate its context with"
            f" BlockingContext[{kind.__name__}]"
        )
    if context is BlockingContext and not blocking:
        raise TypeError(f"{name} is async, so its context is a Context[{kind.__name__}], not a BlockingContext")


def _is_context(annotation: Any) -> bool:
    return (get_origin(annotation) or annotation) in (Context, BlockingContext)


def _shape(name: str, kind: type[Object]) -> str:
    """Returns the signature of a handler."""
    return f"async def {name.rpartition('.')[2]}(obj: {kind.__name__}, ctx: Context[{kind.__name__}])"
