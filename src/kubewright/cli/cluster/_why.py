"""`kubewright why`: show what a running operator knows about an object."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import click
import msgspec

from kubewright.cli.common._completing import files, namespaces, objects
from kubewright.cli.common._connecting import cluster_options
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._output import Output, output_option
from kubewright.client import ConfigError, Credentials, load_config
from kubewright.durations import format_age, format_duration
from kubewright.observe import (
    DEBUG_PATH,
    Inspection,
    OperatorAddress,
    OperatorClient,
    OperatorError,
    OperatorTrust,
    QueueState,
    ReconcileRecord,
    read_token,
    tokens_of,
)
from kubewright.suggestions import nearest

__all__ = ["command"]

_VARIABLES: Final = ("KUBEWRIGHT_HEALTH_BIND", "KUBEWRIGHT_METRICS_BIND")
_USUAL: Final = "127.0.0.1:8081"


@click.command("why")
@click.argument("target", metavar="KIND/NAME", shell_complete=objects)
@click.option(
    "-n",
    "--namespace",
    default="default",
    show_default=True,
    shell_complete=namespaces,
    help="The object's namespace.",
)
@click.option(
    "--address",
    metavar="ADDRESS",
    help="The address of the operator's pages: its --health-bind or --metrics-bind, with https:// if that is"
    f" secure.  [default: the variables of these options, or {_USUAL}]",
)
@click.option("--ca-file", metavar="FILE", shell_complete=files, help="The CA of the operator's certificate.")
@click.option("--server-name", metavar="NAME", help="The name in the certificate, if it is not the address.")
@click.option(
    "--fingerprint", metavar="SHA256", help="The fingerprint of a self-signed certificate, from the operator's log."
)
@click.option(
    "--token-file",
    metavar="FILE",
    shell_complete=files,
    help="The token to send over https.  [default: the token of the kubeconfig or of the pod]",
)
@cluster_options
@output_option
def command(
    target: str,
    namespace: str,
    address: str | None,
    ca_file: str | None,
    server_name: str | None,
    fingerprint: str | None,
    token_file: str | None,
    kubeconfig: str | None,
    context: str | None,
    output: Output,
) -> None:
    """Show why an object is in its state: what triggered its last reconcile, the result, and the next attempt.

    The command asks the operator, which must serve its pages on this machine or through a forwarded port. A deployed
    operator serves them with --debug-pages next to its metrics: over HTTPS, to accounts that may get /debug/kubewright.

    \b
    Example:
      kubewright run foo.py --health-bind 8081
      kubewright why Foo/example -n default
      kubectl port-forward deploy/guestbook 8080 &
      kubewright why Guestbook/guestbook-sample --address https://localhost:8080 --ca-file ca.crt
    """
    kind, slash, name = target.partition("/")
    if not (kind and slash and name) or "/" in name:
        raise click.UsageError(f"name the object as KIND/NAME, such as Foo/example, not {target!r}")
    server = _address(address)
    try:
        trust = OperatorTrust(
            ca_file=ca_file, server_name=server_name, fingerprints=(fingerprint,) if fingerprint else ()
        )
    except ValueError as error:
        raise WrongUse(f"--fingerprint: {error}") from None
    try:
        credentials = _credentials(token_file, kubeconfig, context) if server.secure else None
        known = asyncio.run(_ask(OperatorClient(server, credentials, trust), kind, namespace, name))
    except OperatorError as error:
        raise click.ClickException(str(error)) from error
    if not known:
        raise click.ClickException(f"the operator at {server} has no record of {kind} {namespace}/{name}")
    output.document(objects=[msgspec.Raw(raw) for raw in known])
    for raw in known:
        for line in _report(msgspec.json.decode(raw, type=Inspection), datetime.now(UTC)):
            # An error may quote the content of an object, whose control characters a terminal would interpret.
            output.line("".join(each if each.isprintable() else " " for each in line))


def _address(given: str | None) -> OperatorAddress:
    said = given or next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), _USUAL)
    if given is None:  # an address to listen on
        host, _, port = said.rpartition(":")
        said = f"{host if host not in ('', '0.0.0.0', '[::]') else '127.0.0.1'}:{port}"  # noqa: S104  # to ask, not to listen
    try:
        return OperatorAddress.parse(said)
    except ValueError as error:
        raise WrongUse(f"--address: {error}") from None


def _credentials(token_file: str | None, kubeconfig: str | None, context: str | None) -> Credentials:
    if token_file is not None:
        return read_token(token_file)
    try:
        return tokens_of(load_config(kubeconfig=kubeconfig, context=context))
    except ConfigError as error:
        raise WrongUse(str(error)) from error


async def _ask(operator: OperatorClient, kind: str, namespace: str, name: str) -> list[bytes]:
    """Returns what each controller of a kind knows about an object."""
    try:
        found = [
            await _of_controller(operator, f"/objects/{one}", namespace, name)
            for one in await _controllers(operator, kind)
        ]
        return [one for one in found if one is not None]
    finally:
        await operator.close()


async def _controllers(operator: OperatorClient, kind: str) -> list[str]:
    answer = await operator.get("")
    if answer is None:
        raise click.ClickException(
            f"{operator.address} does not serve {DEBUG_PATH}: give the operator a loopback address, or --debug-pages"
            " and secure metrics"
        )
    controllers = _decoded(operator, answer)
    found = [one["name"] for one in controllers if one["kind"].lower() == kind.lower()]
    if not found:
        kinds = sorted({one["kind"] for one in controllers})
        meant = nearest(kind, kinds)
        hint = f"did you mean {meant}?" if meant else f"it reconciles {', '.join(kinds) or 'nothing'}"
        raise WrongUse(f"the operator at {operator.address} does not reconcile {kind}; {hint}")
    return found


class _Controllers(msgspec.Struct):
    controllers: list[dict[str, Any]]


def _decoded(operator: OperatorClient, answer: bytes) -> list[dict[str, Any]]:
    try:
        return msgspec.json.decode(answer, type=_Controllers).controllers
    except msgspec.DecodeError as error:
        raise OperatorError(f"{operator.address} returned an unexpected response for an operator: {error}") from None


async def _of_controller(operator: OperatorClient, path: str, namespace: str, name: str) -> bytes | None:
    """Returns the entry of an object. The namespace is ignored for a cluster-scoped kind."""
    whole = await operator.get(f"{path}/{quote(namespace, safe='')}/{quote(name, safe='')}")
    return whole if whole is not None else await operator.get(f"{path}/{quote(name, safe='')}")


def _report(found: Inspection, now: datetime) -> Iterator[str]:
    where = f"{found.namespace}/{found.name}" if found.namespace else found.name
    yield f"{found.kind} {where}, controller {found.controller}"
    yield f"  cache    {_cached(found)}"
    yield f"  queue    {_queue(found.queue, now)}"
    if found.paused:
        yield f"  paused   {found.paused}; `kubewright resume {found.kind}/{found.name}` resumes it"
    if found.write_loop:
        yield f"  loop     {found.write_loop}"
    for kind in found.absent_kinds:
        yield f"  absent   {kind} is not installed; it is optional"
    if not found.results:
        yield "  results  none yet"
    for record in found.results:
        yield f"  {record.result:<8} {_ago(record.ended_at, now)}: {_result(record)}"
        if record.error:
            yield f"           {record.error}"
        for write in record.writes:
            fields = f" ({', '.join(change.path for change in write.changes)})" if write.changes else ""
            yield f"           {write.verb} {write.resource} {write.name}: {write.status}{fields}"


def _cached(found: Inspection) -> str:
    if found.cached is None:
        return "the object does not exist, or is not in the namespaces or labels of the controller"
    state = f"generation {found.cached.generation}, resource version {found.cached.resource_version}"
    state += ", being deleted" if found.cached.deleting else ""
    return f"{state}; it cannot be decoded: {found.cached.problem}" if found.cached.problem else state


def _queue(queue: QueueState, now: datetime) -> str:
    retries = f", after {queue.retries} retries" if queue.retries else ""
    match queue.state:
        case "running":
            return f"running since {_ago(queue.since, now)}" + (
                ", and once more afterwards" if queue.runs_again else ""
            )
        case "waiting":
            return (
                f"waiting for a worker since {_ago(queue.since, now)}, triggered by"
                f" {queue.trigger or 'an unknown source'}{retries}"
            )
        case "delayed":
            by = " by the resync" if queue.resync_at else ""
            return f"next reconcile {_until(queue.next_at, now)}{by}{retries}"
    resync = f", next resync {_until(queue.resync_at, now)}" if queue.resync_at else ""
    return f"idle, waiting for changes{resync}"


def _result(record: ReconcileRecord) -> str:
    cause = f" of {record.cause}" if record.cause else ""
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    return f"{record.trigger}{cause}, {format_duration(record.seconds)}{attempt}"


def _ago(when: datetime | None, now: datetime) -> str:
    return "some time" if when is None else f"{format_age((now - when).total_seconds())} ago"


def _until(when: datetime | None, now: datetime) -> str:
    return "later" if when is None else f"in {format_duration(max((when - now).total_seconds(), 0.0))}"
