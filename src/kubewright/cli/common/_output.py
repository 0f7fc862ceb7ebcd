"""How a command tells what it did: lines for people as it goes, or one JSON document for scripts.

`@output_option` gives a command `--output text|json` and, as its argument `output`, an `Output`. With json, standard
output is exactly one document, also when the command found nothing to do; errors are on standard error as ever.

Nobody needs to listen: when the other end of a pipe is closed (`kubewright deploy | head -2`), the command goes on
without a word. To stop in the middle of its work would leave half of it in the cluster.
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
    """One command's way of telling."""

    def __init__(self, *, json: bool = False) -> None:
        self.json = json
        self.steps: list[dict[str, str]] = []
        """What was done, for the document."""
        self._progress = Progress()

    def line(self, text: str, *, sign: str = "") -> None:
        """A line for people, with control characters escaped: they may come from a cluster. A sign may be styled."""
        if not self.json:
            self._progress.clear()
            _say(f"{sign} {visible(text)}" if sign else visible(text))

    def step(self, did: str, what: str) -> None:
        """A step that was done: `applied`, `Deployment guestbook-system/guestbook`. It is kept in `steps`."""
        self.steps.append({"did": did, "what": what})
        self.line(f"{did} {what}")

    def document(self, **content: Any) -> None:
        """The document for scripts, at the end. People do not see it."""
        if self.json:
            import msgspec

            _say(msgspec.json.format(msgspec.json.encode(content), indent=2))

    def waiting(self, title: str) -> AbstractContextManager[Step]:
        """A spinner on standard error while the block runs, if that is a terminal; elsewhere nothing at all."""
        return self._progress.step(title, lines=False)


def _say(text: str | bytes) -> None:
    try:
        click.echo(text)
    except BrokenPipeError:
        # What Python still has for it, too, which it would try to get rid of at the end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--output`."""

    def read(_: click.Context, __: click.Parameter, value: str) -> Output:
        return Output(json=value == "json")

    return click.option(
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=read,
        help="Lines for people, or one JSON document for scripts.",
    )(command)
