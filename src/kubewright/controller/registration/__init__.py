"""Registration: the controllers that a program declares, checked at the declaration.

- `Registration` holds the declarations of one controller. Nothing runs yet.
- `Owns` and `Watch` declare other kinds whose changes trigger a reconcile; predicates select the changes. `Reads`
  declares kinds that are only read. All of them take the options of a cache.
- `handler_factory` and `check_handler` check the functions and classes that handle objects.
- The `check_*` functions check one option each. They raise TypeError or ValueError that names the option and the fix,
  so that a mistake fails at import and not at the first reconcile.
"""

from __future__ import annotations

from kubewright.controller.registration._caching import CacheRole, CacheUse, Reads, resolve_caches
from kubewright.controller.registration._finalizer_names import finalizer_name
from kubewright.controller.registration._handlers import (
    Handler,
    Handlers,
    Reconciler,
    check_handler,
    handler_factory,
)
from kubewright.controller.registration._mapping import (
    MapFunction,
    Owns,
    Reader,
    Watch,
    key_of_kind,
    keys_of_owners,
    owner_keys,
    parse_key,
)
from kubewright.controller.registration._options import check_kind, check_labels
from kubewright.controller.registration._predicates import (
    Predicate,
    PredicateFunction,
    annotations_changed,
    generation_changed,
    labels_changed,
    predicate,
    resource_version_changed,
)
from kubewright.controller.registration._registration import (
    DEFAULT_CONCURRENCY,
    PriorityFunction,
    RateLimiterFactory,
    Registration,
    Role,
    Trigger,
    check_concurrency,
    check_list,
    check_owns,
    check_priority,
    check_rate_limiter,
    check_reads,
    check_resync,
    check_timeout,
    check_triggers,
    check_watches,
    check_when,
)
from kubewright.controller.registration._repeating import NEW_OBJECTS, timer_handler

__all__ = [
    "DEFAULT_CONCURRENCY",
    "NEW_OBJECTS",
    "CacheRole",
    "CacheUse",
    "Handler",
    "Handlers",
    "MapFunction",
    "Owns",
    "Predicate",
    "PredicateFunction",
    "PriorityFunction",
    "RateLimiterFactory",
    "Reader",
    "Reads",
    "Reconciler",
    "Registration",
    "Role",
    "Trigger",
    "Watch",
    "annotations_changed",
    "check_concurrency",
    "check_handler",
    "check_kind",
    "check_labels",
    "check_list",
    "check_owns",
    "check_priority",
    "check_rate_limiter",
    "check_reads",
    "check_resync",
    "check_timeout",
    "check_triggers",
    "check_watches",
    "check_when",
    "finalizer_name",
    "generation_changed",
    "handler_factory",
    "key_of_kind",
    "keys_of_owners",
    "labels_changed",
    "owner_keys",
    "parse_key",
    "predicate",
    "resolve_caches",
    "resource_version_changed",
    "timer_handler",
]
