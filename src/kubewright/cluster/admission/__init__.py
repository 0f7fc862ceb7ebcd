"""Admission: plugins that change or reject a write before it is stored.

Every write of the API (create, update, patch, apply, delete, deletecollection, status, scale, finalize, binding,
eviction) runs `State.admission`, a `Chain` of plugins, in two phases. Plugins run in the order of the real server:

1. **mutate**, after the object is decoded and defaulted and its managed fields are set, and before the server sets
   its own fields and validates. A plugin may change `Attributes.object` in place or replace it.
2. **validate**, after the object has passed validation, exactly as it will be stored. Plugins must not change it.

Deletions have no object, only `Attributes.old`; both phases run one after the other.

To add a plugin, subclass `Plugin`, set `name` to the real server's name (`NAMES` lists them in order), and add it when
the cluster starts, in `_features.install_features`::

    class LimitRanger(Plugin):
        name = "LimitRanger"

        def __init__(self, state: State) -> None: ...

        def handles(self, attributes: Attributes) -> bool:      # called on every write: keep it cheap
            return attributes.type.qualified == "pods" and attributes.operation == "CREATE"

        def mutate(self, attributes: Attributes) -> None:       # plain, or `async def`
            ...

        async def validate(self, attributes: Attributes) -> None:
            attributes.warnings.append("...")                   # sent with the response
            attributes.annotations["..."] = "..."               # written to the audit log
            raise attributes.forbidden("exceeded quota: ...")   # or any other Failure

    state.admission.add(LimitRanger(state))

Guarantees for plugins:

- A plugin may await. If another client changes the object while it waits, the request restarts with the stored object
  and calls every plugin again. A plugin must therefore not record a write before it is stored; subscribe to the storage
  to react to stored writes.
- `Attributes.object` is JSON in the version of the request; `Attributes.old` is the stored object in the same version.
  `kind` is the kind of the body (`Scale` for `/scale`), `type` is the resource of the path.
- Dry runs call the plugins too, with `Attributes.dry_run` set.
- Writes of the cluster's own controllers call the plugins too, with the controller's `user`.

`admission.matching` holds the parts that webhooks and policies share; `admission.webhooks` calls webhooks.
"""

from __future__ import annotations

from kubewright.cluster.admission._attributes import Attributes, Operation, attributes_of, kind_of
from kubewright.cluster.admission._chain import NAMES, Chain, Plugin
from kubewright.cluster.admission._client_config import bundle_errors, service_errors, url_errors
from kubewright.cluster.admission._conditions import ConditionError, condition_errors

__all__ = [
    "NAMES",
    "Attributes",
    "Chain",
    "ConditionError",
    "Operation",
    "Plugin",
    "attributes_of",
    "bundle_errors",
    "condition_errors",
    "kind_of",
    "service_errors",
    "url_errors",
]
