"""`kubewright ui`: the console, for the cluster of the kubeconfig or of the pod."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from kubewright.cli.common._connecting import cluster_options
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._numbers import PORT, up_to
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.console._addresses import check_networks, check_urls
from kubewright.cli.console._audit import audited
from kubewright.cli.console._browser import opened, wants_browser
from kubewright.cli.console._extensions import load_extensions
from kubewright.cli.console._manifests import ManifestOptions, manifest_options, write_manifests
from kubewright.cli.console._oidc import oidc_options
from kubewright.cli.console._production import production_option
from kubewright.cli.console._tls import self_signed
from kubewright.durations import format_duration

if TYPE_CHECKING:
    from kubewright.client import ClientConfig
    from kubewright.console import OIDC, Console
    from kubewright.console.operators import OperatorView

__all__ = ["MISSING", "command", "console_installed"]

MISSING: Final = "the console needs NiceGUI, which is not installed: pip install 'kubewright[console]'"
_PORT: Final = 8088
_REACH_SECONDS: Final = 15.0


def console_installed() -> bool:
    """Whether the extra `kubewright[console]` is installed."""
    return importlib.util.find_spec("nicegui") is not None


@click.command("ui")
@cluster_options
@click.option(
    "--bind",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Listen on this address. On other addresses than loopback, all users sign in with a token.",
)
@click.option(
    "--port",
    type=PORT,
    metavar="N",
    help=f"Listen on this port; 0 selects a free one. [default: {_PORT}, or a free one if that is in use]",
)
@click.option("--read-only", is_flag=True, help="Reject every write in the server.")
@click.option("-n", "--namespace", "namespaces", multiple=True, metavar="NAME", help="Show this namespace only.")
@click.option(
    "--kind", "kinds", multiple=True, metavar="GROUP/PLURAL", help="Show this kind only, such as example.com/foos."
)
@click.option(
    "--operator",
    "operators",
    multiple=True,
    metavar="ADDRESS",
    help="Show the state of the operator at this address: its --health-bind, or https:// and a secure --metrics-bind.",
)
@click.option(
    "--operator-ca-file",
    type=click.Path(exists=True, dir_okay=False),
    help="The CA of operators with https.  [default: the CAs of this machine]",
)
@click.option(
    "--operator-fingerprint",
    "operator_fingerprints",
    multiple=True,
    metavar="SHA256",
    help="The fingerprint of an operator's self-signed certificate, which its log shows.",
)
@click.option(
    "--extension",
    "extensions",
    multiple=True,
    metavar="MODULE:NAME",
    help="Add the pages and actions of this extension, such as fleet.ui:fleet.",
)
@click.option(
    "--url",
    "urls",
    multiple=True,
    metavar="URL",
    callback=check_urls,
    help="An address under which browsers reach the console, such as https://console.example.com.",
)
@click.option(
    "--tls-certificate", type=click.Path(exists=True, dir_okay=False), help="The file of the TLS certificate."
)
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="The file of its private key.")
@click.option("--tls-self-signed", is_flag=True, help="Use a TLS certificate that is created at each start.")
@click.option(
    "--viewer-server",
    metavar="URL",
    help="Send users' requests to this server, a proxy that authenticates them and impersonates.",
)
@click.option(
    "--viewer-server-ca", type=click.Path(exists=True, dir_okay=False), help="The CA of --viewer-server, in PEM format."
)
@click.option(
    "--pages-per-viewer",
    type=up_to(10_000),
    metavar="N",
    default=30,
    show_default=True,
    help="The number of pages that a user may have open. A page takes about 1 MB of memory.",
)
@click.option(
    "--connections",
    type=up_to(10_000),
    metavar="N",
    default=128,
    show_default=True,
    help="The number of open connections. A page takes one; over TLS each takes 0.35 MB of memory.",
)
@click.option(
    "--trusted-proxy",
    "trusted_proxies",
    multiple=True,
    metavar="CIDR",
    callback=check_networks,
    help="Take the client's address from X-Forwarded-For of these proxies, for throttling failed sign-ins.",
)
@click.option(
    "--audit-log",
    metavar="FILE",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Log sign-ins and changed fields as JSON lines to this file; - is standard output.",
)
@click.option("--open/--no-open", "open_", default=None, help="Open a browser. [default: on a terminal with a display]")
@oidc_options
@production_option
@manifest_options
@output_option
def command(
    kubeconfig: str | None,
    context: str | None,
    bind: str,
    port: int | None,
    read_only: bool,
    namespaces: Sequence[str],
    kinds: Sequence[str],
    operators: Sequence[str],
    operator_ca_file: str | None,
    operator_fingerprints: Sequence[str],
    extensions: Sequence[str],
    urls: Sequence[str],
    tls_certificate: str | None,
    tls_key: str | None,
    tls_self_signed: bool,
    viewer_server: str | None,
    viewer_server_ca: str | None,
    pages_per_viewer: int,
    connections: int,
    trusted_proxies: Sequence[str],
    audit_log: str | None,
    open_: bool | None,
    oidc: OIDC | None,
    production: Sequence[str],
    manifests: ManifestOptions,
    output: Output,
) -> None:
    """Serve the web console for custom resources and the operators behind them.

    The printed address signs you in once, with the permissions of your kubeconfig. Other users sign in with their own
    token and its permissions. In a pod all users do.

    \b
    Example:
      kubewright ui
      kubewright ui --context staging --read-only
      kubewright run foo.py --health-bind 8081 & kubewright ui --operator 127.0.0.1:8081
      kubewright ui --manifests console/ && kubectl apply -k console/
    """
    _check(bind, namespaces, kinds, tls_certificate, tls_key, viewer_server, viewer_server_ca)
    if tls_self_signed and tls_certificate is not None:
        raise click.UsageError("--tls-self-signed and --tls-certificate exclude each other")
    if manifests.folder is not None:
        write_manifests(manifests, kinds, extensions, oidc=oidc, read_only=read_only, output=output)
        return
    if not console_installed():
        raise click.ClickException(MISSING)
    settings = {
        "read_only": read_only,
        "namespaces": namespaces,
        "only": kinds,
        "pages_per_viewer": pages_per_viewer,
        "oidc": oidc,
        "production": production,
    }
    with contextlib.ExitStack() as files:
        if tls_self_signed:
            tls_certificate, tls_key = files.enter_context(self_signed(bind, urls))
        if audit_log is not None:
            files.enter_context(audited(audit_log))
        _serve(
            lambda: _console(
                kubeconfig,
                context,
                lambda: _operators(kubeconfig, context, operators, operator_ca_file, operator_fingerprints),
                viewer_server,
                viewer_server_ca,
                connections,
                {**settings, "extensions": load_extensions(extensions)},
            ),
            bind=bind,
            port=port,
            serving={
                "urls": urls,
                "certificate": tls_certificate,
                "key": tls_key,
                "trusted_proxies": trusted_proxies,
            },
            open_=open_,
            output=output,
        )


def _check(
    bind: str,
    namespaces: Sequence[str],
    kinds: Sequence[str],
    tls_certificate: str | None,
    tls_key: str | None,
    viewer_server: str | None,
    viewer_server_ca: str | None,
) -> None:
    import re

    if not re.fullmatch(r"[A-Za-z0-9.-]+|[0-9a-fA-F:]*:[0-9a-fA-F:.]*", bind) or re.fullmatch(r".*\w:\d+", bind):
        raise click.BadParameter(
            f"{bind!r} is not an address such as 127.0.0.1, 0.0.0.0 or ::1; the port is --port", param_hint="'--bind'"
        )
    if (tls_certificate is None) != (tls_key is None):
        raise click.UsageError("--tls-certificate and --tls-key require each other")
    if viewer_server_ca is not None and viewer_server is None:
        raise click.UsageError("--viewer-server-ca requires --viewer-server")
    for name in namespaces:
        if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", name):
            raise click.BadParameter(f"{name!r} is not the name of a namespace", param_hint="'--namespace'")
    for kind in kinds:
        if not re.fullmatch(r"[a-z0-9.-]+/([a-z0-9.-]+|\*)", kind):
            raise click.BadParameter(
                f"{kind!r} is not a kind such as example.com/foos, core/pods or example.com/*", param_hint="'--kind'"
            )


def _console(
    kubeconfig: str | None,
    context: str | None,
    operators: Callable[[], Sequence[OperatorView]],
    viewer_server: str | None,
    viewer_server_ca: str | None,
    connections: int,
    settings: dict[str, Any],
) -> Console:
    from kubewright.client import ConfigError
    from kubewright.console import Console, Limits

    try:
        found, viewers = operators(), _viewers(viewer_server, viewer_server_ca)
        settings = {**settings, "viewers": viewers, "limits": Limits(connections=connections)}
        return Console.connect(kubeconfig=kubeconfig, context=context, operators=found, **settings)
    except ConfigError as error:
        raise WrongUse(str(error)) from error


def _operators(
    kubeconfig: str | None,
    context: str | None,
    addresses: Sequence[str],
    ca_file: str | None,
    fingerprints: Sequence[str],
) -> list[OperatorView]:
    """Returns the operators to ask. Those with https get the token of the console's own account."""
    from kubewright.client import load_config
    from kubewright.console.operators import AddressError, Remote
    from kubewright.observe import OperatorError, OperatorTrust, tokens_of

    try:
        trust = OperatorTrust(ca_file=ca_file, fingerprints=tuple(fingerprints))
        secure = any(address.strip().startswith("https://") for address in addresses)
        tokens = tokens_of(load_config(kubeconfig=kubeconfig, context=context)) if secure else None
        return [Remote(address, credentials=tokens, trust=trust) for address in addresses]
    except (AddressError, OperatorError, ValueError) as error:
        raise WrongUse(f"--operator: {error}") from error


