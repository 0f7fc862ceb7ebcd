"""Records of the responses of an API server, by user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from kubewright.client import Request
from kubewright.cluster import Cluster, User
from kubewright.cluster.machinery import ApiResponse

__all__ = ["POLICY", "AuditLog", "Record", "Requests"]

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
"""


class Record(Protocol):
    """The responses of an API server."""

    def of(self, user: str, *statuses: int) -> set[str]:
        """Returns the paths of this user's requests with these statuses. Complete shortly after the requests end."""


class AuditLog:
    """The audit log of kube-apiserver."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def of(self, user: str, *statuses: int) -> set[str]:
        """See `Record`."""
        entries = [json.loads(line) for line in self._file.read_text().rpartition("\n")[0].splitlines()]
        return {
            entry["requestURI"].partition("?")[0]
            for entry in entries
            if entry["user"]["username"] == user and entry["responseStatus"]["code"] in statuses
        }


class Requests:
    """Records every request to an embedded cluster from now on."""

    def __init__(self, cluster: Cluster) -> None:
        self._answers: list[tuple[str, str, int]] = []
        handle = cluster.dispatcher.handle

        async def record(request: Request, user: User, *, uri: str = "", source: str = "") -> ApiResponse:
            answer = await handle(request, user, uri=uri, source=source)
            self._answers.append((user.name, request.path, answer.status))
            return answer

        cluster.dispatcher.handle = record  # type: ignore[method-assign]  # all requests pass this method

    def of(self, user: str, *statuses: int) -> set[str]:
        """See `Record`."""
        return {path for name, path, status in self._answers if name == user and status in statuses}
