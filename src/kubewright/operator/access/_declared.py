"""`DeclaredAccess`: limits the client of a run to the calls that the operator declares.

A kind that is declared with `verbs=` is limited to these verbs. Any other call raises `NotDeclared` before it is sent,
even on a cluster where the program has every permission. So the first run on a laptop shows which permissions the
generated roles would lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from kubewright.client import Client, Request, Response, Transport
from kubewright.client.wire import qualified_resource
from kubewright.controller import NotDeclared, Registration
from kubewright.operator.settings import Settings
from kubewright.rbac import Permission

__all__ = ["CallObserver", "DeclaredAccess", "DeclaringOperator", "observing_calls"]

ClientT = TypeVar("ClientT", bound=Client)

CallObserver: TypeAlias = "Callable[[DeclaredAccess, Request, int], None]"
"""Called for each call of a run when its response begins, with the access of the run, the request, the HTTP status."""


class DeclaringOperator(Protocol):
    """The declarations of an operator, as `OperatorDefinition` has them."""

    name: str
    has_roles: bool

    def permissions(self, settings: Settings | None = None) -> list[Permission]:
        """Returns every permission that the program needs."""

    def registrations(self, settings: Settings | None = None) -> list[Registration[Any]]:
        """Returns the controllers as they will run."""


# A context variable, not a list: a run takes the observers of the code that starts it, and shares them with no other.
_observers: Final[ContextVar[tuple[CallObserver, ...]]] = ContextVar("kubewright_call_observers", default=())


@contextmanager
def observing_calls(observer: CallObserver) -> Iterator[None]:
    """Lets an observer see the calls of every run that starts within the block. For test tools.

    The block may be entered and left in different contexts, as fixtures do. Runs that start within it call the
    observer until they end.
    """
    _observers.set((*_observers.get(), observer))
    try:
        yield
    finally:
        _observers.set(tuple(each for each in _observers.get() if each is not observer))


class DeclaredAccess:
    """The calls that one run of an operator may make.

    Attributes:
        operator: the operator.
        permissions: the permissions that it declares, with the settings of this run.
        namespaces: the namespaces that the run is limited to; empty means all.
    """

    def __init__(self, operator: DeclaringOperator, settings: Settings) -> None:
        self.operator = operator
        self.permissions = tuple(operator.permissions(settings))
        self.namespaces = settings.namespaces
        self._limits = limits_of(operator.registrations(settings), self.permissions)
        self._observers = _observers.get()

    def limit(self, client: ClientT) -> ClientT:
        """Returns the client with every request checked first."""
        return client.through(lambda transport: _LimitedTransport(transport, self))

    def check(self, verb: str, resource: str) -> None:
        """Raises `NotDeclared` for a call that `verbs=` excludes."""
        allowed = self._limits.get(resource.partition("/")[0])
        if allowed is not None and not allowed & {(resource, verb), (resource, "*")}:
            plural, _, part = resource.partition("/")
            wanted = f"{verb} {part}" if part else verb
            declared = ", ".join(sorted(f"{v} {r.partition('/')[2]}".strip() for r, v in allowed))
            raise NotDeclared(
                f"{wanted} of {plural} is not declared: the declared verbs are {declared}. Add {wanted!r} to verbs="
                f" where {plural} is declared"
            )

    def observed(self, request: Request, status: int) -> None:
        """Passes a call to the observers."""
        for observer in self._observers:
            observer(self, request, status)


class _LimitedTransport:
    def __init__(self, transport: Transport, access: DeclaredAccess) -> None:
        self._transport = transport
        self._access = access

    async def send(self, request: Request) -> Response:
        if request.resource:
            self._access.check(request.verb, request.resource)
        response = await self._transport.send(request)
        self._access.observed(request, response.status)
        return response

    async def close(self) -> None:
        await self._transport.close()


def limits_of(
    registrations: Sequence[Registration[Any]], permissions: Iterable[Permission]
) -> dict[str, set[tuple[str, str]]]:
    """Returns the allowed calls of each resource that is declared with `verbs=`: pairs of (sub)resource and verb."""
    narrowed = {
        qualified_resource(info)
        for registration in registrations
        for info, verbs in (
            (registration.info, registration.verbs),
            *((owns.info, owns.verbs) for owns in registration.owns),
        )
        if verbs is not None
    }
    limits: dict[str, set[tuple[str, str]]] = {name: set() for name in narrowed}
    for one in permissions:
        name = one.qualified.partition("/")[0]
        if name in limits:
            limits[name].add((one.qualified, one.verb))
    return limits
