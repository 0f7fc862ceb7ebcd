"""The entry point: the top of the command tree, and the conversion of errors to messages and exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Final

import click
from click.shell_completion import shell_complete

from kubewright.cli._commands import LazyGroup
from kubewright.cli._completion import VARIABLE
from kubewright.cli.common._exit_codes import CommandExit
from kubewright.files import NotWritten
from kubewright.redaction import visible
from kubewright.version import VERSION

__all__ = ["cli", "run"]

_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(VERSION, prog_name="kubewright", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """The Python SDK for Kubernetes operators.

    \b
    Example:
      kubewright init guestbook && cd guestbook
      kubewright create api --group webapp --version v1 --kind Guestbook
      kubewright dev
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False  # the contexts of all commands inherit this


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    if VARIABLE in os.environ:
        return _complete()
    try:
        result = cli.main(arguments, prog_name="kubewright", standalone_mode=False)
        if sys.stdout is not None:  # it is None if the caller closed it: `kubewright install >&-`
            sys.stdout.flush()
    except click.ClickException as error:
        _report(_message(error) + _explanation(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return CommandExit.INTERRUPTED
    except BrokenPipeError:
        # The reader closed the pipe, as `head` does. Without this, Python reports the error again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CommandExit.FAILED
    except Exception as error:
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps one in a __set_name__, as enums have it
            return CommandExit.INTERRUPTED
        if os.environ.get("KUBEWRIGHT_DEBUG"):
            traceback.print_exc()
        _report(f"Error: {_describe(error)}{_explanation(error)}")
        return CommandExit.FAILED
    # click returns the exit code if a command or --help ends early, else the return value of the command.
    return result if isinstance(result, int) else CommandExit.DONE


def _complete() -> int:
    """Answers a completion request. Writes completions and nothing else: errors would appear while the user types."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere), contextlib.suppress(Exception):
        return shell_complete(cli, {}, "kubewright", VARIABLE, os.environ[VARIABLE])
    return CommandExit.FAILED


def _report(message: str) -> None:
    """Prints a message on standard error. If that is not possible, the exit code still has its meaning."""
    with contextlib.suppress(OSError):
        click.echo(visible(message), err=True)


def _message(error: click.ClickException) -> str:
    text = error.format_message()
    if text.startswith("Usage:"):
        # A group without a command: click's message is the whole help text.
        return text
    text = " ".join(text.split())  # one line, also if click lists choices on several lines
    where = f" (see `{error.ctx.command_path} --help`)" if isinstance(error, click.UsageError) and error.ctx else ""
    return f"Error: {text}{where}"


def _explanation(error: Exception) -> str:
    """Returns the reference to the catalog for an error that has an entry, or was raised because of one that has.

    Messages about invalid input name the valid values themselves, and have no reference. Nor has an error whose message
    contains the fix.
    """
    if isinstance(error, click.ClickException) and error.exit_code == CommandExit.WRONG_USE:
        return ""
    from kubewright.catalog import entry_of  # only after an error

    entry = entry_of(error) or (entry_of(error.__cause__) if error.__cause__ is not None else None)
    return f" (kubewright explain {entry.code})" if entry is not None and entry.adds_to_message else ""


def _describe(error: Exception) -> str:
    if isinstance(error, FileNotFoundError) and not error.filename and _is_lost():
        return "the current folder no longer exists: change to another one"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, NotWritten):
        if _is_about_output(error):
            hint = ". Free disk space, or redirect the output elsewhere" if error.errno in _FULL else ""
            return f"cannot write the output: {error.strerror}{hint}"
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def _is_about_output(error: OSError) -> bool:
    """Whether the error was raised by printing: such an error names no file."""
    last = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)][-1:]
    return error.filename is None and last in ([click.echo.__code__], [run.__code__])


def _is_lost() -> bool:
    """Whether the current folder was deleted, so that relative paths cannot be resolved."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False
