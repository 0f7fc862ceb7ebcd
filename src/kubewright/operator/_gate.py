"""The operator's way to the server: it holds the program to what it declares, and tells whoever listens of its calls.

A kind that is declared with `verbs=` is limited to them: another call is refused with `NotDeclared` before it is sent,
also on a cluster where this program could do everything. So the first run on a laptop shows what the roles will lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from kubewright.client import Client, Request, Response, Transport
from kubewright.client.wire import qualified_resource
from kubewright.controller import NotDeclared, Registration
from kubewright.rbac import Permission

if TYPE_CHECKING:
    from kubewright.operator._operator import Operator
    from kubewright.operator._settings import Settings

__all__ = ["Gate", "Listener", "listeners"]

ClientT = TypeVar("ClientT", bound=Client)

Listener: TypeAlias = "Callable[[Gate, Request, int], None]"
"""Is told of each call of a running operator when its answer has begun: its gate, the request, the HTTP status."""

listeners: Final[list[Listener]] = []
"""For tests, which look at operators that others run. Nothing else belongs here."""


class Gate:
    """What one run of an operator may ask for.

    Attributes:
        operator: which one.
        permissions: what it declares, with the settings of this run.
        namespaces: the only ones that it looks at; none means all.
    """

    def __init__(self, operator: Operator, settings: Settings) -> None:
        self.operator = operator
        self.permissions = tuple(operator.permissions(settings))
        self.namespaces = settings.namespaces
        self._limits = limits_of(operator.registrations(settings), self.permissions)

    def around(self, client: ClientT) -> ClientT:
        """The client, with every request through the gate."""
        return client.through(lambda transport: _Gated(transport, self))

    def check(self, verb: str, resource: str) -> None:
        """Raise `NotDeclared` for a call that the program has declared not to make."""
        allowed = self._limits.get(resource.partition("/")[0])
        if allowed is not None and not allowed & {(resource, verb), (resource, "*")}:
            plural, _, part = resource.partition("/")
            wanted = f"{verb} {part}" if part else verb
            declared = ", ".join(sorted(f"{v} {r.partition('/')[2]}".strip() for r, v in allowed))
            raise NotDeclared(
                f"this program has declared that all it does with {plural} is {declared}; to {wanted} as well, add"
                f" {wanted!r} to the verbs= where {plural} is declared"
            )

    def tell(self, request: Request, status: int) -> None:
        """Tell the listeners of a call."""
        for listener in tuple(listeners):
            listener(self, request, status)


class _Gated:
    """A transport behind a gate."""

    def __init__(self, transport: Transport, gate: Gate) -> None:
        self._transport = transport
        self._gate = gate

    async def send(self, request: Request) -> Response:
        if request.resource:
            self._gate.check(request.verb, request.resource)
        response = await self._transport.send(request)
        self._gate.tell(request, response.status)
        return response

    async def close(self) -> None:
        await self._transport.close()


def limits_of(
    registrations: Sequence[Registration[Any]], permissions: Iterable[Permission]
) -> dict[str, set[tuple[str, str]]]:
    """For each resource that is declared with `verbs=` somewhere: every resource, subresources included, and verb."""
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
