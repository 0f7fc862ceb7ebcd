"""Checks that the roles of an operator match its API calls.

`verified_rbac(operator)` records the calls of an operator and raises `RbacError` for calls that its roles do not allow
and for permissions that no call used; `pytest --kubewright-rbac` (`RbacPlugin`) does so for a whole test run.
`add_operator_account` and `operator_client` run an operator with its roles and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.testing.rbac._account import add_operator_account, operator_client
    from kubewright.testing.rbac._api_calls import ApiCall, calls_of
    from kubewright.testing.rbac._plugin import RbacPlugin
    from kubewright.testing.rbac._recorder import CallRecorder, RbacError, RbacReport, verified_rbac

__all__ = [
    "ApiCall",
    "CallRecorder",
    "RbacError",
    "RbacPlugin",
    "RbacReport",
    "add_operator_account",
    "calls_of",
    "operator_client",
    "verified_rbac",
]

_MODULES = {
    "ApiCall": "_api_calls",
    "CallRecorder": "_recorder",
    "RbacError": "_recorder",
    "RbacPlugin": "_plugin",
    "RbacReport": "_recorder",
    "add_operator_account": "_account",
    "calls_of": "_api_calls",
    "operator_client": "_account",
    "verified_rbac": "_recorder",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
