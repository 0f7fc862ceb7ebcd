"""The audit log: which user made which request and how it ended, in the format of kube-apiserver.

One `audit.k8s.io/v1` Event per line and stage, at level Metadata: never a body, never a token. Requests are logged when
the response is complete (`ResponseComplete`), watches also when they start (`ResponseStarted`), as with the policy

    omitStages: [RequestReceived]
    rules: [{level: Metadata}]
"""

from __future__ import annotations

import ipaddress
import logging
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from kubewright.client import Request
from kubewright.clock import Clock
from kubewright.cluster.access import Admission, access_request_of
from kubewright.cluster.machinery._calls import Call, User, header_of
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._responses import ApiResponse, encode
from kubewright.rotating_file import RotatingFile

__all__ = ["AuditLog", "AuditRecord"]

_logger = logging.getLogger("kubewright.cluster")

_MAX_AGENT: Final = 1024
_MAX_ID: Final = 64
_TOKEN: Final = re.compile(r"(?i)([?&](?:access_|id_|refresh_)?token=)[^&]*")
_STATUS: Final = ("status", "message", "reason", "details")
_QUOTING: Final = frozenset({"secrets", "tokenreviews"})
"""Resources whose error messages may quote a secret: the message is omitted."""


class AuditLog:
    """The audit log of one cluster. Raises OSError if the file cannot be opened."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._file = RotatingFile(path, what="audit log", logger=_logger)
        self._clock = clock

    def begin(self, request: Request, *, uri: str, source: str) -> AuditRecord:
        """Starts the record of a request. `source` is the client's address; "" for a client in this process."""
        return AuditRecord(self, request, uri=uri, source=source)

    def now(self) -> str:
        """Returns the current time in the format of events."""
        return _text(self._clock.now())

    def write(self, event: JSONObject) -> None:
        """Appends one event."""
        self._file.write(encode(event) + b"\n")

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class AuditRecord:
    """The record of one request. `admission` and `call` are set while it is handled."""

    def __init__(self, log: AuditLog, request: Request, *, uri: str, source: str) -> None:
        self._log = log
        self._request = request
        self._uri = _TOKEN.sub(r"\1(hidden)", uri)
        self._source = source
        self._received = log.now()
        given = header_of(request, "Audit-ID")
        self.id = given if given.isprintable() and 0 < len(given) <= _MAX_ID else str(uuid.uuid4())
        self.admission = Admission()
        self.call: Call | None = None

    def responded(self, response: ApiResponse) -> None:
        """Logs the response; for a watch, when it starts and when it ends."""
        if self.admission.user is None:  # not authenticated: the real server logs only this stage
            self._write("ResponseStarted", response)
        elif response.stream is None:
            self._write("ResponseComplete", response)
        else:
            self._write("ResponseStarted", response)
            response.stream.when_closed(lambda: self._write("ResponseComplete", response))

    def dropped(self) -> None:
        """Logs a request whose connection was closed without a response."""
        self._write("ResponseComplete", None)

    def _write(self, stage: str, response: ApiResponse | None) -> None:
        admission = self.admission
        asked = access_request_of(self._request, admission.impersonated or admission.user or User(""))
        event: JSONObject = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": self.id,
            "stage": stage,
            "requestURI": self._uri,
            "verb": asked.verb,
            "user": _user(admission.user),
        }
        if admission.impersonated is not None:
            event["impersonatedUser"] = _user(admission.impersonated)
            if admission.constraint:
                event["authenticationMetadata"] = {"impersonationConstraint": admission.constraint}
        if addresses := self._addresses():
            event["sourceIPs"] = addresses
        if agent := header_of(self._request, "User-Agent"):
            event["userAgent"] = agent if len(agent) <= _MAX_AGENT else f"{agent[:_MAX_AGENT]}...TRUNCATED"
        if asked.path is None:
            event["objectRef"] = self._reference(asked.group, asked.resource, asked.subresource)
        if response is not None:
            event["responseStatus"] = _status(response, hide=asked.resource in _QUOTING)
        event["requestReceivedTimestamp"], event["stageTimestamp"] = self._received, self._log.now()
        if annotations := self._annotations():
            event["annotations"] = annotations
        self._log.write(event)

    def _reference(self, group: str, resource: str, subresource: str) -> JSONObject:
        asked = access_request_of(self._request, User(""))
        sent = self.call.sent if self.call is not None else {}
        parts = self._request.path.strip("/").split("/")
        made = {
            "resource": resource,
            "namespace": asked.namespace or sent.get("namespace", ""),
            "name": asked.name or sent.get("name", ""),
            "uid": sent.get("uid", ""),
            "apiGroup": group,
            "apiVersion": parts[2] if parts[0] == "apis" else parts[1],
            "resourceVersion": sent.get("resourceVersion", ""),
            "subresource": subresource,
        }
        return {name: value for name, value in made.items() if value}

    def _annotations(self) -> JSONObject:
        made: JSONObject = dict(self.call.annotations) if self.call is not None else {}
        decision = self.admission.decision
        if decision is not None:
            made["authorization.k8s.io/decision"] = "allow" if decision.allowed else "forbid"
            made["authorization.k8s.io/reason"] = decision.reason
        return dict(sorted(made.items()))

    def _addresses(self) -> list[str]:
        """Returns the addresses that proxies report, and that of the peer."""
        forwarded = [each.strip() for each in header_of(self._request, "X-Forwarded-For").split(",")]
        named = [each for each in (*forwarded, header_of(self._request, "X-Real-Ip")) if _is_address(each)]
        return [each for each in dict.fromkeys((*named, self._source)) if each]


def _user(user: User | None) -> JSONObject:
    if user is None:
        return {}
    made = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {name: list(values) for name, values in user.extra.items()},
    }
    return {name: value for name, value in made.items() if value}


def _status(response: ApiResponse, *, hide: bool) -> JSONObject:
    made: JSONObject = {"metadata": {}}
    if response.is_json and b'"kind":"Status"' in response.body[:200]:
        status = msgspec.json.decode(response.body)
        made |= {
            name: status[name] for name in _STATUS if name in status and not (hide and name in ("message", "details"))
        }
    made["code"] = response.status
    return made


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
