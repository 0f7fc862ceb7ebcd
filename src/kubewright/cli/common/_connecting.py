"""What commands that talk to a cluster have in common: the flags that name it, and what becomes of its refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import click

from kubewright.cli.common._completing import contexts, files
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._numbers import SECONDS
from kubewright.client import (
    ApiError,
    Client,
    ConfigError,
    Forbidden,
    NotKubernetes,
    RetryPolicy,
    Unauthorized,
    load_config,
)

__all__ = ["cluster_options", "connected", "removal_options", "server_of", "timeout_option", "yes_option"]

T = TypeVar("T")

_RETRY = RetryPolicy(attempts=4)  # somebody sits and waits


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--kubeconfig` and `--context`."""
    command = click.option("--context", metavar="NAME", shell_complete=contexts, help="The context in the kubeconfig.")(
        command
    )
    return click.option(
        "--kubeconfig",
        metavar="FILE",
        shell_complete=files,
        help="The file that names the cluster; otherwise KUBECONFIG, the pod, ~/.kube/config.",
    )(command)


def timeout_option(seconds: float, until: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command `--timeout`: how long it waits until something is so."""
    return click.option(
        "--timeout",
        type=SECONDS,
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help=f"How long to wait until {until}.",
    )


def yes_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--yes`, with which it removes without asking."""
    return click.option("--yes", "-y", is_flag=True, help="Remove without asking.")(command)


def removal_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How long to wait for a removal, and whether to ask before it."""
    return timeout_option(60.0, "all is gone")(yes_option(command))


def server_of(kubeconfig: str | None, context: str | None) -> str:
    """The address of that cluster, which a question before a removal names. It is not asked anything."""
    try:
        return load_config(kubeconfig=kubeconfig, context=context).server
    except ConfigError as error:
        raise WrongUse(str(error)) from error


def connected(kubeconfig: str | None, context: str | None, work: Callable[[Client], Awaitable[T]]) -> T:
    """Do something with a client of that cluster. What the cluster refuses fails the command in one sentence."""

    async def run() -> T:
        config = load_config(kubeconfig=kubeconfig, context=context)
        async with Client(config, retry=_RETRY) as client:
            return await work(client)

    try:
        return asyncio.run(run())
    except Forbidden as error:
        raise click.ClickException(f"your account may not do this: {error}") from error
    except (ConfigError, NotKubernetes, Unauthorized) as error:
        raise WrongUse(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
