"""An operator as a process: event loop, logging, signals, exit code.

`run(operator, options)` is `operator.run(**options)`. It returns after a graceful stop and raises `SystemExit` with an
`ExitCode` otherwise. `resolve_settings` returns the settings that such a process uses.
"""

from __future__ import annotations

from kubewright.operator.process._exit_codes import ExitCode
from kubewright.operator.process._run import resolve_settings, run

__all__ = ["ExitCode", "resolve_settings", "run"]
