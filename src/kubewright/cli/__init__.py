"""The command line.

`main` is the entry point of the program `kubewright`. `run(arguments)` runs one command in this process and returns its
exit code, a `CommandExit`. `COMMANDS` lists the commands; `cli` is the click group of all of them.

Each command is a module that is imported when the command is used, so that `kubewright --version` and shell completion
stay quick. A failure is one message on standard error and a non-zero exit code, never a traceback. Set
`KUBEWRIGHT_DEBUG=1` to see the traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.cli._commands import COMMANDS
    from kubewright.cli._main import cli, run
    from kubewright.cli.common._exit_codes import CommandExit
    from kubewright.cli.common._output import Output

__all__ = ["COMMANDS", "CommandExit", "Output", "cli", "main", "run"]

_MODULES = {
    "COMMANDS": "_commands",
    "CommandExit": "common._exit_codes",
    "Output": "common._output",
    "cli": "_main",
    "run": "_main",
}


def main() -> None:
    """Runs the command of `sys.argv` and ends the process with its exit code."""
    from kubewright.cli._main import run

    raise SystemExit(run())


if not TYPE_CHECKING:  # type checkers report names that do not exist
    __getattr__ = lazy_exports(__name__, {name: f"{__name__}.{home}" for name, home in _MODULES.items()})
