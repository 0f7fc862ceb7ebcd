"""The way from the process of the operator to `Development`: messages, and a line that shows who is alive."""

from __future__ import annotations

import os
import signal
import socket
import threading
from typing import Final

import msgspec

from kubewright.development._messages import Message

__all__ = ["Channel"]

_PATIENCE: Final = 5.0


class Channel:
    """The operator's end. `tell` may be called from any thread; what nobody hears is lost."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(fileno=number)
        self._lock = threading.Lock()

    def tell(self, message: Message) -> None:
        """Send a message."""
        line = msgspec.json.encode(message) + b"\n"
        with self._lock:
            try:
                self._socket.sendall(line)
            except OSError:  # whoever listened is gone, and this process will hear of it
                return

    def end_with_owner(self) -> None:
        """End this process when the other end is gone, however that happened."""
        threading.Thread(target=self._listen, name="kubewright-owner", daemon=True).start()

    def _listen(self) -> None:
        try:
            while self._socket.recv(64):
                continue
        except OSError:
            pass
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(_PATIENCE)
        os._exit(1)
