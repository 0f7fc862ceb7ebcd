"""Exec plugins: commands that print credentials (`client.authentication.k8s.io`, versions v1 and v1beta1).

A plugin receives `KUBERNETES_EXEC_INFO`, and the terminal only if its interactive mode allows it and there is one. It
has a time limit. If it fails, the message contains its standard error, and never its standard output, which contains
secrets.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, cast

import msgspec

from kubewright.api.wire import UNREADABLE
from kubewright.client._config import ClientConfig, ExecPlugin
from kubewright.client._config_errors import ConfigError
from kubewright.clock import Clock
from kubewright.durations import format_duration
from kubewright.redaction import Redacted

__all__ = ["ExecCredential", "PluginOutput", "run_plugin"]

_MAX_OUTPUT = 1 << 20
_SHOWN_ERROR = 2_000
# A person who types a password or logs in with a browser needs longer than a program.
_INTERACTIVE_PATIENCE = 5
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f]")


class ExecCredential(Redacted, msgspec.Struct, frozen=True):
    """The output of a plugin: a token, a certificate with its key (PEM), or both; `expires` may be unknown."""

    redacted = frozenset({"token", "certificate", "key"})

    token: str | None = None
    certificate: bytes | None = None
    key: bytes | None = None
    expires: datetime | None = None


class _Status(Redacted, msgspec.Struct, rename="camel"):
    redacted = frozenset({"token", "client_certificate_data", "client_key_data"})

    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[datetime, msgspec.Meta(tz=True)] | None = None


class PluginOutput(msgspec.Struct, rename="camel"):
    api_version: str | None = None
    kind: str | None = None
    status: _Status | None = None


async def run_plugin(
    plugin: ExecPlugin,
    config: ClientConfig,
    clock: Clock,
    *,
    environ: Mapping[str, str],
    timeout: float,
    terminal: bool | None = None,
) -> ExecCredential:
    """Runs the plugin once. `terminal`: whether standard input is a terminal. Default: detected."""
    name = f"the exec plugin {plugin.command!r}"
    if config.credentials.user:
        name += f" of user {config.credentials.user!r}"
    interactive = _interactive(plugin, name, _is_terminal() if terminal is None else terminal)
    environment = {**environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": _exec_info(plugin, config, interactive)}
    run = await _start(plugin, _Run(name, interactive), environment)
    return _credential(
        await run.finish(clock, timeout * _INTERACTIVE_PATIENCE if interactive else timeout), plugin, name
    )


def _is_terminal() -> bool:
    try:
        return sys.stdin is not None and sys.stdin.isatty()
    except ValueError:  # it is closed
        return False


def _interactive(plugin: ExecPlugin, name: str, terminal: bool) -> bool:
    if plugin.interactive_mode == "Always" and not terminal:
        raise ConfigError(f"{name} needs a terminal (interactiveMode: Always), and standard input is not one")
    return terminal and plugin.interactive_mode != "Never"


def _exec_info(plugin: ExecPlugin, config: ClientConfig, interactive: bool) -> str:
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.provide_cluster_info:
        spec["cluster"] = _cluster_info(plugin, config)
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return msgspec.json.encode(info).decode()


def _cluster_info(plugin: ExecPlugin, config: ClientConfig) -> dict[str, Any]:
    authorities = config.tls.ca_data
    if authorities is None and config.tls.ca_file is not None:
        try:
            with open(config.tls.ca_file, "rb") as stream:
                authorities = stream.read()
        except OSError as error:
            raise ConfigError(
                f"the certificate authority {config.tls.ca_file} cannot be read: {error.strerror}"
            ) from None
    info = {
        "server": config.server,
        "tls-server-name": config.tls.server_name,
        "insecure-skip-tls-verify": config.tls.insecure,
        "certificate-authority-data": authorities,
        "proxy-url": config.proxy,
        "disable-compression": config.disable_compression,
    }
    # As in Go, empty fields are omitted; the plugin's own configuration is always present.
    present: dict[str, Any] = {key: value for key, value in info.items() if value}
    return {**present, "config": msgspec.Raw(plugin.cluster_config or b"null")}


async def _start(plugin: ExecPlugin, run: _Run, environment: Mapping[str, str]) -> _Run:
    try:
        await asyncio.get_running_loop().subprocess_exec(
            lambda: run,
            plugin.command,
            *plugin.args,
            env=environment,
            stdin=None if run.interactive else asyncio.subprocess.DEVNULL,
            # Prompts go to standard error, so an interactive plugin keeps it.
            stderr=None if run.interactive else asyncio.subprocess.PIPE,
            # Its own session, so that its child processes can be killed with it. A plugin on the terminal stays in this
            # session, because it could not read from the terminal otherwise.
            start_new_session=not run.interactive,
        )
    except FileNotFoundError:
        hint = f": {_clean(plugin.install_hint)}" if plugin.install_hint else " or correct the kubeconfig"
        where = "does not exist" if os.sep in plugin.command else "is not on the PATH"
        raise ConfigError(f"{run.name} {where}; install it{hint}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its command or variables contain a NUL character"
        raise ConfigError(f"{run.name} cannot be started: {reason}") from None
    return run


class _Run(asyncio.SubprocessProtocol):
    """One run of a plugin, which never outlives its time limit or its caller."""

    _transport: asyncio.SubprocessTransport

    def __init__(self, name: str, interactive: bool) -> None:
        self.name = name
        self.interactive = interactive
        self._output = bytearray()
        self._errors = bytearray()
        self._problem: str | None = None
        self._over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd != 1:
            self._errors += data
            del self._errors[:-_SHOWN_ERROR]  # the end is the most useful part
        elif len(self._output) + len(data) <= _MAX_OUTPUT:
            self._output += data
        else:
            self._end(f"printed more than {_MAX_OUTPUT >> 20} MiB, which is not an ExecCredential")

    def connection_lost(self, exc: Exception | None) -> None:
        """Called when the process has exited and its pipes are closed."""
        if not self._over.done():  # a second cancellation of the caller cancels it
            self._over.set_result(None)

    async def finish(self, clock: Clock, limit: float) -> bytes:
        """Returns the output of the plugin after it has ended successfully."""
        timer = clock.limit(limit, lambda: self._end(f"did not finish within {format_duration(limit)} and was killed"))
        try:
            with clock.hold(self.name):
                await asyncio.shield(self._over)
        finally:
            timer.cancel()
            if not self._over.done():
                # The caller was cancelled. Wait for the end, which is near, so that nothing is left running.
                self._end("was ended")
                await self._over
            self._transport.close()
        status = self._transport.get_returncode() or 0
        if self._problem is None and status:
            self._problem = f"failed with exit status {status}" if status > 0 else f"was killed by signal {-status}"
        if self._problem is not None:
            raise ConfigError(f"{self.name} {self._problem}{self._output_hint()}")
        return bytes(self._output)

    def _end(self, problem: str) -> None:
        self._problem = self._problem or problem
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if not self.interactive:
                os.killpg(self._transport.get_pid(), signal.SIGKILL)
        # Kills the process and closes its pipes, even if a child process still has them open.
        self._transport.close()

    def _output_hint(self) -> str:
        if self.interactive:
            return "; its own message is above"
        text = _clean(self._errors.decode("utf-8", "replace"))
        return f"; its output: {text}" if text else "; it printed nothing"


def _clean(text: str) -> str:
    """Returns one line without control sequences, which could change what a terminal shows."""
    return " ".join(_CONTROL.sub(" ", text).split())


def _credential(output: bytes, plugin: ExecPlugin, name: str) -> ExecCredential:
    try:
        found = msgspec.json.decode(output, type=PluginOutput)
    except UNREADABLE as error:
        detail = "" if not isinstance(error, msgspec.ValidationError) else f" ({error})"
        raise ConfigError(
            f"{name} did not print an ExecCredential as JSON{detail}; run it manually to see why"
        ) from None
    if found.kind != "ExecCredential" or found.api_version != plugin.api_version:
        raise ConfigError(
            f"{name} printed {found.kind or 'an object without a kind'} of {found.api_version or 'no apiVersion'}, "
            f"expected an ExecCredential of {plugin.api_version}; set that apiVersion in its exec entry"
        )
    status = found.status or _Status()
    certificate, key = status.client_certificate_data, status.client_key_data
    if bool(certificate) != bool(key):
        raise ConfigError(f"{name} printed only one of certificate and key; it must print both or neither")
    if not status.token and not certificate:
        raise ConfigError(f"{name} printed an ExecCredential without a token or certificate in its status")
    return ExecCredential(
        token=status.token or None,
        certificate=certificate.encode() if certificate else None,
        key=key.encode() if key else None,
        expires=status.expiration_timestamp,
    )
