"""Controllers: from changes of objects to calls of a reconciler.

`_reconcile` is the contract: read it first. Reconcilers are written with these names:

- `Context` and `BlockingContext`, `Result`, `RetryLater`, `TerminalError`, `ReconcileTimeout`, `NotOwned` and the
  other errors;
- predicates for `when=`: `generation_changed`, `labels_changed`, `annotations_changed`, `resource_version_changed`,
  combined with `&`, `|`, `~`; `predicate` makes one from a function;
- `Owns`, `Watch` and `Reads`, for `owns=`, `watches=` and `reads=`;
- `Dependency`, for values that `operator.provides` and `ctx.use` pass to reconcilers.

The sub-rooms: `registration` (declarations and their checks), `apply` (`ctx.apply` and `ctx.prune`),
`children` (`ctx.apply_all`), `readiness` (whether an object has reached its desired state), `status` (the
status and its conditions), `fields` (pure functions over managed fields). `kubewright.operator` composes controllers
and runs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.controller._cached_kinds import CachedKinds as CachedKinds
    from kubewright.controller._cached_kinds import NotCached as NotCached
    from kubewright.controller._cached_kinds import NotServed as NotServed
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
    from kubewright.controller._handler_calls import handler_in as handler_in
    from kubewright.controller._object_logger import ObjectLogger as ObjectLogger
    from kubewright.controller._reconcile import NotDeclared as NotDeclared
    from kubewright.controller._reconcile import ReconcileTimeout as ReconcileTimeout
    from kubewright.controller._reconcile import Result as Result
    from kubewright.controller._reconcile import RetryLater as RetryLater
    from kubewright.controller._reconcile import TerminalError as TerminalError
    from kubewright.controller._repeated_errors import RepeatedError as RepeatedError
    from kubewright.controller._requested import RECONCILE_ANNOTATION as RECONCILE_ANNOTATION
    from kubewright.controller.apply import Applied as Applied
    from kubewright.controller.apply import Applier as Applier
    from kubewright.controller.apply import ApplyError as ApplyError
    from kubewright.controller.apply import BeingDeleted as BeingDeleted
    from kubewright.controller.apply import ImmutableFields as ImmutableFields
    from kubewright.controller.apply import NotOwned as NotOwned
    from kubewright.controller.apply import Outdated as Outdated
    from kubewright.controller.apply import WriteConflict as WriteConflict
    from kubewright.controller.children import Child as Child
    from kubewright.controller.children import Children as Children
    from kubewright.controller.readiness import Readiness as Readiness
    from kubewright.controller.readiness import readiness_of as readiness_of
    from kubewright.controller.registration import Owns as Owns
    from kubewright.controller.registration import Predicate as Predicate
    from kubewright.controller.registration import Reader as Reader
    from kubewright.controller.registration import Reads as Reads
    from kubewright.controller.registration import Registration as Registration
    from kubewright.controller.registration import Watch as Watch
    from kubewright.controller.registration import annotations_changed as annotations_changed
    from kubewright.controller.registration import generation_changed as generation_changed
    from kubewright.controller.registration import labels_changed as labels_changed
    from kubewright.controller.registration import owner_keys as owner_keys
    from kubewright.controller.registration import predicate as predicate
    from kubewright.controller.registration import resource_version_changed as resource_version_changed
    from kubewright.rbac import Permission as Permission

_MODULES = {
    "Applied": "kubewright.controller.apply",
    "Applier": "kubewright.controller.apply",
    "ApplyError": "kubewright.controller.apply",
    "BeingDeleted": "kubewright.controller.apply",
    "BlockingContext": "_context",
    "WriteConflict": "kubewright.controller.apply",
    "CachedKinds": "_cached_kinds",
    "Child": "kubewright.controller.children",
    "Children": "kubewright.controller.children",
    "Context": "_context",
    "Controller": "_controller",
    "ControllerStats": "_controller",
    "Dependencies": "_dependencies",
    "Dependency": "_dependencies",
    "Environment": "_environment",
    "ImmutableFields": "kubewright.controller.apply",
    "NotCached": "_cached_kinds",
    "NotServed": "_cached_kinds",
    "NotDeclared": "_reconcile",
    "NotOwned": "kubewright.controller.apply",
    "ObjectLogger": "_object_logger",
    "Outdated": "kubewright.controller.apply",
    "Owns": "kubewright.controller.registration",
    "Permission": "kubewright.rbac",
    "Predicate": "kubewright.controller.registration",
    "RECONCILE_ANNOTATION": "_requested",
    "Reader": "kubewright.controller.registration",
    "Readiness": "kubewright.controller.readiness",
    "ReconcileTimeout": "_reconcile",
    "Reads": "kubewright.controller.registration",
    "Registration": "kubewright.controller.registration",
    "RepeatedError": "_repeated_errors",
    "Replacement": "_dependencies",
    "Result": "_reconcile",
    "RetryLater": "_reconcile",
    "TerminalError": "_reconcile",
    "Watch": "kubewright.controller.registration",
    "annotations_changed": "kubewright.controller.registration",
    "generation_changed": "kubewright.controller.registration",
    "handler_in": "_handler_calls",
    "labels_changed": "kubewright.controller.registration",
    "owner_keys": "kubewright.controller.registration",
    "predicate": "kubewright.controller.registration",
    "readiness_of": "kubewright.controller.readiness",
    "replace_status": "_context",
    "resource_version_changed": "kubewright.controller.registration",
    "start_dependencies": "_dependencies",
}

__all__ = [*_MODULES]

if not TYPE_CHECKING:  # type checkers must report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
