"""Builds and sends requests. The verbs in `_client` and `_subresources` use it."""

from __future__ import annotations

import copy
import os
import random
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeVar
from urllib.parse import urlsplit

from kubewright.api import FieldSelector, Object, ResourceInfo, Selector, decode
from kubewright.arguments import check_field_manager
from kubewright.client._config import ClientConfig
from kubewright.client._discovery import Discovery
from kubewright.client._errors import NotKubernetes, Status
from kubewright.client._load_config import load_config
from kubewright.client._rate_limit import RateLimit
from kubewright.client._retry import RetryPolicy
from kubewright.client._sender import RequestHook, Sender
from kubewright.client._transport import Request, Transport
from kubewright.client.wire import object_path, qualified_resource, resource_path
from kubewright.clock import Clock, SystemClock
from kubewright.durations import Duration, check_duration

if TYPE_CHECKING:  # the groups are imported on first use
    from kubewright.api.meta.v1 import LabelSelector

__all__ = ["APPLY_TYPE", "JSON_TYPE", "FieldValidation", "Query", "Requests", "Selection", "delete_options", "query_of"]

R = TypeVar("R", bound=Object)
Query: TypeAlias = list[tuple[str, str]]
FieldValidation: TypeAlias = Literal["Strict", "Warn", "Ignore"]
Selection: TypeAlias = "str | Mapping[str, str] | Selector | FieldSelector | LabelSelector"
"""A selector: a string, a selector object, or a mapping of names to the values they must have."""

JSON_TYPE = "application/json"
APPLY_TYPE = "application/apply-patch+yaml"  # JSON is YAML


