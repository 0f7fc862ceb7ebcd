"""APIServices: the served group versions as objects. The server creates them, as kube-aggregator does.

Those of built-in group versions exist from the start. Those of custom resources come and go with their definitions.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.data import read_data
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["add_api_services", "sync_api_services"]

_STORAGE: Final = "apiregistration.k8s.io/apiservices"
_LABEL: Final = "kube-aggregator.kubernetes.io/automanaged"
_CUSTOM_PRIORITIES: Final = (1000, 100)


def add_api_services(state: State) -> None:
    """Creates the missing APIServices of built-in group versions; a snapshot may contain them."""
    for name, priorities in _built_in().items():
        _add(state, name, priorities, "onstart")


def sync_api_services(state: State) -> None:
    """Creates and deletes APIServices, so that each group version of custom resources has one."""
    served = {f"{type_.version}.{type_.group}" for type_ in state.types if type_.custom}
    for name in sorted(served):
        _add(state, name, _CUSTOM_PRIORITIES, "true")
    for entry in list(state.storage.entries(_STORAGE)):
        if entry.name not in served and (entry.labels or {}).get(_LABEL) == "true":
            state.storage.delete(_STORAGE, entry.decode(), entry)


def _built_in() -> dict[str, tuple[int, int]]:
    """Returns the priorities of built-in group versions, by the name of the APIService."""
    return msgspec.json.decode(read_data("api_services.json"), type=dict[str, tuple[int, int]])


def _add(state: State, name: str, priorities: tuple[int, int], managed: str) -> None:
    if state.storage.get(_STORAGE, "", name) is None:
        state.storage.put(_STORAGE, _content(state, name, priorities, managed), None)


def _content(state: State, name: str, priorities: tuple[int, int], managed: str) -> JSONObject:
    version, _, group = name.partition(".")
    now = state.now()
    spec: dict[str, Any] = {"group": group} if group else {}
    spec |= {"version": version, "groupPriorityMinimum": priorities[0], "versionPriority": priorities[1]}
    fields = {
        "f:metadata": {"f:labels": {".": {}, f"f:{_LABEL}": {}}},
        "f:spec": {f"f:{field}": {} for field in sorted(spec)},
    }
    entry = {
        "manager": "kube-apiserver",
        "operation": "Update",
        "apiVersion": "apiregistration.k8s.io/v1",
        "time": now,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }
    available = {
        "type": "Available",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }
    return {
        "metadata": {
            "name": name,
            "uid": state.uid_of(_STORAGE, "", name),
            "creationTimestamp": now,
            "labels": {_LABEL: managed},
            "managedFields": [entry],
        },
        "spec": spec,
        "status": {"conditions": [available]},
    }
