"""An API request after parsing: resource, verb, options, user."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

from kubewright.client import Request
from kubewright.cluster.machinery._failures import (
    PlainFailure,
    bad_request,
    invalid_options,
    method_not_allowed,
    no_such_resource,
    unsupported,
)
from kubewright.cluster.machinery._field_errors import FieldError, invalid, not_supported
from kubewright.cluster.machinery._go_durations import duration_problem
from kubewright.cluster.machinery._resources import ResourceType, ResourceTypes

__all__ = ["Call", "User", "dry_run_errors", "header_of", "parse_call"]

_PROXY: Final = "proxy"
_STREAMS: Final = frozenset({"attach", "exec", "log", "portforward"})
_NO_PAGE: Final = "404 page not found\n"
_MAX_MANAGER: Final = 128
_FALSE: Final = frozenset({"0", "false"})
_VERBS: Final = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_OPTIONS: Final = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
}


def header_of(request: Request, name: str) -> str:
    """Returns a header of a request; the name is case-insensitive. Returns "" if the header is absent."""
    headers = request.headers
    if name in headers:
        return headers[name]
    lower = name.lower()
    return next((value for given, value in headers.items() if given.lower() == lower), "")


@dataclass(frozen=True, slots=True)
class User:
    """The user that sent a request."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


@dataclass(slots=True, kw_only=True)
class Call:
    """A request for a resource. `warnings` are sent with the response, also with an error response."""

    request: Request
    user: User
    verb: str
    type: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    """Audit annotations that admission plugins and webhooks add."""
    source: str = ""
    """The address of the client; empty for a client in this process."""
    sent: Mapping[str, str] = field(default_factory=dict)
    """The name, namespace, uid and resourceVersion in the body, as far as present. For the audit log."""
    parsed_yaml: list[object] = field(default_factory=list)
    """The value of a long YAML body, or its `InvalidYAML`, if it was parsed in advance. Removed when it is used."""

    @property
    def proxied(self) -> bool:
        """Whether the request is for a program behind a pod or Service, and not for this server."""
        return self.subresource == _PROXY

    @property
    def dry_run(self) -> bool:
        """Whether the request must not write anything."""
        return self.query.get("dryRun", "") != ""

    def values(self, name: str) -> list[str]:
        """Returns all values of a query parameter that may be repeated."""
        return [value for key, value in self.request.query if key == name and value]

    def flag(self, name: str) -> bool:
        """Returns a boolean query parameter: true unless it is absent, `false` or `0`, as in Go clients' options."""
        value = self.query.get(name)
        return value is not None and value.lower() not in _FALSE

    def number(self, name: str) -> int | None:
        """Returns an integer query parameter; None if it is absent."""
        text = self.query.get(name, "")
        if not text:
            return None
        try:
            return int(text)
        except ValueError:
            raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None

    @property
    def field_validation(self) -> str:
        """How unknown fields are handled: `Strict`, `Warn` (the default) or `Ignore`."""
        return self.query.get("fieldValidation", "") or "Warn"

    def header(self, name: str) -> str:
        """Returns a header of the request."""
        return header_of(self.request, name)

    def check_options(self, verb: str | None = None) -> None:
        """Raises `Failure` for invalid options."""
        errors: list[FieldError] = []
        verb = verb or self.verb
        if self.query:
            errors += dry_run_errors(self.values("dryRun"))
            validation = self.query.get("fieldValidation")
            if verb != "delete" and validation and validation not in ("Strict", "Warn", "Ignore"):
                errors.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
            errors += _manager_errors(self.query.get("fieldManager", ""))
        if errors:
            raise invalid_options(_OPTIONS[verb], errors)


def dry_run_errors(stages: list[str]) -> list[FieldError]:
    """Returns the errors of the option `dryRun`, which is a list of stages."""
    if set(stages) <= {"All"}:
        return []
    shown = json.dumps(stages, separators=(",", ":"), ensure_ascii=False)
    return [FieldError("FieldValueNotSupported", "dryRun", f'Unsupported value: {shown}: supported values: "All"')]


def _manager_errors(manager: str) -> list[FieldError]:
    errors = []
    if len(manager.encode()) > _MAX_MANAGER:
        errors.append(
            FieldError("FieldValueTooLong", "fieldManager", f"Too long: may not be more than {_MAX_MANAGER} bytes")
        )
    for position, character in enumerate(manager):
        if not character.isprintable():
            text = f"invalid character U+{ord(character):04X} (at position {len(manager[:position].encode())})"
            errors.append(invalid("fieldManager", manager, text))
    return errors


def parse_call(request: Request, user: User, types: ResourceTypes) -> Call | None:
    """Parses a request. Returns None if the path does not belong to a resource. Raises `Failure` for an invalid one."""
    parts = [unquote(part) for part in request.path.split("/")]
    if len(parts) < 4 or parts[0]:
        return None
    if parts[1] == "api":
        group, version, rest = "", parts[2], parts[3:]
    elif parts[1] == "apis" and len(parts) > 4:
        group, version, rest = parts[2], parts[3], parts[4:]
    else:
        return None
    while rest and not rest[-1]:
        rest.pop()
    if not rest:
        return None
    if rest[0] == "watch":
        raise unsupported("the old paths of watches, /watch/...: use ?watch=true")
    namespace = ""
    # `/namespaces/x/status` belongs to the namespace itself; any other path below a namespace is a resource in it.
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in ("status", "finalize")):
        namespace, rest = rest[1], rest[2:]
    type_ = types.find(group, version, rest[0])
    if type_ is None:
        known = any(each.group == group and not each.custom for each in types)
        raise no_such_resource() if known else PlainFailure(404, _NO_PAGE)
    if (len(rest) > 3 and rest[2] != _PROXY) or (namespace and not type_.namespaced):
        raise no_such_resource()
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and subresource not in type_.subresources:
        raise no_such_resource()
    if name and not subresource and type_.verbs == ("create",):
        raise no_such_resource()  # reviews have no names
    query: dict[str, str] = {}
    for key, value in request.query:
        query.setdefault(key, value)
    call = Call(
        request=request,
        user=user,
        verb="",
        type=type_,
        namespace=namespace,
        name=name,
        subresource=subresource,
        query=query,
    )
    call.verb = _verb(call)
    if (timeout := query.get("timeout")) and not (call.verb == "watch" or call.proxied or subresource in _STREAMS):
        problem = duration_problem(timeout)
        if problem:
            raise bad_request(f"invalid timeout specified in the request URL - {problem}")
    allowed = type_.subresources[subresource].verbs if subresource else type_.verbs
    if call.verb not in allowed and not call.proxied:
        raise method_not_allowed()
    if type_.namespaced and not namespace and call.verb not in ("list", "watch"):
        raise method_not_allowed() if not name else no_such_resource()
    return call


def _verb(call: Call) -> str:
    method = call.request.method
    if method in ("GET", "HEAD"):
        if call.name:  # also with `watch=true`: a single object is watched with a field selector
            return "get"
        return "watch" if call.flag("watch") else "list"
    if method == "DELETE":
        return "delete" if call.name else "deletecollection"
    verb = _VERBS.get(method)
    if call.proxied:
        return verb or ""
    if verb is None or ((verb == "create") != (not call.name) and not call.subresource):
        raise method_not_allowed()
    return verb