def _viewers(server: str | None, ca_file: str | None) -> ClientConfig | None:
    from kubewright.client import load_config

    return None if server is None else load_config(server=server, ca_file=ca_file, environ={})


def _serve(
    make: Callable[[], Console],
    *,
    bind: str,
    port: int | None,
    serving: dict[str, Any],
    open_: bool | None,
    output: Output,
) -> None:
    from kubewright.client import ApiError, RetryPolicy

    retry = RetryPolicy(attempts=2)

    async def run() -> None:
        async with make() as console:
            with output.waiting(f"asking {console.name}"):
                async with asyncio.timeout(_REACH_SECONDS):
                    # One retry is enough: the user is waiting.
                    version = await console.client.through(lambda way: way, retry=retry).server_version()
            stopped = _stopping()  # not earlier, so that Ctrl-C still interrupts a request that hangs
            async with _listening(console, bind, port, serving) as url, contextlib.AsyncExitStack() as files:
                inside = url + console.invitation() if console.local else url
                _print(console, url, inside, str(version), output)
                if wants_browser(open_, output):
                    files.enter_context(opened(inside))
                await stopped.wait()

    try:
        asyncio.run(run(), debug=False)
    except TimeoutError:
        raise click.ClickException(
            f"the API server has not answered within {format_duration(_REACH_SECONDS)}; is the cluster running,"
            " and the context the right one?"
        ) from None
    except ApiError as error:
        raise click.ClickException(str(error)) from error


