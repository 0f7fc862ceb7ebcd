"""`launch`: starts the supervisor process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

__all__ = ["launch"]


def launch(parent: Path) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Starts a supervisor that belongs to this process, with a temporary folder in `parent`.

    Returns the process and the socket to it. The first line that it sends has the fields `directory` and `pid`.
    """
    program = Path(__file__).with_name("_program.py")
    near, far = socket.socketpair()
    with far:
        process = subprocess.Popen(
            # Isolated and without site packages, for a faster start.
            [sys.executable, "-I", "-S", str(program), str(os.getpid()), str(parent)],
            stdin=far.fileno(),
            # So that Ctrl-C in a terminal reaches only this process, which then stops the others in order.
            start_new_session=True,
        )
    return process, near
