"""Operators: controllers put together, and run.

    operator = Operator("sample-controller")

    @operator.reconciles(Foo, owns=[apps.Deployment])
    async def sync(foo: Foo, ctx: Context[Foo]) -> Result | None: ...

    operator.run()                                    # as a program, until SIGTERM or SIGINT
    async with operator.running(client) as running:   # inside another program, or a test
        ...

Handlers belong to their `Operator`; there is no registry behind it. What is promised of a run:

- It starts in stages (`_stages`): pages, webhooks, caches, others, what is the leader's, controllers; and stops in the
  reverse order, with a grace period for running reconciles.
- With leader election, which a pod has by itself, a standby keeps its caches warm and calls none of your code. Whoever
  loses the lease begins no reconcile and no write any more, and its process ends.
- Its settings (`Settings`) are defined once, for arguments, environment variables and flags.
- Its process tells: by exit codes (`ExitCode`), health pages, and a log that is JSON away from a terminal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator._has_webhooks import HasWebhooks
    from kubewright.operator._idempotence import NotIdempotent
    from kubewright.operator._operator import Operator
    from kubewright.operator._running import Running
    from kubewright.operator.access import for_installing, for_reviewing
    from kubewright.operator.process import ExitCode
    from kubewright.operator.settings import Options, SettingError, Settings

_HOMES = {
    "ExitCode": "kubewright.operator.process",
    "HasWebhooks": "_has_webhooks",
    "NotIdempotent": "_idempotence",
    "Operator": "_operator",
    "Options": "kubewright.operator.settings",
    "Running": "_running",
    "SettingError": "kubewright.operator.settings",
    "Settings": "kubewright.operator.settings",
    "for_installing": "kubewright.operator.access",
    "for_reviewing": "kubewright.operator.access",
}

__all__ = [
    "ExitCode",
    "HasWebhooks",
    "NotIdempotent",
    "Operator",
    "Options",
    "Running",
    "SettingError",
    "Settings",
    "for_installing",
    "for_reviewing",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
