"""An operator as a process: event loop, logging, signals, exit code.

`run(operator, options)` is `operator.run(**options)`. It returns after a graceful stop and raises `SystemExit` with an
`ExitCode` otherwise. `resolve_settings` returns the settings that such a process uses. `report_failure` logs a
failure and returns its exit code, and `Signals` waits for SIGTERM and Ctrl-C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.operator.process._exit_codes import ExitCode
    from kubewright.operator.process._run import report_failure, resolve_settings, run
    from kubewright.operator.process._signals import Signals

_MODULES = {
    "Signals": "_signals",
    "report_failure": "_run",
    "ExitCode": "_exit_codes",
    "resolve_settings": "_run",
    "run": "_run",
}

__all__ = [
    "ExitCode",
    "Signals",
    "report_failure",
    "resolve_settings",
    "run",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
