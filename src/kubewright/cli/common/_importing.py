"""What becomes of an error in the user's own module, while it is imported: its place is shown."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click

from kubewright.operator.loading import LoadError

__all__ = ["importing"]


@contextlib.contextmanager
def importing(*targets: str) -> Iterator[None]:
    """Import files or modules inside; what they raise is shown with the lines of their code, and fails the command.

    `LoadError` passes: it says by itself what is missing.
    """
    try:
        yield
    except (LoadError, click.ClickException):
        raise
    except (Exception, SystemExit) as error:  # a program that leaves must not end the command as if all went well
        from kubewright.development import user_traceback

        click.echo(user_traceback(error), err=True, nl=False)
        why = ", see above"
        if isinstance(error, SystemExit):
            why = ': it calls sys.exit(), see above. Keep that below `if __name__ == "__main__":`'
        raise click.ClickException(f"{', '.join(targets)} cannot be imported{why}") from error
