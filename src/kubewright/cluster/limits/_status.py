"""Writes the status of quotas."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.machinery._authors import writing_as
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.registry._field_managers import manager_of
from kubewright.cluster.registry._store import commit
from kubewright.cluster.storage._storage import Entry

__all__ = ["STORAGE", "write_status"]

STORAGE: Final = "/resourcequotas"


def write_status(state: State, entry: Entry, status: JSONObject, manager: str) -> None:
    """Updates the given fields of a quota's status as a field manager, if they changed."""
    type_ = state.types.find("", "v1", "resourcequotas")
    assert type_ is not None
    old = decoded(type_, entry)
    made = {**(old.get("status") or {}), **status}
    if made == (old.get("status") or {}):
        return
    changed = manager_of(state, type_, "status").update(old, {**old, "status": made}, manager, state.now())
    with writing_as():
        commit(state, type_, {**changed, "metadata": {**changed["metadata"]}}, entry)