def _stopping() -> asyncio.Event:
    """Returns an event that is set by a signal to stop."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    return stopped


@contextlib.asynccontextmanager
async def _listening(console: Console, bind: str, port: int | None, serving: dict[str, Any]) -> AsyncIterator[str]:
    import errno

    async with contextlib.AsyncExitStack() as stack:
        try:
            url = await stack.enter_async_context(console.serving(bind, _PORT if port is None else port, **serving))
        except OSError as error:
            if port is not None or error.errno != errno.EADDRINUSE:
                hint = "; choose another with --port" if error.errno == errno.EADDRINUSE else ""
                raise click.ClickException(f"{error.strerror}{hint}") from None
            url = await stack.enter_async_context(console.serving(bind, 0, **serving))
        yield url


def _print(console: Console, url: str, inside: str, version: str, output: Output) -> None:
    if output.json:
        import msgspec

        # Written as one line, because scripts wait for the address.
        line = {"url": url, "open": inside, "cluster": console.name, "version": version, "readOnly": console.read_only}
        click.echo(msgspec.json.encode(line).decode())
        sys.stdout.flush()
        return
    what = f"The console of {console.name} ({version}{', read-only' if console.read_only else ''})"
    click.echo(f"{what} is at\n\n  {inside}\n")
    if console.local:
        click.echo("The address signs you in once, with the permissions of your kubeconfig. Press Ctrl-C to stop.")
    else:
        provider = "" if console.oidc is None else f"at {console.oidc.settings.shown}, or "
        click.echo(f"Users sign in {provider}with their own token. Press Ctrl-C to stop.")
