"""Time as a parameter.

Everything in Kubewright that waits, times out or stamps takes a `Clock` instead of calling `time` or
`asyncio.sleep` itself, so that a test can run an hour of backoff in a millisecond. `SystemClock` is real time.
`VirtualClock` moves only when a test moves it.

The rule of virtual time: **work outside the event loop holds it.** Virtual time cannot measure a thread, a process or
a socket, so it does not move until such work ends, and a limit on such work counts real seconds.

- Kubewright holds the clock for plain `def` reconcilers and handlers, for HTTP requests and TLS handshakes of its
  clients, for calls of webhooks, plain or async, and for credential plugins.
- Work that calls back into the event loop does not hold the clock during that call (`serving`): a plain reconciler that
  waits for a retry of its client waits for virtual time, and so does a webhook handler that sleeps on the clock.
- An async reconciler that leaves the event loop marks that itself:
  `with ctx.clock.hold("GET the price"): await http.get(url)`.
- An idle connection holds nothing, so a watch does not stop the clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.clock._clock import Clock, SystemClock, Timer, check_clock
    from kubewright.clock._limits import CancelScope, TimeLimitExceeded, within
    from kubewright.clock._virtual import VirtualClock, settled

_MODULES = {
    "CancelScope": "_limits",
    "Clock": "_clock",
    "SystemClock": "_clock",
    "TimeLimitExceeded": "_limits",
    "Timer": "_clock",
    "VirtualClock": "_virtual",
    "check_clock": "_clock",
    "settled": "_virtual",
    "within": "_limits",
}

__all__ = [
    "CancelScope",
    "Clock",
    "SystemClock",
    "TimeLimitExceeded",
    "Timer",
    "VirtualClock",
    "check_clock",
    "settled",
    "within",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
