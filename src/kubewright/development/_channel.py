"""The connection from the operator's process to `Development`: messages, and detection of a dead peer."""

from __future__ import annotations

import os
import signal
import socket
import threading
from typing import Final

import msgspec

from kubewright.development.messages import Message

__all__ = ["Channel"]

_EXIT_SECONDS: Final = 5.0


class Channel:
    """The operator's end. `send` may be called from any thread. Messages after the other end is gone are dropped."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(fileno=number)
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Sends a message."""
        line = msgspec.json.encode(message) + b"\n"
        with self._lock:
            try:
                self._socket.sendall(line)
            except OSError:  # the listener is gone, and this process is about to notice
                return

    def end_with_owner(self) -> None:
        """Ends this process when the other end is gone, for whatever reason."""
        threading.Thread(target=self._listen, name="kubewright-owner", daemon=True).start()

    def _listen(self) -> None:
        try:
            while self._socket.recv(64):
                continue
        except OSError:
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(_EXIT_SECONDS)
        os._exit(1)
