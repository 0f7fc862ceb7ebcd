"""Starts operators as processes of their own, without the second that Python needs to import them: it forks.

Reads a line of JSON for each, `{"program": "foo", "environment": {...}, "log": "..."}`, and answers with its pid.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

# What all of them need, loaded once; and what an operator would load at its start.
MODULES = (
    "uvloop",
    "ssl",
    "kubewright.events",
    "kubewright.api.core.v1",
    "kubewright.crd",
)
PROGRAMS = ("foo", "testresource", "network", "password", "memcached")


def main() -> None:
    """Forks for each line of standard input."""
    for name in (*MODULES, *PROGRAMS):
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: the exit status is not read
    for line in sys.stdin:
        asked = json.loads(line)
        if (child := os.fork()) == 0:
            run(asked["program"], asked["environment"], asked["log"])
        print(child, flush=True)


def run(program: str, environment: dict[str, str], log: str) -> None:
    """Runs the program in the child."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(environment)
    code = 0
    try:
        importlib.import_module(program).operator.run()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
