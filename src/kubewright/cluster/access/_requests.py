"""Access requests: what a request asks the authorizer for, and the 403 of a denied one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

import msgspec

from kubewright.client import Request
from kubewright.cluster.machinery._calls import User
from kubewright.cluster.machinery._failures import Failure
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.names import path_segment_problems

__all__ = ["AccessRequest", "access_request_of", "forbidden_resource", "quoted", "quoted_list", "refusal"]

_VERBS: Final = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")
_VERBS_IN_PATHS: Final = ("watch", "proxy")
_FALSE: Final = ("false", "0")
_NAME: Final = re.compile(r"(?:^|,)metadata\.name==?([^,=!]+)(?=,|$)")
_HTML: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRequest:
    """The request attributes that the authorizer decides on. Non-resource requests only have `verb` and `path`."""

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None

    @property
    def combined(self) -> str:
        """Returns the resource as rules name it, with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource

    def to(self, verb: str) -> AccessRequest:
        """Returns the same request with another verb."""
        return replace(self, verb=verb)


def access_request_of(request: Request, user: User) -> AccessRequest:
    """Returns the access request of an HTTP request by its path alone. The resource need not exist."""
    path = unquote(request.path)
    parts = path.strip("/").split("/")
    group = ""
    if parts[0] == "api":
        rest = parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        rest = []
    if not rest:
        return AccessRequest(user=user, verb=request.method.lower(), path=path)
    verb = _VERBS.get(request.method, "")
    if rest[0] in _VERBS_IN_PATHS and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]  # also for the Namespace itself: a role in it may allow reading it
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 and verb != "proxy" else ""
    if not name and verb == "get":
        verb, name = _of_collection(request)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return AccessRequest(
        user=user, verb=verb, group=group, resource=rest[0], subresource=subresource, namespace=namespace, name=name
    )


def _of_collection(request: Request) -> tuple[str, str]:
    """Returns the verb, list or watch, and the name that the field selector restricts it to."""
    query = dict(reversed(request.query))  # the first value of each parameter counts
    verb = "watch" if "watch" in query and query["watch"].lower() not in _FALSE else "list"
    found = _NAME.search(query.get("fieldSelector", ""))
    return verb, found[1] if found is not None and not path_segment_problems(found[1]) else ""


def refusal(asked: AccessRequest, reason: str = "") -> Failure:
    """Returns the 403 with the exact message of the real server."""
    user, verb = quoted(asked.user.name), asked.verb
    if asked.path is not None:
        text = f"User {user} cannot {verb} path {quoted(asked.path)}"
    else:
        scope = f"in the namespace {quoted(asked.namespace)}" if asked.namespace else "at the cluster scope"
        what = f"resource {quoted(asked.combined)} in API group {quoted(asked.group)}"
        text = f"User {user} cannot {verb} {what} {scope}"
    text = text.translate(_HTML)
    return forbidden_resource(asked.group, asked.resource, asked.name, f"{text}: {reason}" if reason else text)


def forbidden_resource(group: str, resource: str, name: str, problem: str) -> Failure:
    """Returns a 403 for a resource that need not exist."""
    qualified = f"{resource}.{group}" if group else resource
    named = f"{qualified} {quoted(name)} is " if name else f"{qualified} is " if qualified else ""
    details: JSONObject = {"name": name, "group": group, "kind": resource}
    shown = {field: value for field, value in details.items() if value}
    return Failure(403, "Forbidden", f"{named}forbidden: {problem}", shown)


def quoted(string: str) -> str:
    """Returns the string in quotes, as Go's `%q` prints it."""
    return msgspec.json.encode(string).decode()


def quoted_list(strings: tuple[str, ...] | list[str]) -> str:
    """Returns the quoted strings as Go prints a slice."""
    return f"[{' '.join(quoted(string) for string in strings)}]"
