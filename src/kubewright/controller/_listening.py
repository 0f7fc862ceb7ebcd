"""Adds the handlers of `owns` and `watches` to the informers of a controller."""

from __future__ import annotations

from functools import partial
from typing import Any

from kubewright.cache import HandlerRegistration, Informer, Lister, ObjectKey
from kubewright.controller._cached_kinds import ControllerCaches
from kubewright.controller._sources import Enqueue, from_owned, from_referenced, from_watched
from kubewright.controller.registration import Registration
from kubewright.queue import LOW_PRIORITY

__all__ = ["index_references", "listen_to_others"]


def index_references(registration: Registration[Any], informer: Informer[Any]) -> None:
    """Adds the index of each `referenced_by` to the informer of the reconciled kind."""
    for number, watch in enumerate(registration.watches):
        if watch.referenced_by is not None:
            informer.add_index(_index(registration, number), watch.references)


def listen_to_others(
    registration: Registration[Any], caches: ControllerCaches, enqueue: Enqueue
) -> list[HandlerRegistration[Any]]:
    """Adds the handlers of `owns`, `watches` and optional kinds. Returns those of `owns` and `watches`."""
    primary: Lister[Any] = caches.primary.lister
    listening = []
    for owns, informer in zip(registration.owns, caches.owns, strict=True):
        handler = from_owned(owns, registration.info, enqueue)
        name = None if owns.when is None else f"predicate {owns.when} of Owns({owns.kind.__name__})"
        listening.append(informer.add_handler(handler, name=name))
    for number, (watch, informer) in enumerate(zip(registration.watches, caches.watches, strict=True)):
        if watch.referenced_by is None:
            handler = from_watched(watch, caches, enqueue)
        else:
            handler = from_referenced(watch, partial(_referring, primary, _index(registration, number)), enqueue)
        predicate = "" if watch.when is None else f"predicate {watch.when} or "
        name = f"{predicate}map function {watch.map_name} of Watch({watch.kind.__name__})"
        listening.append(informer.add_handler(handler, name=name))
    for informer in caches.optional:
        informer.add_served_handler(partial(_served_changed, primary, informer.info.kind, enqueue))
    return listening


def _served_changed(primary: Lister[Any], kind: str, enqueue: Enqueue, served: bool) -> None:
    """Reconciles every object again, because an optional kind was installed or removed."""
    for snapshot in primary.snapshots():
        enqueue(snapshot.key, f"{kind} {'installed' if served else 'removed'}", LOW_PRIORITY, None, None)


def _index(registration: Registration[Any], number: int) -> str:
    word = registration.name.replace("%", "%25").replace(" ", "%20")  # the name of an index has no spaces
    return f"{word}/watches[{number}]"


def _referring(primary: Lister[Any], index: str, value: str) -> list[ObjectKey]:
    return [snapshot.key for snapshot in primary.snapshots_by_index(index, value)]
