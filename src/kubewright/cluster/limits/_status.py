"""Writes the status of quotas."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._kinds import JSONObject
from kubewright.cluster._managing import manager_of
from kubewright.cluster._state import State
from kubewright.cluster._storage import Entry
from kubewright.cluster._views import decoded
from kubewright.cluster._writes import commit

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
    commit(state, type_, {**changed, "metadata": {**changed["metadata"]}}, entry)
