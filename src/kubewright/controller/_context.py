"""The context of a reconcile: a reconciler reads, writes and reports through it.

`Context` is for `async def`, `BlockingContext` for plain `def`. Both have the same methods with the same guarantees,
and delegate to one `ContextBackend`. Methods that are awaited in one block in the other.
"""

from __future__ import annotations

import builtins
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from kubewright.api import Object, Untyped

if TYPE_CHECKING:
    from kubewright.api import ConditionStatus
    from kubewright.cache import Labels, ObjectKey
    from kubewright.client import BlockingClient, Client, Propagation, Trace
    from kubewright.clock import Clock
    from kubewright.controller._context_backend import ContextBackend
    from kubewright.controller._dependencies import Dependency
    from kubewright.controller._object_logger import ObjectLogger
    from kubewright.controller.apply import ImmutablePolicy
    from kubewright.controller.children import Child, Children
    from kubewright.events import EventType

__all__ = ["BlockingContext", "Context", "replace_status"]

# Not bound to Object, so that `set_status` can describe `self` by the status of the kind.
R_co = TypeVar("R_co", covariant=True)
O = TypeVar("O", bound=Object)  # noqa: E741
S = TypeVar("S")
T = TypeVar("T")


class HasStatus(Protocol[S]):
    """A kind with a status of type S."""

    status: S


class _BaseContext(Generic[R_co]):
    """The part of both contexts that never waits."""

    __slots__ = ("_backend",)

    def __init__(self, backend: ContextBackend[Any]) -> None:
        self._backend = backend

    @property
    def key(self) -> ObjectKey:
        """Namespace and name of the object that is being reconciled."""
        return self._backend.key

    @property
    def object(self) -> R_co:
        """The object that was passed to the reconciler. Raises LookupError in the key form, which gets no object."""
        found = self._backend.object
        if found is None:
            raise LookupError(f"the reconciler of {self.key} takes only the key: read the object with ctx.get")
        return found  # type: ignore[no-any-return]  # the backend is the one of R_co

    @property
    def log(self) -> ObjectLogger:
        """A logger whose lines start with the object."""
        return self._backend.log

    @property
    def clock(self) -> Clock:
        """The clock, which tests can replace. Plain functions may only use its `now` and `monotonic`."""
        return self._backend.environment.clock

    def use(self, dependency: Dependency[T]) -> T:
        """Returns the value that the operator provides for this dependency: `ctx.use(http)`. See `Operator.provides`.

        Raises LookupError for a dependency that the operator does not provide.
        """
        return self._backend.environment.dependencies.use(dependency)

    @property
    def trace(self) -> Trace:
        """The trace of this reconcile: its requests carry it to the server, its log records have it as `trace`."""
        return self._backend.trace

    @property
    def attempt(self) -> int:
        """1 for the first attempt; grows while the reconcile of this key fails."""
        return self._backend.attempt

    @property
    def trigger(self) -> str:
        """The trigger of the reconcile, for logs: "initial", "updated", "Deployment deleted", "resync", "retry", …

        If there were several triggers, only the last one. Do not base decisions on it: read the current state.
        """
        return self._backend.trigger

    @property
    def changed(self) -> bool:
        """Whether this reconcile has written anything so far. Calls that had nothing to write do not count."""
        return self._backend.changed

    def get(self, kind: type[O], name: str, namespace: str | None = None) -> O | None:
        """Returns one object from the cache, or None. Default namespace: that of the reconciled object.

        The object is private to the caller. The operator's own writes are visible. Raises `NotCached` for a kind that
        is not in `owns`, `watches` or `reads` of this controller, or a namespace that is not cached.
        """
        return self._backend.read(kind, name, namespace)

    def list(self, kind: type[O], namespace: str | None = None, labels: Labels | None = None) -> list[O]:
        """Returns the cached objects of a kind in a stable order: in one namespace, or in all that are cached."""
        return self._backend.environment.caches.list(kind, namespace, labels)

    def by_index(self, kind: type[O], index: str, value: str, *, namespace: str | None = None) -> builtins.list[O]:
        """Returns the cached objects of a kind that have this value in an index of `operator.indexes`.

        `namespace` limits the result to one namespace. Default: all. Raises KeyError with the known indexes for an
        unknown index.
        """
        return self._backend.environment.caches.by_index(kind, index, value, namespace)

    def served(self, kind: type[Object]) -> bool:
        """Returns whether the cluster has a kind that is declared with `optional=True`. True for every other kind.

        While it does not, `get` returns None, `list` returns an empty list, and `apply` raises `NotServed`. When the
        kind is installed or removed, every object of the controller is reconciled again.
        """
        return self._backend.environment.caches.served(kind)

    def owned(self, kind: type[O]) -> builtins.list[O]:
        """Returns the cached objects of a kind that have the reconciled object as an owner."""
        return self._backend.owned(kind)

    def record(
        self,
        reason: str,
        message: str,
        type: EventType = "Normal",  # noqa: A002
        *,
        action: str = "Reconcile",
    ) -> None:
        """Records an event about the object. Never waits, and never fails the reconcile.

        `reason` and `action` are one CamelCase word each, for programs: why the event was recorded, and what was done.
        """
        self._backend.record(reason, message, type, action)

    def set_condition(
        self,
        type: str,  # noqa: A002  # the field's own name
        status: bool | ConditionStatus,
        reason: str,
        message: str = "",
    ) -> bool:
        """Sets a condition of the object's status. Returns whether that changes anything.

        All conditions are written together, by the next `set_status` or `patch_status`, or when the reconciler ends,
        also with an exception. `changed` is True only after that write. Raises RuntimeError if it is called from a task
        that outlives the reconcile, because the condition would be lost.
        """
        return self._backend.set_condition(type, status, reason, message)

    def remove_condition(self, type: str) -> bool:  # noqa: A002  # the field's own name
        """Removes a condition from the object's status. Returns whether it existed. Written as in `set_condition`."""
        return self._backend.remove_condition(type)


