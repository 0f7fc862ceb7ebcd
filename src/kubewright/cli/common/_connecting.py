"""Options of commands that connect to a cluster, and the conversion of its errors to messages."""

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

_RETRY = RetryPolicy(attempts=4)  # the user is waiting


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--kubeconfig` and `--context` to a command."""
    command = click.option("--context", metavar="NAME", shell_complete=contexts, help="The context of the kubeconfig.")(
        command
    )
    return click.option(
        "--kubeconfig",
        metavar="FILE",
        shell_complete=files,
        help="The kubeconfig file. Default: KUBECONFIG, the pod's service account, or ~/.kube/config.",
    )(command)


def timeout_option(seconds: float, until: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds `--timeout` to a command: how long it waits for a condition."""
    return click.option(
        "--timeout",
        type=SECONDS,
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help=f"How long to wait until {until}.",
    )


def yes_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds `--yes` to a command: delete without confirmation."""
    return click.option("--yes", "-y", is_flag=True, help="Delete without confirmation.")(command)


def removal_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of commands that delete: `--timeout` and `--yes`."""
    return timeout_option(60.0, "everything is deleted")(yes_option(command))


def server_of(kubeconfig: str | None, context: str | None) -> str:
    """Returns the address of the cluster, for a confirmation. Sends no request."""
    try:
        return load_config(kubeconfig=kubeconfig, context=context).server
    except ConfigError as error:
        raise WrongUse(str(error)) from error


def connected(kubeconfig: str | None, context: str | None, work: Callable[[Client], Awaitable[T]]) -> T:
    """Runs `work` with a client of the cluster. An error of the cluster ends the command with one message."""

    async def run() -> T:
        config = load_config(kubeconfig=kubeconfig, context=context)
        async with Client(config, retry=_RETRY) as client:
            return await work(client)

    try:
        return asyncio.run(run())
    except Forbidden as error:
        raise click.ClickException(f"your account is not allowed to do this: {error}") from error
    except (ConfigError, NotKubernetes, Unauthorized) as error:
        raise WrongUse(str(error)) from error
    except ApiError as error:
        raise click.ClickException(str(error)) from error
