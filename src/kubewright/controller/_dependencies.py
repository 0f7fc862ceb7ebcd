"""Dependencies of reconcilers besides the cluster, such as an HTTP client or a bucket. Tests replace them.

    @operator.provides
    async def http() -> AsyncIterator[httpx.AsyncClient]:
        async with httpx.AsyncClient() as client:
            yield client

    @operator.reconciles(Price)
    async def sync(price: Price, ctx: kw.Context[Price]) -> None:
        response = await ctx.use(http).get(price.spec.url)

    async with operator.running(cluster, replace=[http.replaced_by(fake)]): ...

A `Dependency` is a typed key. The value belongs to one run of the operator, so two runs in one process share nothing,
and tests need no global variables.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final, Generic, Literal, TypeVar

import msgspec

__all__ = ["Dependencies", "Dependency", "Replacement", "start_dependencies"]

T = TypeVar("T")

_YIELDS_ONCE: Final = "`async def http() -> AsyncIterator[Client]: ... yield client`"


class Dependency(Generic[T]):
    """The key of a value that `ctx.use` returns. `operator.provides` makes it from a function that yields the value.

    Raises TypeError if that is not an async generator function without parameters.
    """

    __slots__ = ("dry_run", "name", "simulated", "start")

    def __init__(
        self,
        start: Callable[[], AsyncIterator[T]],
        dry_run: Literal["same"] | Callable[[], AsyncIterator[T]] | None = None,
        simulated: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.name: str = getattr(start, "__name__", repr(start))
        _check_start("provides", start)
        if dry_run is not None and dry_run != "same":
            _check_start("provides(dry_run=...)", dry_run)
        self.start = start
        self.dry_run = dry_run
        """The value in a dry run of the operator: "same", or a function that yields a replacement."""
        if simulated is not None and not callable(simulated):
            raise TypeError(f"provides(simulated=...) takes a class or function of one argument, not {simulated!r}")
        self.simulated = simulated
        """Makes the stand-in for the laboratory and the explorer, from the state of the external system, a dict."""

    def replaced_by(self, value: T) -> Replacement:
        """Replaces the function's value in one run: `running(cluster, replace=[http.replaced_by(fake)])`."""
        return Replacement(self, value)

    def __repr__(self) -> str:
        return f"<Dependency {self.name}>"


def _check_start(what: str, start: Any) -> None:
    if not inspect.isasyncgenfunction(start) or inspect.signature(start).parameters:
        name = getattr(start, "__name__", repr(start))
        raise TypeError(
            f"{what} takes an async function without parameters that yields the value once, not {name}:"
            f" {_YIELDS_ONCE}, without @asynccontextmanager"
        )


class Replacement(msgspec.Struct, frozen=True, eq=False):
    """A value that replaces a dependency in one run. The caller owns it, and closes it."""

    dependency: Dependency[Any]
    value: Any


class Dependencies:
    """The values of one run."""

    def __init__(self, values: Mapping[Dependency[Any], Any] | None = None) -> None:
        self._values = dict(values or {})

    def use(self, dependency: Dependency[T]) -> T:
        """Returns the value. Raises LookupError for a dependency that the operator does not provide."""
        try:
            value: T = self._values[dependency]
        except (KeyError, TypeError):
            known = ", ".join(each.name for each in self._values) or "none"
            raise LookupError(
                f"{dependency!r} is not a dependency of this operator; it provides: {known}. Decorate the function that"
                " makes it with @operator.provides, and pass the decorated function to ctx.use"
            ) from None
        return value


async def start_dependencies(
    provided: Iterable[Dependency[Any]], replaced: Iterable[Replacement], stack: AsyncExitStack
) -> Dependencies:
    """Starts the dependencies that are not replaced, in order. They are closed when the stack unwinds.

    Raises ValueError for a replacement of a dependency that the operator does not provide, and TypeError for a function
    that ends without a yield.
    """
    provided = list(provided)
    values: dict[Dependency[Any], Any] = {}
    for each in replaced:
        if each.dependency not in provided:
            raise ValueError(f"replace: {each.dependency!r} is not a dependency of this operator")
        values[each.dependency] = each.value
    for dependency in provided:
        if dependency not in values:
            try:
                values[dependency] = await stack.enter_async_context(asynccontextmanager(dependency.start)())
            except RuntimeError as error:
                if isinstance(error.__context__, StopAsyncIteration):  # contextlib's error does not name the function
                    raise TypeError(f"the dependency {dependency.name} ended without a yield: {_YIELDS_ONCE}") from None
                raise
    return Dependencies(values)
