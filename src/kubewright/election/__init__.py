"""Leader election: one of several replicas works, and the others stand by.

    elector = LeaderElector(client, "sample-controller", "default")
    async with elector.lead() as leader:            # waits while another replica leads
        await leader.apply(...)                     # a client that writes only while this process leads

The protocol is that of client-go, on a Lease (coordination.k8s.io/v1), so replicas in Go and in Python can compete for
the same Lease. Additional guarantees:

- **A former leader starts no write.** A client made by `fence` compares a clock with the start of the last renewal
  before each write, before each retry, and again before the first byte; otherwise it raises `NotLeader`. The clock
  continues while the process is paused or the machine is suspended. A write gets no more time than the lease has left.
- **Blocking code does not lose the lease.** A separate thread with its own connections renews it.
- **The lease is released only when no write is in flight.** Otherwise it is left to expire.

Times of different machines are never compared. An elector runs once; to compete again, create another.
"""

from __future__ import annotations

from kubewright.election._clock import BootClock
from kubewright.election._elector import ElectionStatus, LeaderElector
from kubewright.election._events import ElectionEvent
from kubewright.election._fence import Fence, FencedTransport, NotLeader
from kubewright.election._lease import LeaseRecord

__all__ = [
    "BootClock",
    "ElectionEvent",
    "ElectionStatus",
    "Fence",
    "FencedTransport",
    "LeaderElector",
    "LeaseRecord",
    "NotLeader",
]
