"""`Environment`: the client, caches and other parts that the controllers of a running operator share."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import msgspec

from kubewright.api import Object
from kubewright.client import Client
from kubewright.clock import Clock
from kubewright.controller._cached_kinds import CachedKinds
from kubewright.controller._dependencies import Dependencies
from kubewright.controller.apply import Applier
from kubewright.controller.children import LeftoverWarnings
from kubewright.controller.status import StatusDeclarations
from kubewright.events import EventRecorder
from kubewright.observe import FormerFinalizers, Observer, UndeclaredWrites
from kubewright.pausing import PAUSE_ANNOTATION

__all__ = ["Environment"]


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Shared by the controllers of one running operator."""

    client: Client
    caches: CachedKinds
    applier: Applier
    recorder: EventRecorder
    clock: Clock
    loop: asyncio.AbstractEventLoop
    rng: random.Random = msgspec.field(default_factory=random.Random)
    leads: Callable[[], bool] | None = None
    """Returns whether this process is the leader now; None without leader election."""
    undeclared_writes: UndeclaredWrites = msgspec.field(default_factory=UndeclaredWrites)
    former_finalizers: FormerFinalizers = msgspec.field(default_factory=FormerFinalizers)
    dependencies: Dependencies = msgspec.field(default_factory=Dependencies)
    statuses: StatusDeclarations = msgspec.field(default_factory=StatusDeclarations)
    shared_children: frozenset[tuple[type[Object], type[Object]]] = frozenset()
    """The pairs of a reconciled kind and an owned kind that several controllers have."""
    leftovers: LeftoverWarnings = msgspec.field(default_factory=LeftoverWarnings)
    pause_annotation: str = PAUSE_ANNOTATION
    """The annotation with which users pause an object."""
    failure_events: bool = True
    """Whether failures of reconciles are events on their objects."""
    observer: Observer = msgspec.field(default_factory=Observer)
    """Is notified of every reconcile. The client has its hooks."""
