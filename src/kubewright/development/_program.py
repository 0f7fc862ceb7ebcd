"""The operator's process: `python -m kubewright.development._program ORDERS`.

Every version of the program gets a new process, so that no state is left over. It imports the program, installs its
definitions, runs the operator like `kubewright run`, and reports each step through its channel.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Container, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from kubewright.api import Object, apiextensions, info_of, to_dict
from kubewright.cache import ObjectKey
from kubewright.client import ApiError, Client, ConfigError, NotFound
from kubewright.development._account import account_for
from kubewright.development._channel import Channel
from kubewright.development._orders import Orders
from kubewright.development._schemas import schema_changes
from kubewright.development._sources import program_files
from kubewright.development._tracebacks import error_location, user_traceback
from kubewright.development.messages import Failed, Installed, KindShown, Loaded, Message, Ready, Reconciled
from kubewright.manifests import Program, load
from kubewright.observe import HistoryEntry
from kubewright.operator import ExitCode, Operator, Running
from kubewright.operator.loading import LoadError
from kubewright.operator.process import resolve_settings, run

__all__ = ["main"]

_LOOK_SECONDS: Final = 0.2
_MOST_REPORTED: Final = 100
_GRACE_SECONDS: Final = 2.0
_FREE_PORT: Final = "127.0.0.1:0"
_LIFE: Final = "kubewright.operator"

Report = Callable[[Message], None]
Stage = Callable[[Running], AbstractAsyncContextManager[None]]


def main() -> None:
    """Runs the program of the orders, and exits with an operator's exit code."""
    orders = msgspec.json.decode(sys.argv[1], type=Orders)
    channel = Channel(orders.channel)
    channel.end_with_owner()
    raise SystemExit(work(orders, channel.send))


def work(orders: Orders, report: Report) -> int:
    """Loads, installs and runs the program. Reports an error and returns its exit code, which is not 0."""
    try:
        program = load(orders.targets)
        operator = _only(program, orders.targets)
    except LoadError as error:
        report(Failed(what="import", text=str(error), files=program_files(error)))
        return ExitCode.CONFIGURATION
    except (Exception, SystemExit) as error:  # a program may call sys.exit() while it is imported
        file, line = error_location(error)
        report(Failed(what="import", text=user_traceback(error), file=file, line=line, files=program_files(error)))
        return ExitCode.FAILED
    try:
        kinds = _shown(program.kinds, _reconciled(operator))
    except Exception as error:  # definitions depend on all classes, so they are generated after all imports
        report(Failed(what="definitions", text=user_traceback(error), files=program_files(error)))
        return ExitCode.FAILED
    report(Loaded(operator=operator.name, kinds=kinds, files=program_files(), extensions=operator.console_extensions))
    try:
        options = _options(operator, orders)
    except (ApiError, ConfigError) as error:
        report(Failed(what="start", text=str(error)))
        return ExitCode.NOT_READY
    operator.attach(_installing(orders, program.kinds, report), stage="webhooks")
    operator.attach(_reporting(operator, report), stage="leader")
    run(operator, options, shares_machine=orders.embedded)
    return ExitCode.STOPPED


def _only(program: Program, targets: list[str]) -> Operator:
    if len(program.operators) == 1:
        return program.operators[0]
    where = ", ".join(targets)
    if not program.operators:
        raise LoadError(f'{where} has no Operator: create one with `operator = kubewright.Operator("name")`')
    names = " and ".join(one.name for one in program.operators)
    raise LoadError(f"{where} has several operators, {names}: name one of them, such as foo.py:operator")


def _shown(kinds: Sequence[type[Object]], reconciled: Container[type[Object]] = ()) -> list[KindShown]:
    """Returns one version of each kind to show, because all versions share their objects: the reconciled one, which
    events refer to, or the stored one.
    """
    from kubewright.crd import crds_of

    versions = {
        (definition.metadata.name, version.name): version
        for definition in crds_of(*kinds, descriptions=False)
        for version in definition.spec.versions
    }
    chosen: dict[str, type[Object]] = {}
    for kind in kinds:
        info = info_of(kind)
        name = f"{info.plural}.{info.group}"
        version = versions.get((name, info.version))
        if kind in reconciled or (chosen.get(name) not in reconciled and (version is None or version.storage)):
            chosen[name] = kind
    found = []
    for name, info in ((name, info_of(kind)) for name, kind in chosen.items()):
        version = versions.get((name, info.version))
        plain = msgspec.to_builtins(version.additional_printer_columns or [] if version else [])
        found.append(
            KindShown(
                api_version=info.api_version,
                kind=info.kind,
                plural=info.plural,
                namespaced=info.namespaced,
                columns=[{name: value for name, value in one.items() if value is not None} for one in plain],
            )
        )
    return found


