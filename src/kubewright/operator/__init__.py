"""Operators: controllers, webhooks and components, combined and run.

    operator = Operator("sample-controller")

    @operator.reconciles(Foo, owns=[apps.Deployment])
    async def sync(foo: Foo, ctx: Context[Foo]) -> Result | None: ...

    operator.run()                                    # as a program, until SIGTERM or SIGINT
    async with operator.running(client) as running:   # inside another program, or a test
        ...

Handlers belong to their `Operator`; there is no global registry. Guarantees of a run:

- It starts in stages (`attach`): endpoints, webhooks, caches, other components, components of the leader, controllers.
  It stops in the reverse order, with a grace period for running reconciles.
- With leader election, which is enabled in a pod, a standby keeps its caches warm and calls none of your code. A
  replica that loses the lease starts no further reconcile and no further write, and its process exits.
- Its settings (`Settings`) are defined once for arguments, environment variables and flags.
- Its process reports by exit codes (`ExitCode`), health endpoints, and a log that is JSON unless written to a terminal.

Start to read in `_running.py`: `Running._start` is the whole startup in order. Sub-rooms: `definition` (what is
registered), `settings`, `access` (permissions), `endpoints` (health and metrics), `logs`, `process`, `loading`,
`dry_run`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator._idempotence import NotIdempotent
    from kubewright.operator._operator import Component, Operator, PageFunction
    from kubewright.operator._running import Running
    from kubewright.operator.access import for_installing, for_reviewing
    from kubewright.operator.definition import Exemption, World
    from kubewright.operator.dry_run import DryRunRefused, DryRunReport
    from kubewright.operator.endpoints import Page, PageRequest
    from kubewright.operator.loading import LoadError, load_operator
    from kubewright.operator.process import ExitCode
    from kubewright.operator.settings import Options, SettingError, Settings
    from kubewright.programs import Killed

__all__ = [
    "Component",
    "DryRunRefused",
    "DryRunReport",
    "Exemption",
    "ExitCode",
    "Killed",
    "LoadError",
    "NotIdempotent",
    "Operator",
    "Options",
    "Page",
    "PageFunction",
    "PageRequest",
    "Running",
    "SettingError",
    "Settings",
    "World",
    "for_installing",
    "for_reviewing",
    "load_operator",
]

# Imported on first use: importing an operator's file needs only its definition.
_MODULES = {
    "Component": "_operator",
    "DryRunRefused": "kubewright.operator.dry_run",
    "DryRunReport": "kubewright.operator.dry_run",
    "Exemption": "kubewright.operator.definition",
    "ExitCode": "kubewright.operator.process",
    "Killed": "kubewright.programs",
    "LoadError": "kubewright.operator.loading",
    "NotIdempotent": "_idempotence",
    "Operator": "_operator",
    "Options": "kubewright.operator.settings",
    "Page": "kubewright.operator.endpoints",
    "PageFunction": "_operator",
    "PageRequest": "kubewright.operator.endpoints",
    "Running": "_running",
    "SettingError": "kubewright.operator.settings",
    "Settings": "kubewright.operator.settings",
    "World": "kubewright.operator.definition",
    "for_installing": "kubewright.operator.access",
    "for_reviewing": "kubewright.operator.access",
    "load_operator": "kubewright.operator.loading",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
