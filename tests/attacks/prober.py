"""Probes an attacked process from another process, which `tests/attacks/nursery.py` forks.

The prober writes one line of JSON for each probe until standard input ends. A line on standard input ends the pause
before the next probe. It uses only the standard library and blocking sockets, so that nothing in it waits for the
attacker or for the code under test.

A probe is late only by the time that the attacked process is responsible for. The kernel counts for each thread how
long it was ready to run and had no CPU (`/proc/PID/schedstat`). That time is subtracted, for the attacked process and
for the prober. What remains is the time in which the attacked process computed or slept, so the load of the machine
does not decide the result.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import ssl
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypedDict
from urllib.parse import urlsplit

__all__ = ["Outcome", "Target", "main"]

_PAUSE_SECONDS: Final = 0.1
_POLL_SECONDS: Final = 0.02
_TIMEOUT_SECONDS: Final = 190.0
_SILENT_SECONDS: Final = 0.1
"""`ServerLimits.silent_seconds`: a server at its limit keeps a connection for so long that has sent nothing."""
_LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


class Target(TypedDict, total=False):
    """Who is probed, and how."""

    pids: list[int]
    """The attacked process, and those that it needs. Their main threads run the event loops."""
    page: str
    """A URL that answers 200."""
    url: str
    """An API server: a lease is renewed there."""
    token: str
    seconds: float
    """Within how long the page answers. Default: `probing.PAGE`."""
    holder: str
    """The name of a lease that the attacked process renews. Without it the prober renews a lease itself."""


class Outcome(TypedDict):
    """The result of one probe."""

    began: float
    """`time.monotonic()`, which all processes of a machine share."""
    page_seconds: float
    """How late the page was, without the time in which a process had no CPU."""
    lease_seconds: float
    """The same for the renewal of the lease."""
    starved_seconds: float
    """How long the processes had no CPU."""
    error: str


class Stopwatch:
    """Measures time in which every one of some processes either ran or slept."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self._began, self._starved = time.monotonic(), self._counted()

    def _counted(self) -> float:
        return sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) for pid in self._pids) / 1e9

    def starved(self) -> float:
        """Seconds in which they were ready to run and had no CPU."""
        return self._counted() - self._starved

    def seconds(self) -> float:
        """The other seconds."""
        return max(0.0, time.monotonic() - self._began - self.starved())


class Prober:
    """Probes one target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._pids = [*target["pids"], os.getpid()]
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self._lease: dict[str, Any] = {}

    def probe(self) -> Outcome:
        """Requests the page, and sees to it that the lease is renewed."""
        began, whole, error = time.monotonic(), Stopwatch(self._pids), ""
        page = lease = 0.0
        try:
            watch = Stopwatch([self._target["pids"][0], os.getpid()])  # a page needs no other process
            status, text = self._request("GET", self._target["page"])
            page = watch.seconds()
            assert status == 200, f"{self._target['page']} answered {status}: {text[:500]!r}"
            watch = Stopwatch(self._pids)
            if "holder" in self._target:
                self._see_renewal(self._target["holder"])
            elif "url" in self._target:
                self._renew()
            lease = watch.seconds()
        except (OSError, http.client.HTTPException, AssertionError) as failure:
            error = f"{type(failure).__name__}: {failure} after {time.monotonic() - began:.2f} s"
        return Outcome(
            began=began, page_seconds=page, lease_seconds=lease, starved_seconds=whole.starved(), error=error
        )

    def _renew(self) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {"holderIdentity": "probe", "renewTime": now}
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "probe"}, "spec": spec}
        url = f"{self._target['url']}{_LEASES}/probe?fieldManager=probe&force=true"
        status, text = self._request("PATCH", url, json.dumps(lease).encode(), "application/apply-patch+yaml")
        assert status in (200, 201), f"the renewal of a lease answered {status}: {text[:500]!r}"

    def _see_renewal(self, name: str) -> None:
        """Waits until the attacked process has renewed its lease once more."""
        while True:
            status, text = self._request("GET", f"{self._target['url']}{_LEASES}/{name}")
            assert status == 200, f"the lease answered {status}: {text[:500]!r}"
            spec, known = json.loads(text)["spec"], self._lease
            self._lease = spec
            assert spec["holderIdentity"] == known.get("holderIdentity", spec["holderIdentity"]), "the lease was lost"
            if known and spec["renewTime"] != known["renewTime"]:
                return
            time.sleep(_POLL_SECONDS)  # real: a process of its own, without an event loop

    def _request(self, method: str, url: str, body: bytes | None = None, kind: str = "") -> tuple[int, bytes]:
        """Sends a request on a new connection.

        Repeats it if the connection was closed while this process had no CPU: servers promise a response to clients
        that send immediately.
        """
        while True:
            watch = Stopwatch([os.getpid()])
            try:
                return self._attempt(method, url, body, kind)
            except (ConnectionResetError, BrokenPipeError):
                if watch.starved() < _SILENT_SECONDS:
                    raise

    def _attempt(self, method: str, url: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        parts = urlsplit(url)
        address = (parts.hostname or "", parts.port or 0)
        plain = socket.create_connection(address, _TIMEOUT_SECONDS)
        with self._tls.wrap_socket(plain) if parts.scheme == "https" else plain as sock:
            connection = http.client.HTTPConnection(*address)
            connection.sock = sock
            headers = {"Connection": "close", **({"Content-Type": kind} if kind else {})}
            if "token" in self._target and url.startswith(self._target["url"]):
                headers["Authorization"] = f"Bearer {self._target['token']}"
            connection.request(method, url.removeprefix(f"{parts.scheme}://{parts.netloc}"), body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()


def main(target: Target) -> None:
    """Probes until standard input ends."""
    done, asked = threading.Event(), threading.Event()

    def read() -> None:
        for _ in sys.stdin:
            asked.set()
        done.set()
        asked.set()

    threading.Thread(target=read, daemon=True).start()
    prober = Prober(target)
    while not done.is_set():
        print(json.dumps(prober.probe()), flush=True)
        asked.wait(_PAUSE_SECONDS)
        asked.clear()
