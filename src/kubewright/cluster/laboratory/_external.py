"""External systems: stand-ins with state that outlives the operator, and faults in their calls."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, Final, Literal, TypeAlias

from kubewright.cluster.laboratory._scope import Scope
from kubewright.controller import Dependency, Replacement
from kubewright.programs import current_program

__all__ = ["CallHook", "External", "ExternalCall"]

_OBSERVED: Final = "_kubewright_observed"
_IN_CALL: Final[ContextVar[bool]] = ContextVar("kubewright-external-call", default=False)


class ExternalCall:
    """A call of an external system. `number` counts the calls of all external systems of the cluster, from 1."""

    def __init__(self, number: int, system: str, method: str, arguments: dict[str, Any]) -> None:
        self.number = number
        self.system = system
        self.method = method
        self.arguments = arguments
        self.error: Exception | None = None
        """The exception that a fault or the system raised; None before the end, and after a success."""

    def __repr__(self) -> str:
        return f"<{self.number}: {self.system}.{self.method}>"


CallHook: TypeAlias = "Callable[[ExternalCall], Exception | bool | Awaitable[Exception | bool | None] | None]"
"""Returns the exception to raise; True for the one of the system's `unavailable`; None or False for none."""


class _Hook(Scope):
    def __init__(self, hook: CallHook, method: str, hooks: list[_Hook]) -> None:
        self.hook = hook
        self.method = method
        self._hooks = hooks
        hooks.append(self)

    def end(self) -> None:
        """Ends the hook. May be called more than once."""
        if self in self._hooks:
            self._hooks.remove(self)


class External:
    """A simulated external system; `lab.external` makes it.

    `client` is the stand-in that the operator uses, `replacement` puts it in the place of the dependency, `state` is
    what the system stores, `calls` lists the calls so far.

    Public async methods of the stand-in are calls. If one of its methods is an `asynccontextmanager`, so are those of
    the session that it yields.
    """

    def __init__(self, dependency: Dependency[Any], state: dict[str, Any], number: Callable[[], int]) -> None:
        if dependency.simulated is None:
            raise ValueError(
                f"{dependency.name} has no simulation: declare one with @operator.provides(simulated=...), a class or"
                " function that takes the state of the external system, a dict, and returns a stand-in"
            )
        self.name = dependency.name
        self.state = state
        self.calls: list[ExternalCall] = []
        self.client: Any = dependency.simulated(state)
        self.replacement: Replacement = dependency.replaced_by(self.client)
        self._number = number
        self._hooks: dict[str, list[_Hook]] = {"before": [], "after": []}
        self._observe(self.client)

    def on_call(self, hook: CallHook, *, method: str = "", when: Literal["before", "after"] = "before") -> Scope:
        """Calls a function, plain or async, before or after each call: it acts, and returns the exception to raise.

        `before` prevents the call, `after` loses its result. It may kill the program that calls (`Running.kill`): the
        call then has no effect, or no result.

        Args:
            hook: a function with one argument, the `ExternalCall`.
            method: the method. Default: all.
            when: `before` the call takes effect, or `after`.
        """
        return _Hook(hook, method, self._hooks[when])

    def fail(
        self,
        method: str = "",
        *,
        nth: int = 1,
        times: int | None = 1,
        committed: bool = False,
        error: Exception | None = None,
    ) -> Scope:
        """Makes the n-th matching call from now on fail, and the following ones: `times` in all, None for all.

        Args:
            method: the method. Default: any.
            nth: the first call that fails, counted from 1.
            times: how many calls fail.
            committed: whether the call takes effect although it fails.
            error: the exception. Default: the one of the stand-in's `unavailable()`, or ConnectionError.
        """
        seen = 0

        def decide(call: ExternalCall) -> Exception | bool:
            nonlocal seen
            seen += 1
            struck = seen >= nth and (times is None or seen < nth + times)
            return struck and (error or True)

        return self.on_call(decide, method=method, when="after" if committed else "before")

    def _observe(self, stand_in: Any) -> None:
        """Replaces the public async methods of the stand-in, or of a session of it. Reads no property."""
        for name, found in inspect.getmembers_static(stand_in):
            plain = found.__func__ if isinstance(found, staticmethod | classmethod) else found
            if name.startswith("_") or hasattr(plain, _OBSERVED):
                continue
            if inspect.iscoroutinefunction(plain):
                observed: Callable[..., Any] = self._call_of(name, getattr(stand_in, name), stand_in)
            elif _opens_session(plain):
                observed = self._session_of(getattr(stand_in, name))
            else:
                continue
            setattr(observed, _OBSERVED, True)
            setattr(stand_in, name, observed)

    def _session_of(
        self, method: Callable[..., AbstractAsyncContextManager[Any]]
    ) -> Callable[..., AbstractAsyncContextManager[Any]]:
        @asynccontextmanager
        async def session(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            async with method(*args, **kwargs) as opened:
                self._observe(opened)
                yield opened

        return session

    def _call_of(
        self, name: str, method: Callable[..., Awaitable[Any]], stand_in: Any
    ) -> Callable[..., Awaitable[Any]]:
        signature = inspect.signature(method)

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            if _IN_CALL.get():  # a call of the stand-in itself
                return await method(*args, **kwargs)
            made = ExternalCall(self._number(), self.name, name, signature.bind(*args, **kwargs).arguments)
            self.calls.append(made)
            served = self._served(made, stand_in, lambda: method(*args, **kwargs))
            program = current_program()  # the system is outside of the program: a kill ends neither it nor its hooks
            return await (served if program is None else program.call(served))

        return call

    async def _served(self, call: ExternalCall, stand_in: Any, work: Callable[[], Awaitable[Any]]) -> Any:
        token = _IN_CALL.set(True)
        try:
            await self._ask("before", call, stand_in)
            result = await work()
            await self._ask("after", call, stand_in)
        except Exception as error:
            call.error = error
            raise
        finally:
            _IN_CALL.reset(token)
        return result

    async def _ask(self, when: str, call: ExternalCall, stand_in: Any) -> None:
        for each in list(self._hooks[when]):
            if each.method not in ("", call.method):
                continue
            answer = each.hook(call)
            if inspect.isawaitable(answer):
                answer = await answer
            await asyncio.sleep(0)  # a program that the hook killed ends here
            if answer is True:
                raise self._unavailable(stand_in)
            if isinstance(answer, Exception):
                raise answer

    def _unavailable(self, stand_in: Any) -> Exception:
        """Returns the error of a session's own `unavailable()`, or of the stand-in's."""
        for each in (stand_in, self.client):
            made = getattr(each, "unavailable", None)
            error = made() if callable(made) else None
            if isinstance(error, Exception):
                return error
        return ConnectionError(f"{self.name} does not respond")


def _opens_session(method: Any) -> bool:
    """Returns whether a method is an `asynccontextmanager`."""
    return not inspect.isasyncgenfunction(method) and inspect.isasyncgenfunction(getattr(method, "__wrapped__", None))
