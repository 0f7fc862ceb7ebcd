"""The command line.

`main` runs it. Each group of commands is a module of its own, named in `_commands.COMMANDS` and imported only when it
is used, so that `kubewright --version` and shell completion stay quick. Whatever goes wrong is one message on standard
error and a non-zero exit, never a traceback; `KUBEWRIGHT_DEBUG=1` brings the traceback back for whoever works on
Kubewright itself.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """The entry point of the program `kubewright`; ends the process."""
    from kubewright.cli._main import run

    raise SystemExit(run())
