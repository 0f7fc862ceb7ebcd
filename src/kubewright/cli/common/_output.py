"""The output of a command: lines for people, or one JSON document for scripts.

`@output_option` adds `--output text|json` to a command, which receives an `Output` as its argument `output`. With json,
standard output is exactly one document, even if there was nothing to do. Errors always go to standard error.

If the reader closes the pipe (`kubewright deploy | head -2`), the command continues silently. Stopping halfway would
leave an incomplete deployment in the cluster.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import click

from kubewright.progress import Progress, Step
from kubewright.redaction import visible

__all__ = ["Output", "output_option"]


class Output:
    """The output of one command."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.steps: list[dict[str, str]] = []
        """The steps so far, for the document."""
        self._progress = Progress()

    def line(self, text: str, *, sign: str = "") -> None:
        """Prints a line for people. Control characters are escaped, because the text may come from a cluster; `sign` is
        not.
        """
        if not self.json:
            self._progress.clear()
            _echo(f"{sign} {visible(text)}" if sign else visible(text))

    def step(self, did: str, what: str) -> None:
        """Prints a step and adds it to `steps`: `applied`, `Deployment guestbook-system/guestbook`."""
        self.steps.append({"did": did, "what": what})
        self.line(f"{did} {what}")

    def document(self, **content: Any) -> None:
        """Prints the document for scripts, at the end. Does nothing for people."""
        if self.json:
            import msgspec

            _echo(msgspec.json.format(msgspec.json.encode(content), indent=2))

    def waiting(self, title: str) -> AbstractContextManager[Step]:
        """Shows a spinner on standard error while the block runs, if that is a terminal."""
        return self._progress.step(title, lines=False)


def _echo(text: str | bytes) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:
        # Python would also try to flush its buffer at exit.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--output` to a command."""

    def read(_: click.Context, __: click.Parameter, value: str) -> Output:
        return Output(json=value == "json")

    return click.option(
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=read,
        help="Print text for people, or one JSON document for scripts.",
    )(command)
