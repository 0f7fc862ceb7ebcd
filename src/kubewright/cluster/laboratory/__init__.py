"""The laboratory: what an embedded cluster can do that no real one can. `cluster.lab` is one.

- `lab.fail(verb="update", kind=Foo, nth=2, status=500, committed=True)`: the second update of a Foo from now on is
  done, and its answer is a 500. `lab.on_request` decides about every request by a function.
- `async with lab.frozen_watch(Deployment)`: watches of Deployments stand still until the end of the block;
  `delayed_watch`, `dropped_watch` and `reordered_watch` disturb them in other ways, `end_watches` cuts them.
- `with lab.stale(Deployment)`: lists, gets and watches show Deployments as they are now, whatever is written.
- `snapshot = lab.snapshot()`, `lab.rewind(snapshot)`: the whole cluster as it was.
- `lab.history(Foo, "web", "default")`: each revision of an object, with time, user, manager, verb and changes.
- `lab.compact()`: forget history now.

All of it holds for clients in this process and for those that come over HTTP. Nothing is random but the order of
`reordered_watch`, which comes from the cluster's seed; all times are those of the cluster's clock. What is arranged
holds until its block ends, its `end` is called, or the cluster stops. A laboratory costs nothing until it is used.
"""

from __future__ import annotations

from kubewright.cluster.laboratory._faults import Failing, Fault, Incoming
from kubewright.cluster.laboratory._history import Change, Revision
from kubewright.cluster.laboratory._laboratory import Laboratory
from kubewright.cluster.laboratory._snapshots import Snapshot
from kubewright.cluster.laboratory._watches import Disturbance

__all__ = ["Change", "Disturbance", "Failing", "Fault", "Incoming", "Laboratory", "Revision", "Snapshot"]
