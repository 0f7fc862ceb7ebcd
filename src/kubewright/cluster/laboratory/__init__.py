"""The laboratory: fault injection and time travel, which only an embedded cluster offers. `cluster.lab` returns it.

- `lab.fail(verb="update", kind=Foo, nth=2, status=500, committed=True)`: the second update of a Foo from now on is
  committed, and its response is a 500. `lab.on_request` decides about every request with a function.
- `async with lab.frozen_watch(Deployment)`: watches of Deployments send nothing until the end of the block;
  `delayed_watch`, `dropped_watch` and `reordered_watch` disturb them in other ways, `end_watches` ends them.
- `with lab.stale(Deployment)`: reads from the server's cache return Deployments as they are now, despite later writes.
- `lab.latency(0.002)`, `lab.limit_writes(500)`: requests take virtual time; a run that does not stop writing ends.
- `lab.delay_garbage_collection(60)`, `lab.delay_namespace_deletion(60)`: the cluster's controllers lag behind.
- `snapshot = lab.snapshot()`, `lab.rewind(snapshot)`: restores the whole cluster.
- `lab.journal`: every request and every write in order, with user, verb, object, status and bodies.
- `lab.history(Foo, "web", "default")`: each revision of an object, with time, user, manager, verb and changes.
- `lab.compact()`: drops the history.
- `lab.external(neutron)`: simulates an external system, with faults in its calls.
- `with lab.invariants(operator)`: checks the operator's invariants after every write.

Everything applies to in-process clients and to HTTP clients. Only the order of `reordered_watch` is random, and depends
on the cluster's seed; all times are those of the cluster's clock. A fault or disturbance lasts until its block ends,
its `end` is called, or the cluster stops. A laboratory costs nothing until it is used.
"""

from __future__ import annotations

from kubewright.cluster.laboratory._external import External, ExternalCall
from kubewright.cluster.laboratory._faults import Failing, Fault
from kubewright.cluster.laboratory._history import Change, Revision
from kubewright.cluster.laboratory._invariants import InvariantBroken, Invariants
from kubewright.cluster.laboratory._journal import JournalEntry
from kubewright.cluster.laboratory._laboratory import Laboratory
from kubewright.cluster.laboratory._pace import Latency, WriteBudget, WriteBudgetExceeded
from kubewright.cluster.laboratory._requests import Incoming, Served
from kubewright.cluster.laboratory._snapshots import Snapshot
from kubewright.cluster.laboratory._watches import Disturbance

__all__ = [
    "Change",
    "Disturbance",
    "External",
    "ExternalCall",
    "Failing",
    "Fault",
    "Incoming",
    "InvariantBroken",
    "Invariants",
    "JournalEntry",
    "Laboratory",
    "Latency",
    "Revision",
    "Served",
    "Snapshot",
    "WriteBudget",
    "WriteBudgetExceeded",
]
