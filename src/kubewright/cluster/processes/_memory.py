"""The memory of a container, measured from outside: no rlimit is equivalent to the memory limit of a pod.

RLIMIT_AS and RLIMIT_DATA count addresses that a program has reserved. Go, Java and programs with many threads reserve
far more than they use, so either limit ends them while they are small.
"""

from __future__ import annotations

import os
from typing import Final

from kubewright.api import Quantity
from kubewright.cluster.processes._state import AnyContainer

__all__ = ["measures_memory", "memory_excess", "memory_limit"]

_PROC: Final = "/proc"
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_COUNTED: Final = ("Pss_Anon:", "Pss_Shmem:")
_MAX_PROCESSES: Final = 10_000


def measures_memory(proc: str = _PROC) -> bool:
    """Returns whether this machine reports the memory of processes, as Linux does."""
    return os.path.exists(f"{proc}/self/smaps_rollup")


def memory_limit(container: AnyContainer) -> Quantity | None:
    """Returns the memory limit of a container; None if it has none."""
    limits = (container.resources.limits if container.resources is not None else None) or {}
    return limits.get("memory") or None


def memory_excess(pid: int, limit: int, proc: str = _PROC) -> int | None:
    """Returns the bytes that a process and its descendants use, if these exceed the limit.

    Counts memory that the kernel cannot reclaim: private pages and shared memory, each page once however many processes
    share it. Pages of files are not counted.
    """
    processes = _tree(proc, pid)
    # Resident pages are cheap to read, and an upper bound.
    if sum(_resident(proc, each)[0] for each in processes) <= limit:
        return None
    used = sum(_unreclaimable(proc, each) for each in processes)
    return used if used > limit else None


def _tree(proc: str, pid: int) -> list[int]:
    found = [pid]
    for process in found:  # grows
        if len(found) > _MAX_PROCESSES:
            break
        try:
            threads = os.listdir(f"{proc}/{process}/task")
            lists = [_read(f"{proc}/{process}/task/{thread}/children") for thread in threads]
        except OSError:  # it has ended
            continue
        found += [int(child) for children in lists for child in children.split()]
    return found


def _resident(proc: str, pid: int) -> tuple[int, int]:
    """Returns the resident bytes, and those of them that are private; 0 for a process that has ended."""
    try:
        resident, shared = (int(pages) * _PAGE for pages in _read(f"{proc}/{pid}/statm").split()[1:3])
    except (OSError, ValueError):
        return 0, 0
    return resident, resident - shared


def _unreclaimable(proc: str, pid: int) -> int:
    try:
        lines = _read(f"{proc}/{pid}/smaps_rollup").splitlines()
    except ProcessLookupError:  # it has ended
        return 0
    except OSError:  # a program whose memory this user may not see: pages that processes share are left out
        return _resident(proc, pid)[1]
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(_COUNTED))


def _read(path: str) -> str:
    with open(path, encoding="ascii") as file:
        return file.read()