def _reconciled(operator: Operator) -> set[type[Object]]:
    return {registration.kind for registration in operator.registrations()}


def _options(operator: Operator, orders: Orders) -> dict[str, Any]:
    """Returns the operator's options: the cluster of the orders, whatever the environment says, and local pages."""
    kubeconfig, context = orders.kubeconfig, orders.context
    if orders.namespaces:
        operator.namespaces = orders.namespaces  # not an option of the run, because the roles depend on it too
    if orders.account_folder is not None:
        assert kubeconfig is not None
        kubeconfig = str(asyncio.run(account_for(operator, kubeconfig, Path(orders.account_folder))))
    options: dict[str, Any] = {"kubeconfig": kubeconfig, "context": context, "server": None, "grace": _GRACE_SECONDS}
    options |= {"log_level": "debug"} if orders.verbose else {}
    if resolve_settings(operator, options, os.environ).health_bind is None:
        options["health_bind"] = orders.pages if _is_free(orders.pages) else _FREE_PORT
    return options


def _is_free(address: str) -> bool:
    host, _, port = address.rpartition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            return False
    return True


# Stages


def _installing(orders: Orders, kinds: Sequence[type[Object]], report: Report) -> Stage:
    """Installs all definitions before the caches need them. Conversion webhooks are served by then."""

    @asynccontextmanager
    async def stage(running: Running) -> AsyncIterator[None]:
        from kubewright.crd import InstallError, install

        try:
            async with Client.connect(kubeconfig=orders.kubeconfig, context=orders.context) as client:
                conversions = await running.webhooks.conversions(client)
                before = {name: await _schemas(client, name) for name in {_definition(kind) for kind in kinds}}
                made = await install(client, *kinds, conversions=conversions)
        except (InstallError, ApiError, ConfigError) as error:
            text = str(error)
            report(Failed(what="definitions", text=text))
            logging.getLogger(_LIFE).addFilter(lambda record: record.getMessage() != text)  # already reported
            raise
        changes = {
            name: found
            for name, after in ((definition.metadata.name, _schemas_of(definition)) for definition in made)
            if before.get(name) and (found := schema_changes(before[name], after))
        }
        report(Installed(definitions=[definition.metadata.name for definition in made], changes=changes))
        yield

    return stage


def _definition(kind: type[Object]) -> str:
    info = info_of(kind)
    return f"{info.plural}.{info.group}"


async def _schemas(client: Client, name: str) -> dict[str, Any]:
    """Returns the schemas of an installed definition; none if it is not installed."""
    try:
        return _schemas_of(await client.get(apiextensions.CustomResourceDefinition, name))
    except NotFound:
        return {}


def _schemas_of(definition: apiextensions.CustomResourceDefinition) -> dict[str, Any]:
    """Returns the schemas of all versions as one, so that a path starts with the version if there are several."""
    versions = {version["name"]: (version.get("schema") or {}) for version in to_dict(definition)["spec"]["versions"]}
    schemas = {name: schema.get("openAPIV3Schema") or {} for name, schema in versions.items()}
    return next(iter(schemas.values())) if len(schemas) == 1 else {"properties": schemas}


def _reporting(operator: Operator, report: Report) -> Stage:
    """Reports that the operator is ready, and every reconcile that ends."""

    @asynccontextmanager
    async def stage(running: Running) -> AsyncIterator[None]:
        host = running.settings.health_bind or ""
        address = f"{host.rpartition(':')[0]}:{running.servers[0].port}" if running.servers else ""
        report(Ready(operator=operator.name, address=address))
        reports = _Reports(running, report)
        task = asyncio.create_task(reports.run(), name="reports of reconciles")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            reports.look()

    return stage


class _Reports:
    """Reports the results of reconciles from the history of each controller."""

    def __init__(self, running: Running, report: Report) -> None:
        self._running = running
        self._report = report
        self._last_reported: dict[str, float] = {}

    async def run(self) -> None:
        """Runs until it is canceled."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    def look(self) -> None:
        """Reports the results since the last call, in order. If there are too many, reports only the newest."""
        for controller in self._running.controllers:
            last, found = self._last_reported.get(controller.name, -1.0), list[tuple[ObjectKey, HistoryEntry]]()
            for key in reversed(controller.history.objects()):
                entry = controller.history.of(key)[-1]
                if entry.ended <= last or len(found) == _MOST_REPORTED:
                    break
                found.append((key, entry))
            for key, entry in reversed(found):
                self._last_reported[controller.name] = entry.ended
                self._report(
                    Reconciled(
                        kind=controller.info.kind,
                        namespace=key.namespace,
                        name=key.name,
                        result=entry.ending,
                        seconds=round(entry.seconds, 6),
                        attempt=entry.attempt,
                        error=entry.error,
                        trigger=entry.trigger,
                    )
                )


if __name__ == "__main__":
    main()
