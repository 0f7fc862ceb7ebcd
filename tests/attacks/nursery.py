"""Forks attacked processes from one that has imported everything: `python -m tests.attacks.nursery SOCKET`.

An attack needs up to three new processes. Their imports and the first use of lazy modules take ten times as long as the
servers themselves. The nursery pays for them once in a run. A child is still a process of its own: it shares no state
with another one, and its limits, CPU time and memory count from its start.

A client connects to the Unix socket and sends a line of JSON, `[KIND, ADDRESS_SPACE, CPU_SECONDS, ARGUMENT…]`, with two
file descriptors: a socket for standard input and output, and a file for standard error. The nursery answers with the
process id, and with the exit code when the child has ended. It kills the child when the client closes its direction of
the connection. Only the nursery signals children, because it also reaps them: their process ids are not reused before.
It ends with its own standard input.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from typing import Final, NoReturn

from tests.attacks.victim import begin, cluster, operator

__all__ = ["MESSAGE_BYTES"]

MESSAGE_BYTES: Final = 65_536
_CONSOLE: Final = ("fastapi", "nicegui", "uvicorn")
"""What a console imports. It is not started here: its application exists once in a process."""


async def _warm() -> None:
    """Starts the servers once, so that all modules are imported that they import on first use."""
    async with cluster() as facts, operator(facts["kubeconfig"]):
        pass


def _fork(connection: socket.socket, listener: socket.socket) -> int:
    """Forks the child that a client asks for. Returns its process id."""
    message, descriptors, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 2)
    kind, space, seconds, *arguments = json.loads(message)
    child = os.fork()
    if not child:
        _become(kind, space, seconds, arguments, descriptors, listener)
    for descriptor in descriptors:
        os.close(descriptor)
    return child


def _become(
    kind: str, space: int, seconds: int, arguments: list[str], descriptors: list[int], listener: socket.socket
) -> NoReturn:
    """Turns this process into the child."""
    code = 1
    try:
        listener.close()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        talk, errors = descriptors
        for number, descriptor in ((0, talk), (1, talk), (2, errors)):
            os.dup2(descriptor, number)
        begin(kind, space, seconds, arguments)
        code = 0
    except BaseException:  # whatever it is belongs into the child's log
        sys.excepthook(*sys.exc_info())
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Forks children until standard input ends."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    for name in _CONSOLE:
        importlib.import_module(name)
    asyncio.run(_warm())
    gc.collect()
    gc.freeze()
    woken, wake = os.pipe()
    for end in (woken, wake):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    listener.listen()
    print("ready", flush=True)
    children: dict[int, socket.socket] = {}
    with selectors.DefaultSelector() as selector:
        for readable in (listener.fileno(), woken, 0):
            selector.register(readable, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == 0:
                    return
                if key.fd == woken:
                    os.read(woken, MESSAGE_BYTES)
                    _reap(children)
                elif key.fd == listener.fileno():
                    connection, _ = listener.accept()
                    child = _fork(connection, listener)
                    children[child] = connection
                    connection.sendall(b"%d\n" % child)
                    selector.register(os.dup(connection.fileno()), selectors.EVENT_READ, child)
                else:  # the client has closed its direction
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    if key.data in children:
                        os.kill(key.data, signal.SIGKILL)


def _reap(children: dict[int, socket.socket]) -> None:
    """Sends the exit codes of ended children to their clients."""
    for child in list(children):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with children.pop(child) as connection, contextlib.suppress(OSError):
                connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
