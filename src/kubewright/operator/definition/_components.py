"""Registration of components, dependencies, health checks and pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import cached_property
from typing import Any, Literal, TypeVar, overload

from kubewright.arguments import check_string
from kubewright.controller import Dependency
from kubewright.operator.definition._checks import Check, check_health_check
from kubewright.operator.definition._stages import STAGES, Stage

__all__ = ["ComponentRegistration"]

T = TypeVar("T")


class ComponentRegistration:
    """The part of an operator that registers components, dependencies, health checks and pages."""

    @cached_property
    def components(self) -> dict[Stage, list[Callable[[Any], AbstractAsyncContextManager[Any]]]]:
        """The attached components by stage; each takes the `Running`."""
        return {stage: [] for stage in STAGES}

    @cached_property
    def console_extensions(self) -> list[str]:
        """The names of extensions of the console, such as `fleet.ui:fleet`."""
        return []

    def extend_console(self, extension: str) -> None:
        """Adds pages and actions to a console that runs with the operator, by name: `fleet.ui:fleet`.

        The module is imported when such a console starts (`attach_console`, `kubewright run --console-bind`), and never
        without one, so an operator's image needs NiceGUI only for a console.
        """
        module, colon, name = check_string("the name of an extension", extension, "fleet.ui:fleet").partition(":")
        if not colon or not name.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(f"the name of an extension must be module:name, such as fleet.ui:fleet, not {extension!r}")
        if extension not in self.console_extensions:
            self.console_extensions.append(extension)

    @cached_property
    def dependencies(self) -> list[Dependency[Any]]:
        """The dependencies of reconcilers, in the order of their registration."""
        return []

    @cached_property
    def health_checks(self) -> dict[str, Check]:
        """The checks of `/healthz` by name."""
        return {}

    @cached_property
    def ready_checks(self) -> dict[str, Check]:
        """The checks of `/readyz` by name."""
        return {}

    @cached_property
    def pages(self) -> dict[str, Callable[[Any, Any], Awaitable[Any]]]:
        """The operator's own pages by path; each takes the `Running` and the request."""
        return {}

    def health_check(self, name: str, check: Check) -> None:
        """Adds a check to `/healthz`. It fails when only a restart of the process can help.

        A check is a function, plain or async. It succeeds if it returns None or True. A string is the reason of a
        failure, and clients see it. After False or an exception the reason is only logged. A check must be quick; a
        plain one must not block.
        """
        check_health_check(name, check, self.health_checks)
        self.health_checks[name] = check

    def ready_check(self, name: str, check: Check) -> None:
        """Adds a check to `/readyz`. It fails while this replica cannot work. Otherwise like `health_check`."""
        check_health_check(name, check, self.ready_checks)
        self.ready_checks[name] = check

    @overload
    def provides(self, start: Callable[[], AsyncIterator[T]]) -> Dependency[T]: ...
    @overload
    def provides(
        self,
        *,
        dry_run: Literal["same"] | Callable[[], AsyncIterator[Any]] | None = None,
        simulated: Callable[[dict[str, Any]], Any] | None = None,
    ) -> Callable[[Callable[[], AsyncIterator[T]]], Dependency[T]]: ...
    def provides(
        self,
        start: Callable[[], AsyncIterator[T]] | None = None,
        *,
        dry_run: Literal["same"] | Callable[[], AsyncIterator[Any]] | None = None,
        simulated: Callable[[dict[str, Any]], Any] | None = None,
    ) -> Any:
        """Registers a function that makes a dependency of reconcilers, such as an HTTP client: `ctx.use(http)`.

            @operator.provides
            async def http() -> AsyncIterator[httpx.AsyncClient]:
                async with httpx.AsyncClient() as client:
                    yield client

        It starts with each run, before webhooks and controllers, and stops after them. A test replaces it:
        `operator.running(cluster, replace=[http.replaced_by(fake)])`.

        `@operator.provides(dry_run="same")` declares that a dry run of the operator may use it, because it only reads.
        `dry_run=fake_http` names a function that yields a replacement for dry runs.

        `simulated=SimulatedBucket` names a class or function that makes a stand-in for the laboratory (`lab.external`)
        and the explorer. It takes the state of the external system, a dict that outlives the operator and is empty at
        the start of each run; keep plain values in it. Each call of a public async method is a request at which faults
        occur. A method `unavailable()` of the stand-in returns the exception of such a fault. Default:
        ConnectionError.
        """
        if start is None:
            return lambda given: self._provide(Dependency(given, dry_run, simulated))
        return self._provide(Dependency(start, dry_run, simulated))

    def _provide(self, dependency: Dependency[T]) -> Dependency[T]:
        self.dependencies.append(dependency)
        return dependency
