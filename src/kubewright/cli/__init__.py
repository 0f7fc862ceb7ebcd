"""The command line.

`main` is the entry point of the program `kubewright`. `run(arguments)` runs one command in this process and returns its
exit code, a `CommandExit`. `COMMANDS` lists the commands; `cli` is the click group of all of them.

Each command is a module that is imported when the command is used, so that `kubewright --version` and shell completion
stay quick. A failure is one message on standard error and a non-zero exit code, never a traceback. Set
`KUBEWRIGHT_DEBUG=1` to see the traceback.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers read this as true; before `main` handles Ctrl-C, it is too early to import typing

if TYPE_CHECKING:
    from kubewright.cli._commands import COMMANDS
    from kubewright.cli._main import cli, run
    from kubewright.cli.common._exit_codes import CommandExit
    from kubewright.cli.common._output import Output

__all__ = ["COMMANDS", "CommandExit", "Output", "cli", "main", "run"]

_INTERRUPTED = 130
"""`CommandExit.INTERRUPTED`, before its module is imported."""

_MODULES = {
    "COMMANDS": "_commands",
    "CommandExit": "common._exit_codes",
    "Output": "common._output",
    "cli": "_main",
    "run": "_main",
}


def main() -> None:
    """Runs the command of `sys.argv` and ends the process with its exit code.

    Ctrl-C ends the process with `CommandExit.INTERRUPTED`, also while the command line is still imported.
    """
    try:
        import os
        import signal

        replaced = False
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a script's background process ignores it
            try:
                # An exception would be lost in a callback, which imports have. Nothing is open that needs cleanup.
                signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
                replaced = True
            except ValueError:
                pass  # only the main thread may set it
        from kubewright.cli._main import run

        if replaced:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run()
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None
    raise SystemExit(code)


if not TYPE_CHECKING:  # type checkers report names that do not exist

    def __getattr__(name: str) -> object:
        from kubewright.lazy import lazy_exports

        return lazy_exports(__name__, {name: f"{__name__}.{home}" for name, home in _MODULES.items()})(name)
