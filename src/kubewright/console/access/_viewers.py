"""`Viewer`: whoever looks at the console, with credentials of his own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from kubewright.api import authentication
from kubewright.client import (
    Client,
    ClientConfig,
    Credentials,
    Forbidden,
    Request,
    Response,
    Status,
    Transport,
    Unauthorized,
)
from kubewright.console.access._permissions import READING, Access, All, Visibility
from kubewright.console.kinds import Kind
from kubewright.durations import format_duration

if TYPE_CHECKING:
    from kubewright.clock import Clock

__all__ = [
    "FIELD_MANAGER",
    "READ_ONLY",
    "SignInDelayed",
    "SignInError",
    "SignInUnavailable",
    "Viewer",
    "username_of",
    "with_token",
    "without_credentials",
]

FIELD_MANAGER: Final = "kubewright-console"
READ_ONLY: Final = "this console is read-only: it was started with --read-only"

_REVIEWS: Final = (
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
)


class SignInError(Exception):
    """Why somebody may not come in, in words for him. Never with what he typed."""


class SignInUnavailable(SignInError):
    """The API server could not say whose token it is. Not a failed sign-in: the token may be valid."""


class SignInDelayed(SignInError):
    """Too many sign-ins from one address have failed. The next one is accepted after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many sign-ins from your address have failed. Try again in {format_duration(seconds)}.")
        self.seconds = seconds


class Viewer:
    """A name, and a client with the viewer's own credentials: what he does is done with it, and with nothing else.

    In a read-only console the client refuses every write, whoever asks it to.
    """

    def __init__(
        self,
        name: str,
        client: Client,
        *,
        read_only: bool = False,
        namespaces: Callable[[], Awaitable[Collection[str]]] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Somebody.

        Args:
            name: as the API server calls him.
            client: with his credentials.
            read_only: refuse every write.
            namespaces: which namespaces there are; those of `namespaces_of`. The client's own unless given.
            clock: time; the system's unless given.
        """
        self.name = name
        self.read_only = read_only
        self._namespaces = namespaces
        guarded = client.through(_ReadOnly) if read_only else client
        self.client = guarded.writing_as(FIELD_MANAGER)
        self.access = Access(self.client, clock, on_rejected=self._rejected)
        self.on_rejected: Callable[[], None] | None = None
        """Called when the API server does not know this viewer any more: his token has expired, say."""

    async def may(
        self, verb: str, kind: Kind, namespace: str | None = None, name: str | None = None, subresource: str = ""
    ) -> bool:
        """Whether the API server would let this viewer do that; without a namespace, in all of them.

        In a read-only console anonymous may do more than read. The answer is at most some seconds old.
        """
        if self.read_only and verb not in READING:
            return False
        return await self.access.may(verb, kind, namespace, name, subresource)

    async def may_see(self, kind: Kind, namespace: str, name: str) -> bool:
        """Whether this viewer may read this object: by its name, or because he may list its neighbors."""
        return await self.may("get", kind, namespace, name) or await self.may("list", kind, namespace)

    async def visibility(self, kind: Kind, among: Collection[str]) -> Visibility:
        """Which objects of a kind this viewer may see, in these namespaces."""
        return await self.access.visibility(kind, among)

    async def namespaces_of(self, kind: Kind) -> frozenset[str] | All:
        """Where this viewer may list objects of a kind: `ALL` or namespaces. Of a cluster-scoped kind, all or none."""
        among = await self._namespaces() if self._namespaces is not None else [self.client.namespace]
        return await self.access.namespaces_of(kind, among)

    def _rejected(self) -> None:
        if self.on_rejected is not None:
            self.on_rejected()

    def __repr__(self) -> str:
        return f"<Viewer {self.name!r}{', who may only read' if self.read_only else ''}>"


class _ReadOnly:
    """Around a transport: reads and questions pass, nothing else does, not even a dry run."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD") and not (request.method == "POST" and request.path in _REVIEWS):
            raise Forbidden(Status(code=403, reason="Forbidden", message=READ_ONLY), str(request))
        return await self._transport.send(request)

    async def close(self) -> None:
        await self._transport.close()


class _WithToken:
    """Around a transport without credentials: each request carries the token of one viewer."""

    def __init__(self, transport: Transport, token: str) -> None:
        self._transport = transport
        self._authorization = f"Bearer {token}"

    async def send(self, request: Request) -> Response:
        # A copy: the request itself ends up in messages.
        headers = {**request.headers, "Authorization": self._authorization}
        return await self._transport.send(replace(request, headers=headers))

    async def close(self) -> None:
        await self._transport.close()


def without_credentials(config: ClientConfig) -> ClientConfig:
    """The same cluster for anonymous in particular: neither credentials are left, nor whom they pretend to be."""
    return replace(config, credentials=Credentials(), impersonate=None, source="a viewer", context=None)


def with_token(anonymous: Client, token: str) -> Client:
    """A client of whoever has this token, on the connections of a client that has no credentials of its own."""
    return anonymous.through(lambda transport: _WithToken(transport, token))


async def username_of(client: Client) -> str:
    """Who a client is to the API server. Raises `Unauthorized` when it does not know, or has no name for him."""
    answer = await client.create(authentication.SelfSubjectReview())
    user = answer.status.user_info
    if user is None or not user.username:
        raise Unauthorized(Status(code=401, reason="Unauthorized", message="the API server has no name for this user"))
    return user.username
