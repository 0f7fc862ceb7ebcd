"""Addresses on the command line of `kubewright ui`."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

__all__ = ["check_networks", "check_urls"]


def check_urls(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the values of --url. Rejects one that is not the origin of a URL."""
    for url in given:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise click.BadParameter(f"{url!r} is not an address such as https://console.example.com", param=parameter)
    return given


def check_networks(_: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the values of --trusted-proxy. Rejects one that is not an address or a network."""
    import ipaddress

    for network in given:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            message = f"{network!r} is not an address or network such as 10.0.0.7 or 10.0.0.0/8"
            raise click.BadParameter(message, param=parameter) from None
    return given
