"""Probes: one check of a container (HTTP, TCP, gRPC or a command), and the counts that make it a verdict."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kubewright.api import core
from kubewright.clock import Clock, TimeLimitExceeded, within
from kubewright.cluster.processes._grpc import grpc_health

__all__ = ["Execute", "ProbeTarget", "Verdict", "check", "http_get", "probing"]

Execute = Callable[[Sequence[str]], Awaitable[tuple[int, str]]]
"""Runs a command in the container and returns its exit code and the beginning of its output. Raises `Refused`."""

_MAX_HEAD: Final = 16 * 1024
_MAX_BODY: Final = 1024
_PERIOD, _TIMEOUT, _FAILURES = 10, 1, 3
_OK: Final = range(200, 400)


@dataclass(frozen=True)
class Verdict:
    """The result of a probe after a check. `decided`: whether the threshold is reached."""

    healthy: bool
    decided: bool
    output: str


@dataclass(frozen=True)
class ProbeTarget:
    """A container, the address of its pod, and the ports of this machine for its ports, if they differ."""

    container: core.Container | core.EphemeralContainer
    address: str
    ports: Mapping[int, int]

    def port(self, port: int | str) -> int:
        """Returns the number of a port, which may be the name of a container port. Raises ValueError."""
        if isinstance(port, str):
            named = (each.container_port for each in self.container.ports or () if each.name == port)
            number = next(named, int(port) if port.isdigit() else None)
            if number is None:
                raise ValueError(f"couldn't find port: {port}")
            port = number
        return self.ports.get(port, port)


async def probing(
    probe: core.Probe,
    clock: Clock,
    check_once: Callable[[], Awaitable[tuple[bool, str] | None]],
    decide: Callable[[Verdict], bool],
) -> None:
    """Checks in the period of the probe until `decide` returns True. A check that returns None does not count."""
    await clock.sleep(probe.initial_delay_seconds or 0)
    successes = failures = 0
    while True:
        if (result := await check_once()) is not None:
            healthy, output = result
            successes, failures = (successes + 1, 0) if healthy else (0, failures + 1)
            needed = (probe.success_threshold or 1) if healthy else (probe.failure_threshold or _FAILURES)
            if decide(Verdict(healthy, (successes if healthy else failures) >= needed, output)):
                return
        await clock.sleep(probe.period_seconds or _PERIOD)


async def check(probe: core.Probe, target: ProbeTarget, execute: Execute, clock: Clock) -> tuple[bool, str]:
    """Checks once. Returns whether it succeeded, and the message of a failure.

    Raises `Refused` for a command that the mapping of images does not allow.
    """
    seconds = float(probe.timeout_seconds or _TIMEOUT)
    try:
        return await within(clock, seconds, _check(probe, target, execute))
    except (TimeLimitExceeded, TimeoutError):
        return False, f"probe timed out after {seconds:g}s"
    except (OSError, ValueError, ssl.SSLError) as error:
        return False, str(error)


async def _check(probe: core.Probe, target: ProbeTarget, execute: Execute) -> tuple[bool, str]:
    if probe.exec is not None:
        code, output = await execute(probe.exec.command or [])
        return code == 0, output
    if probe.http_get is not None:
        status = await http_get(probe.http_get, target)
        return status in _OK, f"HTTP probe failed with statuscode: {status}"
    if probe.grpc is not None:
        return await grpc_health(target.address, target.port(probe.grpc.port), probe.grpc.service or "")
    if probe.tcp_socket is not None:
        host = probe.tcp_socket.host or target.address
        _, writer = await asyncio.open_connection(host, target.port(probe.tcp_socket.port))
        writer.close()
    return True, ""


async def http_get(action: core.HTTPGetAction, target: ProbeTarget) -> int:
    """Sends a GET and returns the status. Certificates are not verified, as by a kubelet."""
    host, port = action.host or target.address, target.port(action.port)
    tls = None
    if (action.scheme or "HTTP").upper() == "HTTPS":
        tls = ssl.create_default_context()
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    path = action.path or "/"
    headers = {"Host": f"{host}:{port}", "User-Agent": "kube-probe/1.36", "Accept": "*/*", "Connection": "close"}
    headers |= {header.name: header.value for header in action.http_headers or ()}
    lines = [f"GET {path if path.startswith('/') else '/' + path} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("the path or a header of the probe contains a line break")
    reader, writer = await asyncio.open_connection(host, port, ssl=tls, limit=_MAX_HEAD)
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode())
        words = (await reader.readline()).split(None, 2)
        if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
            raise ValueError("malformed HTTP response")
        await reader.read(_MAX_BODY)
        return int(words[1])
    finally:
        writer.close()
