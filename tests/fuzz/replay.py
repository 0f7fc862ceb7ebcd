"""Replays files with a fuzz target, without Atheris: `python -m tests.fuzz.replay TARGET FILE...`.

Memory and CPU time are limited, so that a finding ends this process and not the machine.
"""

from __future__ import annotations

import logging
import resource
import sys
from pathlib import Path

from tests.fuzz.targets import opened

_ADDRESS_SPACE = 3 * 2**30
_CPU_SECONDS = 120


def main() -> None:
    """Print each file before it is tried: the last one is the one that ended the process."""
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    name, *files = sys.argv[1:]
    target, loop = opened(name)
    for file in files:
        print(file, flush=True)
        target(Path(file).read_bytes())
    loop.close()


if __name__ == "__main__":
    main()
