"""Reports errors that the user's modules raise while they are imported."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from kubewright.operator.loading import LoadError

__all__ = ["importing"]


@contextlib.contextmanager
def importing(*targets: str) -> Iterator[None]:
    """Imports files or modules in the block. An error of theirs is printed with its traceback and fails the command.

    `LoadError` passes through: its message is complete.
    """
    try:
        yield
    except (LoadError, click.ClickException):
        raise
    except (Exception, SystemExit) as error:  # sys.exit() in the program must not end the command with success
        if isinstance(error.__cause__, KeyboardInterrupt):  # Python 3.11 wraps one in a __set_name__, as enums have it
            raise KeyboardInterrupt from error
        from kubewright.development import user_traceback

        click.echo(user_traceback(error), err=True, nl=False)
        why = ", see above"
        if isinstance(error, SystemExit):
            why = ': it calls sys.exit(), see above. Keep that below `if __name__ == "__main__":`'
        raise click.ClickException(f"{', '.join(targets)} cannot be imported{why}") from error
