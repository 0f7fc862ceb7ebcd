"""`QuotaController`: maintains the status of quotas, as kube-controller-manager does."""

from __future__ import annotations

from typing import Final

from kubewright.api import Quantity
from kubewright.cluster._state import State
from kubewright.cluster.limits._amounts import Amounts, written
from kubewright.cluster.limits._status import STORAGE, write_status
from kubewright.cluster.limits._usage import concerns, counted_names, usage_of
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.machinery._work_budget import PROCESSED, WorkBudget
from kubewright.cluster.storage._storage import Entry, Event

__all__ = ["QuotaController"]

_MANAGER: Final = "kube-controller-manager"
_NOTHING: Final = Quantity("0")


class QuotaController:
    """Maintains `hard` and `used` of every quota.

    A new or changed quota is counted from all objects of its namespace. After that each write adjusts the count, so the
    cost of a write does not grow with the number of objects.
    """

    later: tuple[()] = ()

    def __init__(self, state: State) -> None:
        self._state = state
        self._quotas: dict[str, tuple[JSONObject, Amounts]] = {}
        self._namespaces: dict[str, set[str]] = {}
        self._stale: set[str] = {entry.key for entry in state.storage.entries(STORAGE)}
        self._dirty: set[str] = set()
        state.restored.append(self._begin_again)

    def _begin_again(self) -> None:
        self._quotas, self._namespaces, self._dirty = {}, {}, set()
        self._stale = {entry.key for entry in self._state.storage.entries(STORAGE)}

    @property
    def busy(self) -> bool:
        """Returns whether work is pending."""
        return bool(self._stale or self._dirty)

    def notice(self, event: Event) -> None:
        """Records a write of a quota or of a counted object."""
        entry = event.entry
        if event.storage == STORAGE:
            self._notice_quota(event)
        for key in self._namespaces.get(entry.namespace, ()):
            if key not in self._stale:
                self._count(key, event)

    def _notice_quota(self, event: Event) -> None:
        entry, known = event.entry, self._quotas.get(event.entry.key)
        if event.kind == "DELETED":
            self._quotas.pop(entry.key, None)
            self._stale.discard(entry.key)
            self._dirty.discard(entry.key)
            self._namespaces.get(entry.namespace, set()).discard(entry.key)
        elif known is None or known[0].get("spec") != entry.decode().get("spec"):
            self._stale.add(entry.key)
        else:
            self._dirty.add(entry.key)

    def _count(self, key: str, event: Event) -> None:
        quota, used = self._quotas[key]
        before = self._usage(quota, event.storage, event.previous)
        after = {} if event.kind == "DELETED" else self._usage(quota, event.storage, event.entry)
        if before == after:
            return
        for name in {*before, *after}:
            used[name] = used.get(name, _NOTHING) + after.get(name, _NOTHING) - before.get(name, _NOTHING)
        self._dirty.add(key)

    def _usage(self, quota: JSONObject, storage: str, entry: Entry | None) -> Amounts:
        """Returns the usage of an object in a quota."""
        types = self._state.types.stored_as(storage)
        if entry is None or not types:
            return {}
        resource = types[0].qualified
        names = counted_names(resource, (quota.get("spec") or {}).get("hard") or ())
        if not names:
            return {}
        obj = entry.decode()
        if not concerns(quota, resource, obj):
            return {}
        return {
            name: amount for name, amount in usage_of(resource, obj, self._state.clock.now()).items() if name in names
        }

    def again(self) -> None:
        """Does nothing: this controller never defers work."""

    async def work(self, budget: WorkBudget) -> None:
        """Recounts stale quotas and writes each status that changed."""
        storage = self._state.storage
        for key in sorted(self._stale):
            self._stale.discard(key)
            await self._recount(key, budget)
            self._dirty.add(key)
        dirty, self._dirty = self._dirty, set()
        for key in sorted(dirty & self._quotas.keys()):
            namespace, _, name = key.partition("/")
            entry, known = storage.get(STORAGE, namespace, name), self._quotas.get(key)
            if entry is None or known is None or key in self._stale:
                continue  # it was deleted, or changed and is counted again
            quota, used = known
            hard = (quota.get("spec") or {}).get("hard") or {}
            counted = {name: used.get(name, _NOTHING) for name in hard}
            write_status(self._state, entry, {"hard": dict(sorted(hard.items())), "used": written(counted)}, _MANAGER)
            await budget.spend(PROCESSED)

    async def _recount(self, key: str, budget: WorkBudget) -> None:
        """Counts the objects of a quota's namespace as they are now; `notice` adds the writes from now on."""
        namespace, _, name = key.partition("/")
        entry = self._state.storage.get(STORAGE, namespace, name)
        if entry is None:
            return
        quota = entry.decode()
        used: Amounts = dict.fromkeys((quota.get("spec") or {}).get("hard") or (), _NOTHING)
        self._quotas[key] = (quota, used)
        self._namespaces.setdefault(namespace, set()).add(key)
        storages = self._state.storage.names()
        entries = [(each, found) for each in storages for found in self._state.storage.entries(each, namespace)]
        for storage, each in entries:
            for name, amount in self._usage(quota, storage, each).items():
                used[name] = used.get(name, _NOTHING) + amount
            await budget.spend(PROCESSED)
