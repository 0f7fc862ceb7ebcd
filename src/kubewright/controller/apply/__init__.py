"""Apply: creates, updates and prunes the objects that belong to another one. Never touches objects of other owners.

`ctx.apply` calls `Applier.apply`. Guarantees:

- An absent object is created by a request that fails if the object exists after all. A stale cache cannot make an
  operator take over an object that another client made. An existing object must be ours, or be adopted explicitly.
- After an apply, the server has every requested field, also 0, "" and empty values, and none of the fields that were
  requested earlier and no longer are. Fields of other field managers stay. (Forced server-side apply under one field
  manager.)
- Nothing is sent if nothing would change.
- Objects in deletion are not written.
- A change of an immutable field fails, keeps the field, or recreates the object, as the caller says (`_immutable`).
- After the server has contradicted the cache, the object is read from the server (`_cache_mismatches`).
- If another client overwrites the same fields again and again, the writes are paused (`_write_conflicts`).

`decide` is a pure function from `Wanted` and `Known` to an `Action`: read `_decision.py` first. `_applier` executes
the action. `CacheMismatches`, `WriteConflicts` and `ApplyRecord` are its memory.
docs/design/apply.md explains the reasons, with measurements.
"""

from __future__ import annotations

from kubewright.controller.apply._applier import Applied, Applier
from kubewright.controller.apply._cache_mismatches import CacheMismatches
from kubewright.controller.apply._cache_view import CacheView
from kubewright.controller.apply._competitors import find_competitors
from kubewright.controller.apply._decision import CREATE, READ, SKIP, Action, Known, Pause, Wanted, Write, decide
from kubewright.controller.apply._errors import (
    ApplyError,
    BeingDeleted,
    ImmutableFields,
    NotOwned,
    Outdated,
    WriteConflict,
)
from kubewright.controller.apply._immutable import ImmutablePolicy
from kubewright.controller.apply._records import ApplyRecord
from kubewright.controller.apply._request import ApplyRequest
from kubewright.controller.apply._write_conflicts import ConflictState, KindKey, WriteConflicts

__all__ = [
    "CREATE",
    "READ",
    "SKIP",
    "Action",
    "Applied",
    "Applier",
    "ApplyError",
    "ApplyRecord",
    "ApplyRequest",
    "BeingDeleted",
    "CacheMismatches",
    "CacheView",
    "ConflictState",
    "ImmutableFields",
    "ImmutablePolicy",
    "KindKey",
    "Known",
    "NotOwned",
    "Outdated",
    "Pause",
    "Wanted",
    "Write",
    "WriteConflict",
    "WriteConflicts",
    "decide",
    "find_competitors",
]
