"""Watches: the changes of a kind as they happen.

`Client.watch` returns a `Watch`. Its parts serve any other consumer of a watch, such as the cache:

- `WatchStream`: the lines of one request, as bytes; `decode_event` and `event_error` read a line.
- `WatchAttempts`: the loop that opens a watch again after it has ended or failed.
"""

from __future__ import annotations

from kubewright.client.watch._attempts import WatchAttempt, WatchAttempts
from kubewright.client.watch._stream import RawEvent, WatchStream, decode_event, event_error
from kubewright.client.watch._watch import EventType, Watch, WatchEvent

__all__ = [
    "EventType",
    "RawEvent",
    "Watch",
    "WatchAttempt",
    "WatchAttempts",
    "WatchEvent",
    "WatchStream",
    "decode_event",
    "event_error",
]
