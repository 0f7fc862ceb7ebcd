"""`--oidc-issuer` of `kubewright ui` and `kubewright run`: sign-in with OpenID Connect."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from kubewright.console import OIDC

__all__ = ["oidc_options"]

_PREFIX: Final = "KUBEWRIGHT_OIDC_"


def oidc_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options to a command, which gets them as `oidc`: the settings, or None."""

    @functools.wraps(function)
    def called(
        oidc_issuer: str | None,
        oidc_client_id: str | None,
        oidc_client_secret_file: str | None,
        oidc_ca_file: str | None,
        oidc_scopes: tuple[str, ...],
        oidc_name: str | None,
        **others: Any,
    ) -> None:
        given = {
            "--oidc-client-id": oidc_client_id,
            "--oidc-client-secret-file": oidc_client_secret_file,
            "--oidc-ca-file": oidc_ca_file,
            "--oidc-scope": oidc_scopes,
            "--oidc-name": oidc_name,
        }
        if oidc_issuer is None:
            if alone := next((name for name, value in given.items() if value), None):
                raise click.UsageError(f"{alone} requires --oidc-issuer")
            function(oidc=None, **others)
            return
        if oidc_client_id is None:
            raise click.UsageError("--oidc-issuer requires --oidc-client-id")
        settings = _settings(
            issuer=oidc_issuer,
            client_id=oidc_client_id,
            client_secret_file=oidc_client_secret_file,
            ca_file=oidc_ca_file,
            name=oidc_name or "",
            **({"scopes": ("openid", "email", "profile", *oidc_scopes)} if oidc_scopes else {}),
        )
        function(oidc=settings, **others)

    for option in reversed(_options()):
        called = option(called)
    return called


def _settings(**values: Any) -> OIDC:
    from kubewright.console import OIDC

    try:
        return OIDC(**values)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _options() -> list[Callable[[Callable[..., None]], Callable[..., None]]]:
    file = click.Path(exists=True, dir_okay=False)
    return [
        click.option(
            "--oidc-issuer",
            metavar="URL",
            envvar=f"{_PREFIX}ISSUER",
            help="Let users sign in at this OpenID Connect provider, which the API server must trust, too.",
        ),
        click.option(
            "--oidc-client-id", metavar="ID", envvar=f"{_PREFIX}CLIENT_ID", help="The client ID of the console there."
        ),
        click.option(
            "--oidc-client-secret-file",
            type=file,
            envvar=f"{_PREFIX}CLIENT_SECRET_FILE",
            help="A file with the client secret.  [default: a public client]",
        ),
        click.option(
            "--oidc-ca-file",
            type=file,
            envvar=f"{_PREFIX}CA_FILE",
            help="The CA of the provider, in PEM format.  [default: the CAs of this machine]",
        ),
        click.option(
            "--oidc-scope",
            "oidc_scopes",
            multiple=True,
            metavar="SCOPE",
            envvar=f"{_PREFIX}SCOPES",
            help="Request this scope, too, such as groups or offline_access.  [default: openid email profile]",
        ),
        click.option(
            "--oidc-name",
            metavar="NAME",
            envvar=f"{_PREFIX}NAME",
            help="The provider's name on the sign-in page.  [default: its host]",
        ),
    ]
