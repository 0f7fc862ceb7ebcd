"""The default roles and bindings of the real server, recorded by `tools/generate_cluster`."""

from __future__ import annotations

from functools import cache

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.access._rbac import GROUP
from kubewright.cluster.data import read_data
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["add_default_roles"]


@cache
def _objects() -> dict[str, JSONObject]:
    found: dict[str, JSONObject] = msgspec.json.decode(read_data("roles.json"))
    return found


def add_default_roles(state: State) -> None:
    """Stores the default roles and bindings that are missing. A snapshot contains them already."""
    now = state.now()
    for key, content in _objects().items():
        plural, namespace, name = key.split("/", 2)
        storage = f"{GROUP}/{plural}"
        if state.storage.get(storage, namespace, name) is not None:
            continue
        recorded = content["metadata"]
        managed = [{**entry, "time": now} for entry in recorded["managedFields"]]
        uid = state.uid_of(storage, namespace, name)
        metadata = {**recorded, "uid": uid, "creationTimestamp": now, "managedFields": managed}
        state.storage.put(storage, {**content, "metadata": metadata}, None)
