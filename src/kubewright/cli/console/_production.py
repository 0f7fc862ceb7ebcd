"""The option of `kubewright ui` that names production clusters."""

from __future__ import annotations

from typing import Final

import click

__all__ = ["production_option"]

production_option: Final = click.option(
    "--production",
    multiple=True,
    metavar="PATTERN",
    help="Mark contexts with names like this as production, such as 'live-*'. [default: names with the word prod]",
)
"""Adds the parameter `production`."""
