"""Runs plans: each in a process of its own, forked from a server that has everything imported.

`Pool` starts the servers and returns outcomes. `python -m kubewright.explore.runner` is such a server. It has a fixed
hash seed; each run has seeded randomness, the plain asyncio loop and virtual time, so that the same plan has the same
outcome. A run that does not end is killed.
"""

from __future__ import annotations

from kubewright.explore.runner._coverage import reachable_lines
from kubewright.explore.runner._pool import Pool, RunnerError

__all__ = ["Pool", "RunnerError", "reachable_lines"]
