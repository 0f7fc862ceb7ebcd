"""What starts, stops and is checked with an operator: components, dependencies, checks of its health."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import cached_property
from typing import Any, TypeVar

from kubewright.controller import Dependency
from kubewright.operator._stages import STAGES, Component, Stage, check_component, check_stage
from kubewright.operator.endpoints import Check, check_check

__all__ = ["HasComponents"]

T = TypeVar("T")


class HasComponents:
    """Registers them. A part of `Operator`."""

    @cached_property
    def components(self) -> dict[Stage, list[Component]]:
        """What was attached, by stage."""
        return {stage: [] for stage in STAGES}

    @cached_property
    def dependencies(self) -> list[Dependency[Any]]:
        """What reconcilers use."""
        return []

    @cached_property
    def health_checks(self) -> dict[str, Check]:
        """The checks of `/healthz`, by name."""
        return {}

    @cached_property
    def ready_checks(self) -> dict[str, Check]:
        """The checks of `/readyz`, by name."""
        return {}

    def health_check(self, name: str, check: Check) -> None:
        """One more check of `/healthz`: when it fails, the process is beyond help, and is to be started again.

        A check is a function, plain or async. None or True means well; a text is why it failed, for all to read; after
        False or an exception, why is only in the log. It must be quick, and a plain one must not block.
        """
        check_check(name, check, self.health_checks)
        self.health_checks[name] = check

    def ready_check(self, name: str, check: Check) -> None:
        """One more check of `/readyz`: when it fails, this replica cannot work for now. As `health_check` otherwise."""
        check_check(name, check, self.ready_checks)
        self.ready_checks[name] = check

    def attach(self, component: Component, *, stage: Stage = "others") -> None:
        """Let something else start and stop with the operator: a server, a poller, a connection.

        Args:
            component: a function that is given the `Running` and makes an async context manager, which is entered at
                the start and left at the end. A function with `@contextlib.asynccontextmanager` is one.
            stage: when: "webhooks" before the caches, "others" when the caches are in sync, "leader" when this replica
                leads, before its controllers start. What is attached first starts first, and stops last.
        """
        check_stage(stage)
        check_component(component)
        self.components[stage].append(component)

    def provides(self, start: Callable[[], AsyncIterator[T]]) -> Dependency[T]:
        """Let a function make something that reconcilers use, such as an HTTP client: `ctx.use(http)`.

            @operator.provides
            async def http() -> AsyncIterator[httpx.AsyncClient]:
                async with httpx.AsyncClient() as client:
                    yield client

        It is started with each run, before webhooks and controllers, and ends after them. A test replaces it:
        `operator.running(cluster, replace=[http.replaced_by(fake)])`.
        """
        dependency = Dependency(start)
        self.dependencies.append(dependency)
        return dependency