class Context(_BaseContext[R_co]):
    """The context of an async reconciler. There is one for each reconcile; do not keep it."""

    __slots__ = ()

    @property
    def client(self) -> Client:
        """The client, for everything else. The cache sees its writes when the watch delivers them."""
        return self._backend.environment.client

    async def apply(
        self,
        obj: O,
        *,
        adopt: bool = False,
        owned: bool = True,
        release: Sequence[str] = (),
        optimistic_lock: bool = False,
        immutable: ImmutablePolicy = "fail",
    ) -> O:
        """Makes sure that the object exists with these fields, and returns its current state.

        Nothing is sent if nothing would change. The reconciled object becomes its controller, unless `owned` is False.
        An existing object of another owner raises `NotOwned`, unless `adopt` is True and nothing controls it. Default
        namespace: that of the reconciled object. If it has none, or cannot own an object that is cluster-scoped or in
        another namespace, nothing is sent, and ValueError gives the reason.

        Fields that were applied before and are absent now are removed, or reset to the server's default. To keep the
        last value, list the field in `release`: `release=["spec.replicas"]` leaves it to an autoscaler, for example.

        With `optimistic_lock`, an existing object is written only if it still has the resourceVersion that this call
        has read: a newer state is never overwritten, and the key is reconciled again. docs/design/fencing.md explains
        what this adds to leader election.

        `immutable` decides what happens if an immutable field would change, such as the template of a Job: "fail"
        raises `ImmutableFields`, which names the fields; "keep" keeps them and applies the rest; "recreate" deletes the
        object, by its uid, and creates it again. While finalizers keep the old object, the key is retried. "recreate"
        loses the data of a PersistentVolumeClaim, the pods of a StatefulSet and the address of a Service.

        If another client keeps overwriting the same fields, writes of the object are paused after five restores. During
        the pause, the existing object is returned instead of the requested one. A warning and an event `Contested`
        report it, and the key is requeued for the end of the pause, in addition to its own result.
        """
        return await self._backend.apply(
            obj, adopt=adopt, owned=owned, release=release, optimistic_lock=optimistic_lock, immutable=immutable
        )

    async def apply_all(
        self,
        children: Iterable[Object | Child[Any]],
        *,
        prune: bool = False,
        condition: str | None = None,
    ) -> Children:
        """Applies a set of children, and returns their states and progress.

        A child is an object, or `Child(obj, after=[other], ...)` with the options of `apply`. A child with `after` is
        applied when those children are ready; until then it stays as it is, or absent. Readiness follows the rules of
        kstatus. A change of a child triggers the next reconcile if its kind is in `owns`. Independent children are
        applied concurrently, eight at a time; kinds that others need, such as ServiceAccounts, come first. If several
        fail, the first error is raised after all have ended, and its notes name the others.

        With `prune`, objects of the kinds in `owns` that this operator applied for the reconciled object, and that this
        reconcile has not applied, are deleted. That happens only after every child was applied. Without `prune`, a
        warning names such objects once.

        `condition` names a condition of the reconciled object that shows the progress: True when all are ready.

        Raises ValueError for an order that cannot work. Raises RuntimeError for a second call with `prune` in one
        reconcile, and if another controller of the same kind owns the same kinds.
        """
        return await self._backend.apply_all(children, prune=prune, condition=condition)

    async def prune(self, kinds: Iterable[type[Object]], *, keep: Iterable[Object]) -> int:
        """Deletes objects of these kinds that were applied for this one and are not in `keep`. Returns their number.

        Only objects that this operator applied and that the reconciled object controls are deleted.
        """
        return await self._backend.prune(kinds, keep)

    async def create(self, obj: O, *, owned: bool = True) -> O:
        """Creates the object, controlled by the reconciled one unless `owned` is False. May raise `AlreadyExists`."""
        return await self._backend.create(obj, owned=owned)

    async def update(self, obj: O) -> O:
        """Writes the changes of an object since it was read. Sends nothing if there are none. May raise `Conflict`.

        Raises ValueError if the status was changed: `set_status` and `patch_status` write the status.
        """
        return await self._backend.update(obj)

    @overload
    async def delete(self, target: Object, *, propagation: Propagation | None = None) -> bool: ...
    @overload
    async def delete(
        self, target: type[Object], name: str, namespace: str | None = None, *, propagation: Propagation | None = None
    ) -> bool: ...
    async def delete(
        self,
        target: Object | type[Object],
        name: str | None = None,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
    ) -> bool:
        """Requests the deletion of an object (by its uid), or of a kind and name.

        Returns False if there is no such object. `propagation` decides what happens to the objects that it owns. An
        object that finalizers or a grace period keep stays in the cache, with its deletion timestamp, until it is gone.
        """
        return await self._backend.delete(target, name, namespace, propagation)

    @overload
    async def set_status(self: Context[Untyped], status: Any) -> None: ...
    @overload
    async def set_status(self: Context[HasStatus[S]], status: S) -> None: ...
    async def set_status(self: Context[Any], status: Any) -> None:
        """Declares the whole status that this controller owns. Nothing is sent when nothing would change.

        Every field that is not None is declared, also 0, "" and the defaults of the model. Fields that this controller
        declared before and now leaves out are removed. Fields of other controllers and programs stay, and so do this
        controller's conditions if the given status has none. `patch_status` is for some fields only.

        It is a server-side apply of /status with one field manager for each controller (`<operator>-<controller>-
        status`). Raises `Conflict` if the object has changed since it was read; the key is retried.
        """
        await self._backend.set_status(status)

    async def patch_status(self, fields: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """Sets the named fields of the status: `patch_status(available=3)`, or a dict. None removes a field.

        Other fields stay as they are, also those that this controller set before. Names are those of the model, or of
        the wire. Nothing is sent when nothing would change. Raises TypeError for a field that the status does not
        have, and for a whole model: that is `set_status`. Raises `Conflict` as `set_status` does.
        """
        await self._backend.patch_status(fields, named)


class BlockingContext(_BaseContext[R_co]):
    """The context of a plain reconciler, in its thread: a `Context` whose methods block.

    A thread cannot be interrupted, so after the controller's `timeout` the next call raises `ReconcileTimeout`.
    """

    __slots__ = ()

    @property
    def client(self) -> BlockingClient:
        """The client, for everything else. The cache sees its writes when the watch delivers them."""
        from kubewright.controller._client_in_loop import ClientInLoop  # the client, which a definition does not need

        return ClientInLoop(self._backend)

    def apply(
        self,
        obj: O,
        *,
        adopt: bool = False,
        owned: bool = True,
        release: Sequence[str] = (),
        optimistic_lock: bool = False,
        immutable: ImmutablePolicy = "fail",
    ) -> O:
        """See `Context.apply`."""
        return self._wait(
            self._backend.apply(
                obj, adopt=adopt, owned=owned, release=release, optimistic_lock=optimistic_lock, immutable=immutable
            )
        )

    def apply_all(
        self,
        children: Iterable[Object | Child[Any]],
        *,
        prune: bool = False,
        condition: str | None = None,
    ) -> Children:
        """See `Context.apply_all`."""
        return self._wait(self._backend.apply_all(children, prune=prune, condition=condition))

    def prune(self, kinds: Iterable[type[Object]], *, keep: Iterable[Object]) -> int:
        """See `Context.prune`."""
        return self._wait(self._backend.prune(kinds, keep))

    def create(self, obj: O, *, owned: bool = True) -> O:
        """See `Context.create`."""
        return self._wait(self._backend.create(obj, owned=owned))

    def update(self, obj: O) -> O:
        """See `Context.update`."""
        return self._wait(self._backend.update(obj))

    @overload
    def delete(self, target: Object, *, propagation: Propagation | None = None) -> bool: ...
    @overload
    def delete(
        self, target: type[Object], name: str, namespace: str | None = None, *, propagation: Propagation | None = None
    ) -> bool: ...
    def delete(
        self,
        target: Object | type[Object],
        name: str | None = None,
        namespace: str | None = None,
        *,
        propagation: Propagation | None = None,
    ) -> bool:
        """See `Context.delete`."""
        return self._wait(self._backend.delete(target, name, namespace, propagation))

    @overload
    def set_status(self: BlockingContext[Untyped], status: Any) -> None: ...
    @overload
    def set_status(self: BlockingContext[HasStatus[S]], status: S) -> None: ...
    def set_status(self: BlockingContext[Any], status: Any) -> None:
        """See `Context.set_status`."""
        self._wait(self._backend.set_status(status))

    def patch_status(self, fields: Mapping[str, Any] | None = None, /, **named: Any) -> None:
        """See `Context.patch_status`."""
        self._wait(self._backend.patch_status(fields, named))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._backend.wait(work)


async def replace_status(ctx: Context[Any], status: Any) -> None:
    """Makes this the whole status of the reconciled object, by an update, as the controllers of Kubernetes do.

    For controllers of built-in kinds that are the only writers of a status. The event about it triggers another
    reconcile, which the controllers of Kubernetes rely on. Other controllers use `Context.set_status`.
    """
    await ctx._backend.replace_status(status)
