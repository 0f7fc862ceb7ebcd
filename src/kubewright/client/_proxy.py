"""The proxy of a server: the rules of Go's `http.ProxyFromEnvironment`, which kubectl follows.

`HTTPS_PROXY` is for https servers and `HTTP_PROXY` for http ones, upper case before lower case. `NO_PROXY` is a
comma-separated list of `*`, addresses, CIDR ranges, and domains (`example.com` also covers its subdomains,
`.example.com` covers only those), each except a range with an optional port. The local machine is never proxied.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from kubewright.client._config_errors import ConfigError

__all__ = ["check_proxy", "environment_proxy"]

_DEFAULT_PORTS = {"http": 80, "https": 443}


def check_proxy(url: str, where: str) -> str:
    """Returns a valid proxy URL. Raises ConfigError, which begins with `where` and does not show the URL."""
    try:
        parts = urlsplit(url)
        usable = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        raise ConfigError(f"{where} is not a URL; expected http://host:port") from None
    if parts.scheme.startswith("socks"):
        raise ConfigError(f"{where} is a SOCKS proxy, which Kubewright cannot use; name an http or https proxy")
    if parts.scheme not in _DEFAULT_PORTS or not usable:
        raise ConfigError(f"{where} is not the URL of a proxy; expected http://host:port or https://host:port")
    return url


def environment_proxy(server: str, environ: Mapping[str, str]) -> str | None:
    """Returns the proxy for a server URL by the environment, or None."""
    parts = urlsplit(server)
    found = next((name for name in _variables(parts.scheme) if environ.get(name)), None)
    if found is None or not _proxied(parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme], environ):
        return None
    url = environ[found]
    return check_proxy(url if "://" in url else f"http://{url}", f"the environment variable {found}")


def _variables(scheme: str) -> tuple[str, str]:
    return (f"{scheme.upper()}_PROXY", f"{scheme}_proxy")


def _proxied(host: str, port: int, environ: Mapping[str, str]) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return False
    rules = (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",")
    return not any(_matches(rule.strip().lower(), host.lower(), address, port) for rule in rules)


def _matches(rule: str, host: str, address: _Address | None, port: int) -> bool:
    if not rule:
        return False
    if rule == "*":
        return True
    if "/" in rule and (network := _network(rule)) is not None:
        return address is not None and address.version == network.version and address in network
    name, rule_port = _split_port(rule)
    if rule_port is not None and rule_port != port:
        return False
    if (rule_address := _address(name)) is not None or address is not None:
        return rule_address == address
    suffix = name[1:] if name.startswith("*.") else name
    return host == suffix or (suffix != "" and host.endswith(f".{suffix.removeprefix('.')}"))


_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _address(text: str) -> _Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _network(text: str) -> _Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _split_port(rule: str) -> tuple[str, int | None]:
    if _address(rule) is not None:
        return rule, None
    name, colon, port = rule.rpartition(":")
    if colon and port.isdigit():
        return name.strip("[]"), int(port)
    return rule.strip("[]"), None
