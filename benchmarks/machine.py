"""The machine that a result was measured on, in words."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["describe"]


def describe() -> dict[str, str | int | float]:
    """Processor, memory, system and Python. Nothing that identifies the machine."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": os.cpu_count() or 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def _field(file: str, name: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")
