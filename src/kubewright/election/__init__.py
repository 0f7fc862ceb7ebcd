"""Leader election: of several replicas one works, and the others are ready to.

    elector = LeaderElector(client, "sample-controller", "default")
    async with elector.lead() as leader:            # waits as long as another replica leads
        await leader.apply(...)                     # a client that writes only while we lead

The protocol is that of client-go, on a Lease (coordination.k8s.io/v1), so that replicas in Go and in Python can stand
for the same one. What is promised beyond it:

- **No write of an old leader is begun.** A client made by `fence` compares a clock with the start of the last renewal
  before each write, before each retry, and once more before the first byte; otherwise it raises `NotLeader`. The clock
  goes on while the process is paused or the machine asleep. A write gets no more time than what is left.
- **Blocking code does not lose the lease.** The lease is renewed in a thread of its own, with connections of its own.
- **A lease is given back only when nothing of ours is under way.** Otherwise it is left to expire.

Time by the other's clock is never compared with time by ours. An elector stands once; to stand again, make another.
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
