"""Controllers: from changes of objects to calls of a reconciler.

`_reconcile` states the contract; read it first. The names here are what reconcilers are written with:

- `Context` and `BlockingContext`, `Result`, `TerminalError`, `ReconcileTimeout`, `NotOwned` and its relatives;
- predicates for `when=`: `generation_changed`, `labels_changed`, `annotations_changed`, `resource_version_changed`,
  combined with `&`, `|`, `~`, and `predicate` to make one of a function;
- `Owns` and `Watch`, for `owns=` and `watches=`;
- `Dependency`, for what `operator.provides` and `ctx.use` hand to reconcilers.

`kubewright.operator` puts controllers together and runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.controller._apply import Applied as Applied
    from kubewright.controller._apply import Applier as Applier
    from kubewright.controller._contests import Contested as Contested
    from kubewright.controller._context import BlockingContext as BlockingContext
    from kubewright.controller._context import Context as Context
    from kubewright.controller._context import replace_status as replace_status
    from kubewright.controller._controller import Controller as Controller
    from kubewright.controller._controller import ControllerStats as ControllerStats
    from kubewright.controller._dependencies import Dependencies as Dependencies
    from kubewright.controller._dependencies import Dependency as Dependency
    from kubewright.controller._dependencies import Replacement as Replacement
    from kubewright.controller._dependencies import start_dependencies as start_dependencies
    from kubewright.controller._environment import Environment as Environment
    from kubewright.controller._environment import NotCached as NotCached
    from kubewright.controller._mapping import Owned as Owned
    from kubewright.controller._mapping import Owns as Owns
    from kubewright.controller._mapping import Reader as Reader
    from kubewright.controller._mapping import Watch as Watch
    from kubewright.controller._mapping import owner_keys as owner_keys
    from kubewright.controller._ownership import ApplyError as ApplyError
    from kubewright.controller._ownership import BeingDeleted as BeingDeleted
    from kubewright.controller._ownership import NotOwned as NotOwned
    from kubewright.controller._ownership import Outdated as Outdated
    from kubewright.controller._predicates import Predicate as Predicate
    from kubewright.controller._predicates import annotations_changed as annotations_changed
    from kubewright.controller._predicates import generation_changed as generation_changed
    from kubewright.controller._predicates import labels_changed as labels_changed
    from kubewright.controller._predicates import predicate as predicate
    from kubewright.controller._predicates import resource_version_changed as resource_version_changed
    from kubewright.controller._reconcile import NotDeclared as NotDeclared
    from kubewright.controller._reconcile import ReconcileTimeout as ReconcileTimeout
    from kubewright.controller._reconcile import Result as Result
    from kubewright.controller._reconcile import TerminalError as TerminalError
    from kubewright.controller._registration import Registration as Registration
    from kubewright.rbac import Permission as Permission

_HOMES = {
    "Applied": "_apply",
    "Applier": "_apply",
    "ApplyError": "_ownership",
    "BeingDeleted": "_ownership",
    "BlockingContext": "_context",
    "Contested": "_contests",
    "Context": "_context",
    "Controller": "_controller",
    "ControllerStats": "_controller",
    "Dependencies": "_dependencies",
    "Dependency": "_dependencies",
    "Environment": "_environment",
    "NotCached": "_environment",
    "NotDeclared": "_reconcile",
    "NotOwned": "_ownership",
    "Outdated": "_ownership",
    "Owned": "_mapping",
    "Owns": "_mapping",
    "Permission": "kubewright.rbac",
    "Predicate": "_predicates",
    "Reader": "_mapping",
    "ReconcileTimeout": "_reconcile",
    "Registration": "_registration",
    "Replacement": "_dependencies",
    "Result": "_reconcile",
    "TerminalError": "_reconcile",
    "Watch": "_mapping",
    "annotations_changed": "_predicates",
    "generation_changed": "_predicates",
    "labels_changed": "_predicates",
    "owner_keys": "_mapping",
    "predicate": "_predicates",
    "replace_status": "_context",
    "resource_version_changed": "_predicates",
    "start_dependencies": "_dependencies",
}

__all__ = [*_HOMES]

if not TYPE_CHECKING:  # who checks types is told of names that are not there
    __getattr__ = lazy_exports(__name__, _HOMES)
