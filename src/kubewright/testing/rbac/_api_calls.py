"""`ApiCall`: a request as the API server's authorizer sees it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from kubewright.client import Request

__all__ = ["ApiCall", "calls_of"]

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_CREATED = 201


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ApiCall:
    """A call in terms of RBAC. A non-resource request has a `url` instead of a resource."""

    verb: str
    group: str = ""
    resource: str = ""
    """The plural, with the subresource after a slash: `foos/status`."""
    namespace: str = ""
    name: str = ""
    url: str = ""

    def __str__(self) -> str:
        if self.url:
            return f"{self.verb} {self.url}"
        plural, slash, part = self.resource.partition("/")
        resource = f"{plural}.{self.group}{slash}{part}" if self.group else self.resource
        where = f" in namespace {self.namespace}" if self.namespace else ""
        return f"{self.verb} {resource}{f' {self.name}' if self.name else ''}{where}"


def calls_of(request: Request, status: int) -> list[ApiCall]:
    """Returns the calls that the server authorized for a request: usually one. An apply that creates has two."""
    path, _, text = request.path.partition("?")
    query = dict(request.query) | dict(pair.partition("=")[::2] for pair in text.split("&") if pair)
    parts = [unquote(part) for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return [ApiCall(verb=request.method.lower(), url=path)]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    resource = "/".join([rest[0], *rest[2:3]])
    verb = _verb(request.method, query, named=bool(name))
    if not name and verb in ("list", "watch", "deletecollection"):
        # The authorizer treats a list with a field selector for one name as a request for that name.
        name = query.get("fieldSelector", "").removeprefix("metadata.name=") if _is_name(query) else ""
    call = ApiCall(verb=verb, group=group, resource=resource, namespace=namespace, name=name)
    if verb == "patch" and status == _CREATED:
        return [call, ApiCall(verb="create", group=group, resource=resource, namespace=namespace, name=name)]
    return [call]


def _verb(method: str, query: dict[str, str], *, named: bool) -> str:
    if method in ("GET", "HEAD"):
        if query.get("watch") in ("true", "1"):
            return "watch"
        return "get" if named else "list"
    if method == "DELETE" and not named:
        return "deletecollection"
    return _VERBS.get(method, method.lower())


def _is_name(query: dict[str, str]) -> bool:
    selector = query.get("fieldSelector", "")
    return selector.startswith("metadata.name=") and "," not in selector
