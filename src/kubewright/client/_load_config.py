"""`load_config`: finds the cluster and the credentials, as kubectl and client-go do."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from msgspec.structs import replace

from kubewright.client._config import TLS, ClientConfig, Credentials, Impersonation
from kubewright.client._config_errors import ConfigError
from kubewright.client._proxy import check_proxy, environment_proxy
from kubewright.client._sources import from_kubeconfig, from_service_account
from kubewright.client.credentials._kubeconfig import read_kubeconfig

__all__ = ["context_names", "load_config"]

log = logging.getLogger("kubewright.client")

_SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


def load_config(
    *,
    kubeconfig: str | os.PathLike[str] | None = None,
    context: str | None = None,
    server: str | None = None,
    namespace: str | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    certificate_file: str | os.PathLike[str] | None = None,
    key_file: str | os.PathLike[str] | None = None,
    ca_file: str | os.PathLike[str] | None = None,
    ca_data: bytes | None = None,
    insecure: bool | None = None,
    server_name: str | None = None,
    proxy: str | None = None,
    impersonate_user: str | None = None,
    impersonate_uid: str | None = None,
    impersonate_groups: Sequence[str] = (),
    impersonate_extra: Mapping[str, Sequence[str]] | None = None,
    environ: Mapping[str, str] | None = None,
    service_account: str | os.PathLike[str] | None = None,
) -> ClientConfig:
    """Finds the cluster, in the order: arguments, `KUBECONFIG`, the pod's service account, `~/.kube/config`.

    `server` alone is used as it is, and no file is read, so that credentials are never sent to another server. Together
    with `kubeconfig` or `context` it replaces that context's server. Every other argument replaces its counterpart: a
    token or certificate replaces all credentials, a CA or `insecure` the whole verification of the server. `proxy=""`
    disables a proxy of the environment. `service_account` is the folder of the pod's token, CA and namespace, if it is
    not the default; `KUBEWRIGHT_SERVICE_ACCOUNT` sets it too. Raises `ConfigError` for any invalid configuration.
    """
    environ = os.environ if environ is None else environ
    # An empty string is an option that was not given.
    kubeconfig, context, server = kubeconfig or None, context or None, server or None
    if insecure and (ca_file is not None or ca_data is not None):
        raise ConfigError("insecure cannot be combined with a CA; pass one of them")
    if server is not None and kubeconfig is None and context is None:
        config = ClientConfig(server=server)
    else:
        folder = service_account or environ.get("KUBEWRIGHT_SERVICE_ACCOUNT") or _SERVICE_ACCOUNT
        config = _find(kubeconfig, context, environ, os.fspath(folder))
        if server is not None:
            # The server name of another server's certificate does not fit this server.
            config = replace(config, server=server, tls=replace(config.tls, server_name=None))
    credentials = Credentials(
        token=token.strip() if token else None,
        token_file=_path(token_file),
        certificate_file=_path(certificate_file),
        key_file=_path(key_file),
    )
    if (certificate_file is None) != (key_file is None):
        raise ConfigError("a client certificate needs its key: pass certificate_file and key_file together")
    explicit = credentials != Credentials()
    config = replace(
        config,
        namespace=namespace or config.namespace,
        tls=_override_tls(config.tls, _path(ca_file), ca_data, insecure, server_name),
        credentials=credentials if explicit else config.credentials,
        impersonate=_override_impersonation(
            config.impersonate, impersonate_user, impersonate_uid, impersonate_groups, impersonate_extra
        ),
    )
    config = _checked(config, explicit)
    if proxy is not None:
        return replace(config, proxy=check_proxy(proxy, "the argument proxy") if proxy else None)
    return replace(config, proxy=config.proxy or environment_proxy(config.server, environ))


def _find(
    kubeconfig: str | os.PathLike[str] | None, context: str | None, environ: Mapping[str, str], folder: str
) -> ClientConfig:
    home = environ.get("HOME") or os.path.expanduser("~")
    listed = _listed(environ)
    in_file = kubeconfig is not None or bool(listed)
    if not in_file and context is None and (config := from_service_account(environ, folder)) is not None:
        return config
    files = _files(kubeconfig, environ)
    found = read_kubeconfig(files, must_exist=kubeconfig is not None)
    if found is not None:
        return from_kubeconfig(found, context, home=home)
    if listed:
        missing = "that file does not exist" if len(listed) == 1 else "none of these files exists"
        raise ConfigError(f"KUBECONFIG is {os.pathsep.join(listed)}, but {missing}; correct or unset it")
    pod = "this is not a pod"
    if environ.get("KUBERNETES_SERVICE_HOST"):
        pod = f"this pod has no service account token in {folder} (automountServiceAccountToken may be false)"
    raise ConfigError(
        f"no cluster is configured: KUBECONFIG is not set, {pod}, and {files[0]} does not exist; "
        "name a kubeconfig file or a server, or run a cluster here: `kubewright cluster start`"
    )


def _listed(environ: Mapping[str, str]) -> list[str]:
    return list(dict.fromkeys(filter(None, environ.get("KUBECONFIG", "").split(os.pathsep))))


def _files(kubeconfig: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> list[str]:
    """Returns the kubeconfig files to read."""
    home = environ.get("HOME") or os.path.expanduser("~")
    if kubeconfig is None:
        return _listed(environ) or [os.path.join(home, ".kube", "config")]
    path = os.fspath(kubeconfig)
    return [os.path.join(home, path[2:]) if path.startswith("~/") else path]


def context_names(
    kubeconfig: str | os.PathLike[str] | None = None, *, environ: Mapping[str, str] | None = None
) -> list[str]:
    """Returns the contexts of the kubeconfig that `load_config` reads, in file order; empty if there is no file."""
    files = _files(kubeconfig or None, os.environ if environ is None else environ)
    found = read_kubeconfig(files, must_exist=bool(kubeconfig))
    return [] if found is None else [*found.contexts]


def _override_tls(
    tls: TLS, ca_file: str | None, ca_data: bytes | None, insecure: bool | None, server_name: str | None
) -> TLS:
    if insecure or ca_file is not None or ca_data is not None:
        tls = TLS(ca_file=ca_file, ca_data=ca_data, insecure=bool(insecure), server_name=tls.server_name)
    elif insecure is False:
        tls = replace(tls, insecure=False)
    return tls if server_name is None else replace(tls, server_name=server_name or None)


def _override_impersonation(
    impersonation: Impersonation | None,
    user: str | None,
    uid: str | None,
    groups: Sequence[str],
    extra: Mapping[str, Sequence[str]] | None,
) -> Impersonation | None:
    if user:
        pairs = tuple((key, tuple(values)) for key, values in sorted((extra or {}).items()))
        return Impersonation(user=user, uid=uid, groups=tuple(groups), extra=pairs)
    if uid or groups or extra:
        raise ConfigError("impersonate_uid, impersonate_groups and impersonate_extra need impersonate_user")
    return impersonation


def _checked(config: ClientConfig, explicit_credentials: bool) -> ClientConfig:
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", config.namespace):
        raise ConfigError(
            f"{config.source}: {config.namespace!r} is not a namespace; "
            "expected up to 63 lower-case letters, digits and hyphens"
        )
    config = replace(config, server=_server_url(config))
    if not config.secure and not explicit_credentials and config.credentials != Credentials():
        # As in client-go: credentials for a secure server must not be sent unencrypted.
        log.warning("%s: %s is not https, so the credentials are not sent", config.source, config.server)
        config = replace(config, credentials=Credentials())
    return config


def _server_url(config: ClientConfig) -> str:
    """Returns the server as a URL.

    The default scheme is https if TLS is configured, otherwise http, as in client-go.
    """
    server = config.server.strip()
    if "://" not in server:
        tls, credentials = config.tls, config.credentials
        secure = tls.insecure or tls.ca_file or tls.ca_data or credentials.has_certificate
        server = f"{'https' if secure else 'http'}://{server}"
    problem = ConfigError(f"{config.source}: the server is not a URL; expected one such as https://host:6443")
    try:
        parts = urlsplit(server)
        valid = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise problem from None
    if not valid or any(character.isspace() for character in server):
        raise problem
    if "@" in parts.netloc:
        raise ConfigError(f"{config.source}: the server's URL must not contain a user name; use a token or username")
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.path.abspath(path)