class Requests:
    """One API server, one identity, and the settings that all requests share."""

    def __init__(
        self,
        config: ClientConfig | None = None,
        *,
        transport: Transport | None = None,
        namespace: str | None = None,
        field_manager: str = "kubewright",
        field_validation: FieldValidation = "Strict",
        user_agent: str | None = None,
        timeout: Duration = 60.0,
        retry: RetryPolicy | None = None,
        rate_limit: tuple[float, int] | None = None,
        hooks: Sequence[RequestHook] = (),
        clock: Clock | None = None,
        rng: random.Random | None = None,
    ) -> None:
        """Creates a client with these settings.

        Args:
            config: the cluster and the identity. Default: `load_config()`, unless a transport is given.
            transport: sends the requests instead of HTTP.
            namespace: the client's default namespace. Default: that of the configuration.
            field_manager: the name under which writes own their fields.
            field_validation: what the server does about fields that it does not know.
            user_agent: as the server's logs show it.
            timeout: the time for one attempt of one request: seconds, a timedelta, or "30s".
            retry: when failed requests are retried.
            rate_limit: requests per second and the size of a burst. Default: no limit.
            hooks: called around each attempt, to count, time and trace.
            clock: time. Default: the system clock.
            rng: randomness for jitter.
        """
        if config is None and transport is None:
            config = load_config()
        self._clock = clock or SystemClock()
        self._config = config
        self._transport = transport
        self._timeout = check_duration("timeout", timeout, zero=False)
        self._user_agent = user_agent or _default_user_agent()
        self._retry = retry or RetryPolicy()
        self._rate_limit = RateLimit(*rate_limit, self._clock) if rate_limit else None
        self._hooks = hooks
        self._rng = rng or random.Random()  # noqa: S311  # jitter, not a secret
        self._sender_made: Sender | None = None
        self._given_transport = transport is not None
        self._owner: Requests | None = None  # the owner of these connections, if this client shares them
        self.namespace = namespace or (config.namespace if config else "default")
        self.field_manager = check_field_manager(field_manager)
        self.field_validation = field_validation
        self.discovery = Discovery(self._read_path, self._clock)

    @property
    def clock(self) -> Clock:
        """The clock of this client."""
        return self._clock

    @property
    def rng(self) -> random.Random:
        """The randomness of this client, for jitter and names; not for secrets."""
        return self._rng

    @property
    def in_cluster(self) -> bool:
        """Whether the configuration is that of the pod in which this process runs."""
        return self._config is not None and self._config.source == "in-cluster"

    @property
    def config(self) -> ClientConfig | None:
        """The cluster and the identity; None for a client with its own transport."""
        return None if self._given_transport else self._config

    @property
    def has_twin(self) -> bool:
        """Whether `twin` can create a copy of this client."""
        return not self._given_transport and self._owner is None

    def twin(self, *, retry: RetryPolicy | None = None, timeout: Duration | None = None) -> Self:
        """Returns a copy of this client with its own connections, for another event loop; close it there.

        It has neither this client's rate limit nor its hooks, which belong to this event loop. Raises `ValueError` if
        this client was created with a transport or by `through`, which cannot be copied.
        """
        if not self.has_twin:
            raise ValueError(
                "this client was created with a transport, which cannot be copied: create a second client instead"
            )
        made = self._like_this(retry, timeout)
        made._transport, made._rate_limit, made._hooks = None, None, ()
        return made

    def through(
        self,
        layer: Callable[[Transport], Transport],
        *,
        retry: RetryPolicy | None = None,
        timeout: Duration | None = None,
        rate_limited: bool = True,
    ) -> Self:
        """Returns a client that wraps this one's transport. Each attempt of each request passes through the wrapper.

        It shares the connections of this client, and closing it does not close them.
        """
        made = self._like_this(retry, timeout)
        made._transport, made._owner = layer(self._opened_transport), self
        if not rate_limited:
            made._rate_limit = None
        return made

    def writing_as(self, field_manager: str) -> Self:
        """Returns a client whose writes own their fields under another name.

        It shares the connections of this client.
        """
        made = self.through(lambda transport: transport)
        made.field_manager = check_field_manager(field_manager)
        return made

    def with_hooks(self, *hooks: RequestHook) -> Self:
        """Returns a client with more hooks around each attempt, after its own.

        It shares the connections of this client.
        """
        made = self.through(lambda transport: transport)
        made._hooks = (*self._hooks, *hooks)
        return made

    @property
    def host(self) -> str:
        """The server's name and port, for metrics; "none" for a client with its own transport."""
        return urlsplit(self._config.server).netloc if self._config is not None else "none"

    def _like_this(self, retry: RetryPolicy | None, timeout: Duration | None) -> Self:
        made = copy.copy(self)
        made._sender_made = None
        made._retry = retry or self._retry
        made._timeout = self._timeout if timeout is None else check_duration("timeout", timeout, zero=False)
        made.discovery = Discovery(made._read_path, made._clock)
        return made

    @property
    def _opened_transport(self) -> Transport:
        if self._transport is None:
            from kubewright.client._http import HttpTransport

            assert self._config is not None
            self._transport = HttpTransport(self._config, self._clock)
        return self._transport

    @property
    def _sender(self) -> Sender:
        if self._sender_made is None:
            self._sender_made = Sender(
                self._opened_transport,
                clock=self._clock,
                rng=self._rng,
                retry=self._retry,
                user_agent=self._user_agent,
                rate_limit=self._rate_limit,
                hooks=self._hooks,
            )
        return self._sender_made

    async def _object(self, kind: type[R], request: Request) -> R:
        raw = await self._sender.read(request)
        if not raw.startswith(b"{"):
            message = "the response is not a Kubernetes object; is this the address of an API server?"
            raise NotKubernetes(Status(code=200, message=message), str(request))
        return decode(kind, raw)

    async def _read_path(self, path: str, accept: str) -> bytes:
        return await self._sender.read(self._for_path("GET", path, None, accept))

    def _namespace(self, info: ResourceInfo, namespace: str | None) -> str:
        return (namespace or self.namespace) if info.namespaced else ""

    def _for_kind(
        self,
        method: str,
        verb: str,
        info: ResourceInfo,
        namespace: str | None,
        *,
        query: Query | None = None,
        repeatable: bool = False,
    ) -> Request:
        return Request(
            method=method,
            path=resource_path(info, namespace),
            query=query or [],
            headers={"Accept": JSON_TYPE},
            timeout=self._timeout,
            verb=verb,
            resource=qualified_resource(info),
            namespace=namespace or "",
            repeatable=repeatable,
        )

    def _for_object(
        self,
        method: str,
        verb: str,
        info: ResourceInfo,
        namespace: str | None,
        name: str,
        *,
        subresource: str | None = None,
        query: Query | None = None,
        repeatable: bool = False,
    ) -> Request:
        where = self._namespace(info, namespace)
        return Request(
            method=method,
            path=object_path(info, where, name, subresource),
            query=query or [],
            headers={"Accept": JSON_TYPE},
            timeout=self._timeout,
            verb=verb,
            resource=qualified_resource(info, subresource),
            namespace=where,
            name=name,
            repeatable=repeatable,
        )

    def _for_path(self, method: str, path: str, query: Mapping[str, str] | None, accept: str) -> Request:
        if not path.startswith("/"):
            raise ValueError(f"a path must begin with /, not {path!r}")
        return Request(
            method=method.upper(),
            path=path,
            query=[*(query or {}).items()],
            headers={"Accept": accept},
            timeout=self._timeout,
            repeatable=method.upper() in ("GET", "HEAD"),
        )

    def _write_query(self, *, dry_run: bool, field_manager: str | None = None) -> Query:
        return query_of(
            fieldManager=self.field_manager if field_manager is None else check_field_manager(field_manager),
            fieldValidation=self.field_validation,
            dryRun="All" if dry_run else None,
        )


