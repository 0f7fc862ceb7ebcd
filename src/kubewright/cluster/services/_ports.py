"""Ports of process pods: those of pods that share 127.0.0.1, and conflicts between programs that bind one port."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from kubewright.api import core
from kubewright.cluster.services._shared_ports import MAX_PORTS, SHARED_ADDRESS, shared_port

__all__ = ["PodPorts", "pod_target", "port_conflicts", "wildcard_ports"]

_TCP: Final = "TCP"
_LISTEN: Final = "0A"  # the state in /proc/net/tcp
_ANY: Final = ("00000000", "0" * 32)
_PROC: Final = Path("/proc")

TryBind: TypeAlias = Callable[[str, int], None]
"""Binds a TCP port and releases it. Raises OSError."""


class PodPorts:
    """Gives the pods that share 127.0.0.1 a port for each of their container ports.

    The first pod with a container port gets this port itself; others get a free one, which their program must use:
    `environment` has it as `KUBEWRIGHT_PORT_8080`.
    """

    def __init__(self) -> None:
        self._used: dict[int, str] = {}

    def assign(self, pod: core.Pod) -> dict[int, int]:
        """Returns the port on 127.0.0.1 for each container port of TCP. Raises OSError if none is free."""
        uid, made = pod.metadata.uid, dict[int, int]()
        for port in list(_container_ports(pod))[:MAX_PORTS]:
            held = next((number for number, holder in self._used.items() if holder == f"{uid}/{port}"), None)
            made[port] = held or self._free(port)
            self._used[made[port]] = f"{uid}/{port}"
        return made

    def release(self, pod: core.Pod) -> None:
        """Makes the ports of a pod available again."""
        prefix = f"{pod.metadata.uid}/"
        self._used = {number: holder for number, holder in self._used.items() if not holder.startswith(prefix)}

    @staticmethod
    def annotation(ports: Mapping[int, int]) -> str:
        """Returns the value of `PORTS_ANNOTATION`."""
        return ",".join(f"{port}={number}" for port, number in sorted(ports.items()))

    @staticmethod
    def environment(ports: Mapping[int, int]) -> dict[str, str]:
        """Returns the variables with which a program finds the ports that it must bind."""
        return {f"KUBEWRIGHT_PORT_{port}": str(number) for port, number in ports.items()}

    def _free(self, wanted: int) -> int:
        for candidate in (wanted, *([0] * len(self._used)), 0):
            if candidate in self._used:
                continue
            try:
                with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
                    probe.bind((SHARED_ADDRESS, candidate))
                    number = int(probe.getsockname()[1])
            except OSError:
                if candidate == 0:
                    raise
                continue
            if number not in self._used:
                return number
        raise OSError(errno.EADDRINUSE, "no port on 127.0.0.1 is free")


def pod_target(pod: core.Pod, port: int) -> tuple[str, int] | None:
    """Returns host and port at which a container port of a process pod is reached; None without an address."""
    if not pod.status.pod_ip:
        return None
    return pod.status.pod_ip, shared_port(pod.metadata.annotations, pod.status.pod_ip, port)


def port_conflicts(pod: core.Pod, address: str, *, bind: TryBind | None = None) -> list[str]:
    """Returns a message for each container port of a pod that its program will not be able to bind.

    Call it before the program starts, and report the messages as events. Processes share the network of this machine: a
    program that binds all addresses (0.0.0.0) takes the port from all other pods.
    """
    found = []
    for port in _container_ports(pod):
        try:
            (bind or _try_bind)(address, port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                found.append(
                    f"port {port} is in use at {address}: a program of another pod or of this machine listens on it, "
                    "probably on all addresses (0.0.0.0). Make programs listen on the address of their pod, which is "
                    "in the environment as POD_IP, or give the replicas different ports"
                )
            elif error.errno == errno.EACCES:
                found.append(
                    f"port {port} needs privileges on this machine: use a port of at least 1024, or allow it with "
                    "`sysctl net.ipv4.ip_unprivileged_port_start=0`"
                )
    return found


def wildcard_ports(pids: Collection[int], *, proc: Path = _PROC) -> set[int]:
    """Returns the TCP ports on which these processes listen on all addresses (0.0.0.0 or ::). Linux only.

    Such a program answers at the address of every pod, and a second replica of it cannot start.
    """
    inodes = {inode for pid in pids for inode in _sockets(proc / str(pid) / "fd")}
    return {port for port, inode in _listening_everywhere(proc) if inode in inodes}


def _listening_everywhere(proc: Path) -> Iterator[tuple[int, str]]:
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text().splitlines()[1:]
        except OSError:  # not Linux
            continue
        for line in lines:
            fields = line.split()
            address, _, port = fields[1].rpartition(":")
            if fields[3] == _LISTEN and address in _ANY:
                yield int(port, 16), fields[9]


def _sockets(folder: Path) -> Iterator[str]:
    try:
        entries = list(folder.iterdir())
    except OSError:  # the process has ended, or belongs to another user
        return
    for entry in entries:
        try:
            target = os.readlink(entry)
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _container_ports(pod: core.Pod) -> Iterable[int]:
    containers = (*(pod.spec.init_containers or ()), *pod.spec.containers)
    ports = (port for container in containers for port in container.ports or ())
    return dict.fromkeys(port.container_port for port in ports if (port.protocol or _TCP) == _TCP)


def _try_bind(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # closed connections do not count
        probe.bind((address, port))
