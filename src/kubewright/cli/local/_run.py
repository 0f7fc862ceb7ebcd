"""`kubewright run`: run the operator of a file or module against the cluster of the kubeconfig."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kubewright.arguments import InvalidValue
from kubewright.cli.common._completing import Complete, contexts, files, one_of
from kubewright.cli.common._exit_codes import WrongUse
from kubewright.cli.common._importing import importing
from kubewright.cli.common._numbers import SECONDS
from kubewright.cli.common._output import Output, output_option
from kubewright.cli.common._project_command import ProjectCommand
from kubewright.cli.common._targets import targets_or_current_project
from kubewright.cli.console._addresses import check_urls
from kubewright.cli.console._oidc import oidc_options
from kubewright.operator import Operator, SettingError
from kubewright.operator.loading import LoadError, load_operator
from kubewright.operator.settings import SETTINGS, Setting, check_options, split_address

if TYPE_CHECKING:
    from kubewright.console import OIDC

__all__ = ["command"]

_COMMANDLINE = click.core.ParameterSource.COMMANDLINE


def _reader(setting: Setting) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Converts the value of an option. An invalid value is a usage error that names the valid ones."""

    def read(ctx: click.Context, parameter: click.Parameter, given: Any) -> Any:
        try:
            if isinstance(given, tuple):
                return setting.check(given, setting.flags[-1])
            return setting.read(given, setting.flags[0]) if isinstance(given, str) else given
        except SettingError as error:
            raise click.UsageError(str(error), ctx) from None

    return read


def _offered(setting: Setting) -> Complete | None:
    if setting.name == "context":
        return contexts
    if setting.type.choices:
        choices = setting.type.choices
        return one_of(lambda _: choices)
    return files if setting.type.metavar == "FILE" else None


def _option(setting: Setting) -> Callable[[Any], Any]:
    flags, several = setting.flags, setting.repeatable
    shown: str | None = setting.type.metavar
    if setting.is_switch:
        flags, shown = (f"{flags[0]}/--no-{flags[0][2:]}",), None
    elif setting.type.choices:
        shown = "|".join(setting.type.choices)
    return click.option(
        *flags,
        setting.name,
        default=None,
        metavar=shown,
        multiple=several,
        callback=_reader(setting),
        shell_complete=_offered(setting),
        help=f"{setting.help} [{setting.variable}]",
    )


def _settings(command: Callable[..., None]) -> Callable[..., None]:
    """Adds all settings of operators to a command as options, in the order of the table."""
    for setting in reversed([*SETTINGS.values()]):
        command = _option(setting)(command)
    return command


@click.command("run", cls=ProjectCommand)
@click.argument("target", metavar="[FILE_OR_MODULE]", default=None, required=False, shell_complete=files)
@_settings
@click.option(
    "--console-bind",
    metavar="ADDRESS",
    envvar="KUBEWRIGHT_CONSOLE_BIND",
    help="Serve a console of the operator's kinds on this address; a port alone means loopback."
    " [KUBEWRIGHT_CONSOLE_BIND]",
)
@click.option(
    "--console-url",
    "console_urls",
    multiple=True,
    metavar="URL",
    envvar="KUBEWRIGHT_CONSOLE_URL",
    callback=check_urls,
    help="An address under which browsers reach the console, such as https://console.example.com."
    " [KUBEWRIGHT_CONSOLE_URL]",
)
@oidc_options
@click.option("-v", "--verbose", is_flag=True, help="Same as --log-level debug.")
@click.option("--dry-run", is_flag=True, help="Reconcile every object as a dry run, print what would change, and exit.")
@click.option(
    "--dry-run-timeout",
    type=SECONDS,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the dry run may take.",
)
@output_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    target: str | None,
    console_bind: str | None,
    console_urls: tuple[str, ...],
    oidc: OIDC | None,
    verbose: bool,
    dry_run: bool,
    dry_run_timeout: float,
    output: Output,
    **given: Any,
) -> None:
    """Run an operator until SIGTERM or SIGINT.

    FILE_OR_MODULE is a Python file or a module with an Operator. If it has several, name one: `foo.py:operator`. In a
    project you can leave it out.

    Each setting is also an environment variable, shown in brackets, and an argument of Operator. An option takes
    precedence over the variable, and the variable over the argument.

    \b
    Example:
      kubewright run
      kubewright run foo.py --namespace shop --health-bind 8081
      kubewright run shop.operators:till --leader-elect --log-format json
      kubewright run --dry-run --output json

    A dry run changes nothing. It exits with 0 if nothing would change, 3 if something would, and 1 if a reconcile
    failed. The operator must declare its external_calls.
    """
    if output.json and not dry_run:
        raise click.UsageError("--output json is for --dry-run; for a log of JSON lines, use --log-format json", ctx)
    serves_console = console_bind not in (None, "", "0")  # like the other servers
    if not serves_console and (console_urls or oidc is not None):
        raise click.UsageError(f"{'--oidc-issuer' if oidc else '--console-url'} requires --console-bind", ctx)
    [target] = targets_or_current_project([target] if target else [], settings=False)
    try:
        with importing(target):
            operator: Operator = load_operator(target)
    except LoadError as error:
        raise WrongUse(str(error)) from error
    said = {name: value for name, value in given.items() if ctx.get_parameter_source(name) is _COMMANDLINE}
    if verbose:
        said.setdefault("log_level", "debug")
    if dry_run:
        from kubewright.cli.local._dry_run import print_dry_run

        print_dry_run(operator, check_options("run", said), dry_run_timeout, output)
        return
    if console_bind is not None and serves_console:
        _attach_console(operator, console_bind, console_urls, oidc)
    operator.run(**said)


def _attach_console(operator: Operator, bind: str, urls: tuple[str, ...], oidc: OIDC | None) -> None:
    from kubewright.cli.console._ui import MISSING, console_installed

    try:
        host, port = split_address(bind)
    except InvalidValue as error:
        raise click.UsageError(f"--console-bind must be {error}, not {bind!r}") from None
    if not console_installed():
        raise click.ClickException(MISSING)
    from kubewright.console import attach_console

    attach_console(
        operator,
        host=host,
        port=port,
        urls=urls,
        oidc=oidc,
        # Printed, not logged: anyone with the address can sign in.
        announce=lambda url: click.echo(f"The console is at {url}", err=True),
    )
