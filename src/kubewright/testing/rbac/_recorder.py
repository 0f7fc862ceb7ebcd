"""Verifies the roles of an operator by its calls.

    with verified_rbac(operator):
        async with operator.running(client):
            ...

records every call of the operator, and raises `RbacError` at the end: for calls that its roles do not allow, and for
permissions that no call used. `pytest --kubewright-rbac` does the same for all operators of a test run.

Permissions for rare cases (a `get` after a conflict, events, the lease) need not be used. Calls of the tests themselves
do not count, nor do calls that every account may make.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from kubewright.client import Request
from kubewright.operator import Operator
from kubewright.operator.access import DeclaredAccess, observing_calls
from kubewright.operator.settings import Settings
from kubewright.rbac import CLUSTER, OWN, WATCHED, Permission
from kubewright.testing.rbac._api_calls import ApiCall, calls_of

__all__ = ["ApiCall", "CallRecorder", "RbacError", "RbacReport", "verified_rbac"]

# Granted to every account by system:discovery, system:public-info-viewer and system:basic-user.
_FREE_PATHS = ("/api", "/apis", "/healthz", "/livez", "/readyz", "/openapi", "/version")
_FREE_KINDS = ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews")


class RbacError(AssertionError):
    """The roles of an operator do not match its calls. The message has the calls and the fix."""


@dataclass(frozen=True, slots=True)
class RbacReport:
    """The comparison of the roles of an operator with its calls."""

    operator: str
    calls: int
    """The number of different calls."""
    missing: Mapping[ApiCall, str] = field(default_factory=dict)
    """Calls that the roles do not allow, each with the test that made it, if any."""
    unused: tuple[Permission, ...] = ()
    """Permissions that no call used."""

    @property
    def ok(self) -> bool:
        """Whether roles and calls match."""
        return not self.missing and not self.unused

    def __str__(self) -> str:
        lines = [f"operator {self.operator}: {self.calls} different calls"]
        if self.ok:
            return f"{lines[0]}, which its roles allow; nothing in them is unused"
        if self.missing:
            lines.append("  calls that its roles do not allow (declare them: verbs=, or operator.needs(...)):")
            lines += [f"    {call}{f'  [{test}]' if test else ''}" for call, test in sorted(self.missing.items())]
        if self.unused:
            lines.append("  permissions that nothing used (narrow them: verbs=, or leave the declaration out):")
            lines += [f"    {one}  [{one.why}]" for one in self.unused]
        return "\n".join(lines)


@dataclass(slots=True)
class _Recorded:
    """The calls of an operator in all its runs, or of several with the same declarations: tests may load it again."""

    name: str
    permissions: dict[Permission, None] = field(default_factory=dict)
    """The permissions of all runs; they depend on settings such as `leader_elect`."""
    calls: dict[ApiCall, str] = field(default_factory=dict)
    missing: dict[ApiCall, str] = field(default_factory=dict)
    used: set[Permission] = field(default_factory=set)


class CallRecorder:
    """Records the calls of runs that start between `start` and `stop`: of all operators, or those with given names."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = frozenset(names)
        self._recorded: dict[tuple[object, ...], _Recorded] = {}
        self._runs: WeakKeyDictionary[DeclaredAccess, _Recorded] = WeakKeyDictionary()
        self._recording = ExitStack()
        self._active = False

    def start(self) -> None:
        """Starts recording."""
        self._active = True
        self._recording.enter_context(observing_calls(self._record))

    def stop(self) -> None:
        """Stops recording, also of runs that have not ended."""
        self._active = False
        self._recording.close()

    def calls(self) -> list[ApiCall]:
        """Returns all different calls, sorted."""
        return sorted({call for recorded in self._recorded.values() for call in recorded.calls})

    def reports(self) -> list[RbacReport]:
        """Returns a report for each operator, sorted by name."""
        return [
            RbacReport(
                recorded.name,
                len(recorded.calls),
                recorded.missing,
                tuple(one for one in recorded.permissions if not one.rare and one not in recorded.used),
            )
            for recorded in sorted(self._recorded.values(), key=lambda recorded: recorded.name)
        ]

    def _record(self, access: DeclaredAccess, request: Request, status: int) -> None:
        name = access.operator.name
        if not self._active or not access.operator.has_roles or (self._names and name not in self._names):
            return
        recorded = self._runs.get(access) or self._record_of(access)
        test = os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]
        for call in calls_of(request, status):
            allowing = [one for one in access.permissions if _allows(one, call, access.namespaces)]
            recorded.calls.setdefault(call, test)
            recorded.used.update(allowing)
            if not allowing and not _is_free(call):
                recorded.missing.setdefault(call, test)

    def _record_of(self, access: DeclaredAccess) -> _Recorded:
        """Returns the record for the first call of a run."""
        operator = access.operator
        declared = (operator.name, *operator.permissions(Settings()))  # independent of the settings of each run
        recorded = self._runs[access] = self._recorded.setdefault(declared, _Recorded(operator.name))
        recorded.permissions |= dict.fromkeys(access.permissions)
        return recorded


@contextmanager
def verified_rbac(operator: Operator, *, unused: bool = True) -> Iterator[CallRecorder]:
    """Raises `RbacError` at the end if the roles of this operator do not match the calls of runs that start within.

    With `unused=False`, unused permissions are not an error: a single test rarely uses all of them.
    """
    recorder = CallRecorder([operator.name])
    recorder.start()
    try:
        yield recorder
    finally:
        recorder.stop()
    reports = recorder.reports()
    if not reports:
        raise RbacError(f"operator {operator.name} made no call: was it running? Start it inside the block")
    if wrong := [str(report) for report in reports if report.missing or (unused and report.unused)]:
        raise RbacError("\n".join(wrong))


def _allows(one: Permission, call: ApiCall, namespaces: Iterable[str]) -> bool:
    if call.url:
        return one.verb in (call.verb, "*") and (
            one.url == call.url or (one.url.endswith("*") and call.url.startswith(one.url[:-1]))
        )
    return (
        not one.url
        and one.group in (call.group, "*")
        and _is_resource(one.resource, call.resource)
        and one.verb in (call.verb, "*")
        # The server authorizes a create without a name.
        and (not one.name or (one.name == call.name and call.verb != "create"))
        and _is_there(one.where, call.namespace, tuple(namespaces))
    )


def _is_resource(allowed: str, asked: str) -> bool:
    return allowed in (asked, "*") or (allowed.startswith("*/") and allowed[1:] == f"/{asked.partition('/')[2]}")


def _is_there(where: str, namespace: str, namespaces: tuple[str, ...]) -> bool:
    if where == WATCHED:
        return not namespaces or namespace in namespaces
    # A test does not determine the namespace that the operator will run in.
    return where in (CLUSTER, OWN, namespace)


def _is_free(call: ApiCall) -> bool:
    if call.url:
        return call.verb == "get" and any(call.url == free or call.url.startswith(f"{free}/") for free in _FREE_PATHS)
    return call.group in ("authorization.k8s.io", "authentication.k8s.io") and call.resource in _FREE_KINDS