def with_body(request: Request, body: bytes, content_type: str = JSON_TYPE, *, repeatable: bool = False) -> Request:
    """Returns the request with a body."""
    request.body = body
    request.headers["Content-Type"] = content_type
    request.repeatable = repeatable
    return request


def query_of(**parameters: str | int | None) -> Query:
    """Returns the query parameters that are not None."""
    return [(name, str(value)) for name, value in parameters.items() if value is not None]


def selector_text(selection: Selection | None) -> str | None:
    """Returns a selector in the server's syntax."""
    if selection is None or isinstance(selection, str):
        return selection
    if isinstance(selection, Mapping):
        return ",".join(f"{name}={value}" for name, value in selection.items())
    if isinstance(selection, Selector | FieldSelector):
        return str(selection)
    from kubewright.api.meta.v1 import LabelSelector

    if isinstance(selection, LabelSelector):
        return str(Selector.from_label_selector(selection))
    raise TypeError(
        f"{selection!r} is not a selector: pass a string, a mapping of names to values, or a selector object"
    )


def delete_options(
    propagation: str | None,
    grace_period_seconds: int | None,
    uid: str | None = None,
    resource_version: str | None = None,
    *,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Returns the body of a delete request."""
    preconditions = {
        name: value for name, value in (("uid", uid), ("resourceVersion", resource_version)) if value is not None
    }
    options: dict[str, Any] = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "propagationPolicy": propagation,
        "gracePeriodSeconds": grace_period_seconds,
        "preconditions": preconditions or None,
        "dryRun": ["All"] if dry_run else None,
    }
    return {name: value for name, value in options.items() if value is not None}


def _default_user_agent() -> str:
    from kubewright.version import VERSION

    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "python"
    safe = "".join(c for c in program if c.isalnum() or c in "-_.") or "python"
    return f"{safe} kubewright/{VERSION} ({_machine()})"


def _machine() -> str:
    if hasattr(os, "uname"):  # as in `platform`, which takes some milliseconds to import
        return f"{os.uname().sysname.lower()}/{os.uname().machine}"
    import platform

    return f"{platform.system().lower()}/{platform.machine()}"
