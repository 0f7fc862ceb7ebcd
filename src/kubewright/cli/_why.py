"""`kubewright why`: what a running operator knows about one object."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import click
import msgspec

from kubewright._typos import nearest
from kubewright.cli._completing import objects
from kubewright.cli._exit_codes import WrongUse
from kubewright.cli._output import Output, output_option
from kubewright.observe import Inspection, QueueState, ReconcileRecord

__all__ = ["command"]

_PAGES: Final = "/debug/kubewright"
_SECONDS: Final = 10.0
_VARIABLES: Final = ("KUBEWRIGHT_HEALTH_BIND", "KUBEWRIGHT_METRICS_BIND")
_USUAL: Final = "127.0.0.1:8081"
# The operator is on this machine, or behind a port of it.
_NO_PROXY: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@click.command("why")
@click.argument("target", metavar="KIND/NAME", shell_complete=objects)
@click.option("-n", "--namespace", default="default", show_default=True, help="The object's namespace.")
@click.option(
    "--address",
    metavar="HOST:PORT",
    help="Where the operator serves its pages: its --health-bind or --metrics-bind."
    f"  [default: what the variables of these say, or {_USUAL}]",
)
@output_option
def command(target: str, namespace: str, address: str | None, output: Output) -> None:
    """Say why an object is as it is: what woke its reconciler last, how that ended, and when it is tried again.

    The operator is asked, so it must run on this machine and serve its pages there, or be reached through a forwarded
    port.

    \b
    Example:
      kubewright run foo.py --health-bind 8081
      kubewright why Foo/example -n default
      kubectl port-forward deploy/guestbook 8081 & kubewright why Guestbook/guestbook-sample
    """
    kind, slash, name = target.partition("/")
    if not (kind and slash and name) or "/" in name:
        raise click.UsageError(f"name the object as KIND/NAME, such as Foo/example, not {target!r}")
    server = _address(address)
    found = [_ask(server, f"/objects/{one}", namespace, name) for one in _controllers(server, kind)]
    known = [one for one in found if one is not None]
    if not known:
        raise click.ClickException(f"the operator at {server} knows no {kind} {namespace}/{name}")
    output.document(objects=[msgspec.Raw(raw) for raw in known])
    for raw in known:
        for line in _report(msgspec.json.decode(raw, type=Inspection), datetime.now(UTC)):
            # An error may quote what somebody wrote into an object, and a terminal would obey it.
            output.line("".join(each if each.isprintable() else " " for each in line))


def _address(given: str | None) -> str:
    said = given or next((os.environ[name] for name in _VARIABLES if os.environ.get(name)), _USUAL)
    host, _, port = said.rpartition(":")
    if not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise WrongUse(f"--address is where the operator's pages are, such as 127.0.0.1:8081, not {said!r}")
    return f"{host if host not in ('', '0.0.0.0', '[::]') else '127.0.0.1'}:{port}"  # noqa: S104  # to ask, not to listen


def _controllers(server: str, kind: str) -> list[str]:
    answer = _get(server, "")
    if answer is None:
        raise click.ClickException(
            f"{server} serves no {_PAGES}: give the operator --debug-pages, or a loopback address"
        )
    controllers = msgspec.json.decode(answer)["controllers"]
    found = [one["name"] for one in controllers if one["kind"].lower() == kind.lower()]
    if not found:
        kinds = sorted({one["kind"] for one in controllers})
        meant = nearest(kind, kinds)
        hint = f"did you mean {meant}?" if meant else f"it reconciles {', '.join(kinds) or 'nothing'}"
        raise WrongUse(f"the operator at {server} reconciles no {kind}; {hint}")
    return found


def _ask(server: str, path: str, namespace: str, name: str) -> bytes | None:
    """What is known; of a kind in no namespace too, of which the namespace does not matter."""
    whole = _get(server, f"{path}/{quote(namespace, safe='')}/{quote(name, safe='')}")
    return whole if whole is not None else _get(server, f"{path}/{quote(name, safe='')}")


def _get(server: str, below: str) -> bytes | None:
    """A page; None when there is none."""
    url = f"http://{server}{_PAGES}{below}"
    try:
        with _NO_PROXY.open(url, timeout=_SECONDS) as answer:
            body: bytes = answer.read()
            return body
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise click.ClickException(f"{url} answers {error.code} {error.reason}") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        reason = getattr(reason, "strerror", None) or reason
        raise click.ClickException(
            f"no operator answers at {server} ({reason}): start it with --health-bind, and name that with --address"
        ) from error


def _report(found: Inspection, now: datetime) -> Iterator[str]:
    where = f"{found.namespace}/{found.name}" if found.namespace else found.name
    yield f"{found.kind} {where}, controller {found.controller}"
    yield f"  cache    {_cached(found)}"
    yield f"  queue    {_queue(found.queue, now)}"
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
        return "the object is not there"
    state = f"generation {found.cached.generation}, resource version {found.cached.resource_version}"
    state += ", being deleted" if found.cached.deleting else ""
    return f"{state}; it cannot be used: {found.cached.problem}" if found.cached.problem else state


def _queue(queue: QueueState, now: datetime) -> str:
    retries = f", after {queue.retries} retries" if queue.retries else ""
    match queue.state:
        case "running":
            return f"running since {_ago(queue.since, now)}" + (
                ", and once more after that" if queue.runs_again else ""
            )
        case "waiting":
            return (
                f"waiting for a worker since {_ago(queue.since, now)}, woken by {queue.trigger or 'somebody'}{retries}"
            )
        case "delayed":
            return f"tried again {_until(queue.ready_at, now)}{retries}"
    return "nothing to do"


def _result(record: ReconcileRecord) -> str:
    cause = f" of {record.cause}" if record.cause else ""
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    return f"{record.trigger}{cause}, {record.seconds:.3f} s{attempt}"


def _ago(when: datetime | None, now: datetime) -> str:
    return "some time" if when is None else f"{_seconds((now - when).total_seconds())} ago"


def _until(when: datetime | None, now: datetime) -> str:
    return "later" if when is None else f"in {_seconds((when - now).total_seconds())}"


def _seconds(seconds: Any) -> str:
    seconds = max(float(seconds), 0.0)
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
