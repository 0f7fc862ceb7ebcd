"""`Viewer`: a user of the console, with their own credentials."""

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
    "BearerToken",
    "SignInDelayed",
    "SignInError",
    "SignInUnavailable",
    "Viewer",
    "username_of",
    "with_token",
    "without_credentials",
]

FIELD_MANAGER: Final = "kubewright-console"
READ_ONLY: Final = "this console is read-only (started with --read-only)"

_REVIEWS: Final = (
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
    "/apis/authentication.k8s.io/v1/selfsubjectreviews",
)


class SignInError(Exception):
    """A rejected sign-in. The message is shown to the user and never contains their input."""


class SignInUnavailable(SignInError):
    """The API server could not verify a token. This is not a failed sign-in: the token may be valid."""


class SignInDelayed(SignInError):
    """Too many sign-ins from one address have failed. The next one is accepted after `seconds`."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many sign-ins from your address have failed. Try again in {format_duration(seconds)}.")
        self.seconds = seconds


class Viewer:
    """A user name, and a client with the user's own credentials, which performs all of the user's actions.

    In a read-only console the client rejects every write.
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
        """Creates a viewer.

        Args:
            name: the user name that the API server reports.
            client: a client with the user's credentials.
            read_only: reject every write.
            namespaces: returns the namespaces that `namespaces_of` checks. Default: the client's own namespace.
            clock: the source of time. Default: the system clock.
        """
        self.name = name
        self.read_only = read_only
        self._namespaces = namespaces
        guarded = client.through(_ReadOnly) if read_only else client
        self.client = guarded.writing_as(FIELD_MANAGER)
        self.access = Access(self.client, clock, on_rejected=self._rejected)
        self.on_rejected: Callable[[], None] | None = None
        """Called when the API server no longer accepts the viewer's credentials, such as an expired token."""

    async def may(
        self, verb: str, kind: Kind, namespace: str | None = None, name: str | None = None, subresource: str = ""
    ) -> bool:
        """Whether the API server would allow this request. Without a namespace: in all namespaces.

        In a read-only console only reads are allowed. The answer is at most 10 seconds old.
        """
        if self.read_only and verb not in READING:
            return False
        return await self.access.may(verb, kind, namespace, name, subresource)

    async def may_see(self, kind: Kind, namespace: str, name: str) -> bool:
        """Whether the viewer may read this object: by name, or because the viewer may list its namespace."""
        return await self.may("get", kind, namespace, name) or await self.may("list", kind, namespace)

    async def visibility(self, kind: Kind, among: Collection[str]) -> Visibility:
        """Returns which objects of a kind the viewer may see in these namespaces."""
        return await self.access.visibility(kind, among)

    async def readable(self, kind: Kind, among: Collection[str]) -> Visibility:
        """Returns which objects of a kind the viewer may `get` in these namespaces. Details that a list does not show,
        such as errors of the operator, require it.
        """
        return await self.access.visibility(kind, among, "get")

    async def namespaces_of(self, kind: Kind) -> frozenset[str] | All:
        """Returns the namespaces in which the viewer may list objects of a kind: `ALL`, some, or none. For a
        cluster-scoped kind: `ALL` or none.
        """
        among = await self._namespaces() if self._namespaces is not None else [self.client.namespace]
        return await self.access.namespaces_of(kind, among)

    def _rejected(self) -> None:
        if self.on_rejected is not None:
            self.on_rejected()

    def __repr__(self) -> str:
        return f"<Viewer {self.name!r}{', read-only' if self.read_only else ''}>"


class _ReadOnly:
    """A transport that passes reads and access reviews, and rejects everything else, including dry runs."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        reads = request.method in ("GET", "HEAD") and not request.upgrade  # an upgrade runs commands in a pod
        if not reads and not (request.method == "POST" and request.path in _REVIEWS):
            raise Forbidden(Status(code=403, reason="Forbidden", message=READ_ONLY), str(request))
        return await self._transport.send(request)

    async def close(self) -> None:
        await self._transport.close()


class BearerToken:
    """A viewer's token. Its value changes when the token is renewed."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<BearerToken>"


class _WithToken:
    """A transport that adds one viewer's token to each request."""

    def __init__(self, transport: Transport, token: BearerToken) -> None:
        self._transport = transport
        self._token = token

    async def send(self, request: Request) -> Response:
        # A copy, because error messages contain the request itself.
        headers = {**request.headers, "Authorization": f"Bearer {self._token.value}"}
        return await self._transport.send(replace(request, headers=headers))

    async def close(self) -> None:
        await self._transport.close()


def without_credentials(config: ClientConfig) -> ClientConfig:
    """Returns the configuration of the same cluster without credentials and impersonation."""
    return replace(config, credentials=Credentials(), impersonate=None, source="a viewer", context=None)


def with_token(anonymous: Client, token: str | BearerToken) -> Client:
    """Returns a client with this token that shares the connections of a client without credentials."""
    bearer = BearerToken(token) if isinstance(token, str) else token
    return anonymous.through(lambda transport: _WithToken(transport, bearer))


async def username_of(client: Client) -> str:
    """Returns the user name of a client. Raises `Unauthorized` if the API server rejects its credentials or reports no
    name.
    """
    answer = await client.create(authentication.SelfSubjectReview())
    user = answer.status.user_info
    if user is None or not user.username:
        raise Unauthorized(
            Status(code=401, reason="Unauthorized", message="the API server reports no name for this user")
        )
    return user.username
