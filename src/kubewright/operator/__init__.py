"""Operators: controllers put together, and run.

    operator = Operator("sample-controller")

    @operator.reconciles(Foo, owns=[apps.Deployment])
    async def sync(foo: Foo, ctx: Context[Foo]) -> Result | None: ...

    operator.run()                                    # as a program, until SIGTERM or SIGINT
    async with operator.running(client) as running:   # inside another program, or a test
        ...

Handlers belong to their `Operator`; there is no registry behind it. Starting: caches first, workers when all of them
are in sync. Stopping: the sources of work first, then the workers, which may finish what they are at, then the rest.
"""

from __future__ import annotations

from kubewright.operator._exit import ExitCode
from kubewright.operator._operator import Operator
from kubewright.operator._permissions import for_installing
from kubewright.operator._running import Running
from kubewright.operator._settings import Options, SettingError, Settings

__all__ = ["ExitCode", "Operator", "Options", "Running", "SettingError", "Settings", "for_installing"]
