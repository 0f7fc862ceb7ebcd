"""Admission: what may change or refuse a write between its reading and its storing.

Every write of the API (create, update, patch, apply, delete, delete of a collection, status, scale, finalize, binding,
eviction) asks `State.admission`, a `Chain` of plugins, in two phases, in the order of the real server's plugins:

1. **mutate**, once the object is read, filled in with defaults and its managed fields are set, and before the server
   sets what it decides and checks the rules. A plugin may change `Attributes.object` in place or put another one
   there;
2. **validate**, when the object has passed every rule and is just as it would be stored. Nothing may change then.

Deletions have no object, only `Attributes.old`; both phases run one after the other.

To add a plugin, subclass `Plugin`, name it as the real server does (`NAMES` has the order), and add it when the cluster
starts, in `_cluster._add_rooms`::

    class LimitRanger(Plugin):
        name = "LimitRanger"

        def __init__(self, state: State) -> None: ...

        def handles(self, attributes: Attributes) -> bool:      # cheap: asked at every write
            return attributes.type.qualified == "pods" and attributes.operation == "CREATE"

        def mutate(self, attributes: Attributes) -> None:       # plain, or `async def`
            ...

        async def validate(self, attributes: Attributes) -> None:
            attributes.warnings.append("...")                   # sent with the answer
            attributes.annotations["..."] = "..."               # of the audit log
            raise attributes.forbidden("exceeded quota: ...")   # or any other Failure

    state.admission.add(LimitRanger(state))

What a plugin can rely on:

- A plugin that suspends (awaits something that is not done) is safe: when the object was changed by somebody else
  meanwhile, the request begins again with what is stored then, and asks every plugin again. So a plugin must not keep
  anything that belongs to a write which it only expects; `Chain.add` takes no hooks for what happens after a write:
  subscribe to the storage for that.
- `Attributes.object` is JSON in the version of the request, `Attributes.old` what is stored, in the same version.
  `kind` is what is in the body (`Scale` for `/scale`), `type` the resource of the path.
- A dry run asks as well: `Attributes.dry_run`.
- The writes of the cluster's own controllers ask, too, with their own `user`.
"""

from __future__ import annotations

from kubewright.cluster.admission._attributes import Attributes, Operation
from kubewright.cluster.admission._chain import NAMES, Chain, Plugin

__all__ = ["NAMES", "Attributes", "Chain", "Operation", "Plugin"]
