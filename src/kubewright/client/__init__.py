"""The client of a Kubernetes API server.

`Client` (async) and `BlockingClient` (for synchronous scripts) have the verbs of the API, generic over the class of the
object: `await client.get(apps.Deployment, "web", "default")`. `load_config` finds the cluster as kubectl does.

Guarantees of writes:

- `update` sends only your changes since the object was read. So fields that the model does not know survive, also
  inside lists and after copies.
- Every value that you set is sent, also 0, "" and an empty list. Only None is not sent.

Every failed request raises an `ApiError` with the server's `Status`. Its subclass tells programs how to react
(`NotFound`, `Conflict`, `Invalid`, ...). An invalid configuration raises a `ConfigError`. Requests are retried where
that is safe (`RetryPolicy`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.client._blocking import BlockingClient, BlockingDiscovery
from kubewright.client._client import Client, Propagation
from kubewright.client._config import (
    TLS,
    ClientConfig,
    Credentials,
    ExecPlugin,
    Impersonation,
)
from kubewright.client._discovery import Discovery, ServedResource, ServerVersion
from kubewright.client._errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Cause,
    ConfigError,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    NotKubernetes,
    RequestTooLarge,
    ResponseTooLarge,
    Status,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from kubewright.client._listing import Listing, ObjectList, RawPage
from kubewright.client._load_config import context_names, load_config
from kubewright.client._patches import JsonPatch, MergePatch, Patch, StrategicPatch
from kubewright.client._request_headers import RequestHeaders
from kubewright.client._requests import FieldValidation, Selection
from kubewright.client._retry import RetryPolicy
from kubewright.client._sender import Outcome, RequestHook
from kubewright.client._trace import Trace, current_trace
from kubewright.client._transport import ConnectionLost, Request, Response, ResponseBody, TooLarge, Transport
from kubewright.client.files import AppliedObject, ApplyFileError
from kubewright.client.watch import EventType, Watch, WatchEvent, WatchStream
from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.client._http import HttpTransport
    from kubewright.client._http_response import HttpResponse
    from kubewright.client._origin import HttpOrigin
    from kubewright.client.credentials import tls_context

__all__ = [
    "TLS",
    "AlreadyExists",
    "ApiError",
    "AppliedObject",
    "ApplyFileError",
    "BadRequest",
    "BlockingClient",
    "BlockingDiscovery",
    "Cause",
    "Client",
    "ClientConfig",
    "ConfigError",
    "Conflict",
    "ConnectionLost",
    "Credentials",
    "Discovery",
    "EventType",
    "ExecPlugin",
    "Expired",
    "FieldValidation",
    "Forbidden",
    "Gone",
    "HttpOrigin",
    "HttpResponse",
    "HttpTransport",
    "Impersonation",
    "Invalid",
    "JsonPatch",
    "Listing",
    "MergePatch",
    "NotFound",
    "NotKubernetes",
    "ObjectList",
    "Outcome",
    "Patch",
    "Propagation",
    "RawPage",
    "Request",
    "RequestHeaders",
    "RequestHook",
    "RequestTooLarge",
    "Response",
    "ResponseBody",
    "ResponseTooLarge",
    "RetryPolicy",
    "Selection",
    "ServedResource",
    "ServerVersion",
    "Status",
    "StrategicPatch",
    "Timeout",
    "TooLarge",
    "TooManyRequests",
    "Trace",
    "Transport",
    "Unauthorized",
    "Unavailable",
    "Watch",
    "WatchEvent",
    "WatchStream",
    "context_names",
    "current_trace",
    "load_config",
    "tls_context",
]

# The HTTP parser and the connections are imported on first use, like in `Client`.
_MODULES = {
    "HttpTransport": "_http",
    "HttpOrigin": "_origin",
    "HttpResponse": "_http_response",
    "tls_context": "kubewright.client.credentials",
}

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)
