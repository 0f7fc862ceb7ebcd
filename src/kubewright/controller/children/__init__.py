"""Children: the objects of one reconciled object as a set, applied in order and pruned.

`ctx.apply_all` applies them:

- A child is applied after the children in its `after=` are ready (`kubewright.controller.readiness`, or its `ready=`).
- With `prune`, children that were applied earlier and are not in the set are deleted: only after every child of the set
  was applied, with caches in sync, and only objects that this owner controls and this operator applied.
- Without it, a warning names them once, unless the reconcile prunes them itself.

`_order` and `_progress` are pure; `_applying` executes.
"""

from __future__ import annotations

from kubewright.controller.children._applying import ChildApplier, Children
from kubewright.controller.children._order import Child, ChildKey, in_order
from kubewright.controller.children._record import ChildRecord, LeftoverWarnings, shared_child_kinds

__all__ = [
    "Child",
    "ChildApplier",
    "ChildKey",
    "ChildRecord",
    "Children",
    "LeftoverWarnings",
    "in_order",
    "shared_child_kinds",
]
