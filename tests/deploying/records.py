"""What an API server answered to a user, as the server itself tells it."""

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
    """What a server answered."""

    def of(self, user: str, *statuses: int) -> set[str]:
        """The paths of that user's requests that were answered so; complete a moment after their end."""


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
    """Every request that an embedded cluster answers from now on."""

    def __init__(self, cluster: Cluster) -> None:
        self._answers: list[tuple[str, str, int]] = []
        answer_to = cluster.dispatcher.handle

        async def noting(request: Request, user: User, *, uri: str = "", source: str = "") -> ApiResponse:
            answer = await answer_to(request, user, uri=uri, source=source)
            self._answers.append((user.name, request.path, answer.status))
            return answer

        cluster.dispatcher.handle = noting  # type: ignore[method-assign]  # the server's own door

    def of(self, user: str, *statuses: int) -> set[str]:
        """See `Record`."""
        return {path for name, path, status in self._answers if name == user and status in statuses}
