"""Creates a `ClientConfig` from a kubeconfig entry or from a pod's service account.

Contradictory and invalid settings are rejected when the configuration is loaded, and not at the first request.
"""

from __future__ import annotations

import base64
import binascii
import logging
import os
from collections.abc import Mapping
from typing import get_args

import msgspec

from kubewright.client._config import TLS, ClientConfig, Credentials, ExecPlugin, Impersonation, InteractiveMode
from kubewright.client._config_errors import did_you_mean
from kubewright.client._kubeconfig_warnings import warn_of_unverified_server
from kubewright.client._proxy import check_proxy
from kubewright.client.credentials._kubeconfig import Cluster, Context, Entry, ExecConfig, Kubeconfig, User

__all__ = ["from_kubeconfig", "from_service_account"]

log = logging.getLogger("kubewright.client")

_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_REMOVED_PROVIDERS = {"gcp": "gke-gcloud-auth-plugin", "azure": "kubelogin", "oidc": "kubectl-oidc_login"}


def from_kubeconfig(kubeconfig: Kubeconfig, context_name: str | None, *, home: str) -> ClientConfig:
    """Returns the configuration of a context."""
    context_entry = kubeconfig.context(context_name)
    context = context_entry.decode(Context)
    if not context.cluster:
        raise context_entry.error("it names no cluster")
    cluster_entry = kubeconfig.cluster(context_entry, context.cluster)
    cluster = cluster_entry.decode(Cluster)
    credentials, impersonate = Credentials(), None
    if context.user:
        user_entry = kubeconfig.user(context_entry, context.user)
        user = user_entry.decode(User)
        credentials = _credentials(user_entry, user, cluster_entry, cluster)
        impersonate = _impersonation(user_entry, user)
    if not cluster.server:
        raise cluster_entry.error("it has no server; expected a URL such as https://host:6443")
    return ClientConfig(
        server=cluster.server,
        namespace=context.namespace or "default",
        tls=_tls(cluster_entry, cluster),
        credentials=credentials,
        proxy=check_proxy(cluster.proxy_url, cluster_entry.where("proxy-url")) if cluster.proxy_url else None,
        impersonate=impersonate,
        context=context_entry.name,
        source=f"{_short(context_entry.file, home)}, context {context_entry.name}",
        disable_compression=bool(cluster.disable_compression),
    )


def from_service_account(environ: Mapping[str, str], folder: str) -> ClientConfig | None:
    """Returns the configuration of a pod, or None outside of a pod."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    token_file, ca_file = os.path.join(folder, "token"), os.path.join(folder, "ca.crt")
    if not host or not port or not os.path.isfile(token_file):
        return None
    if not os.path.isfile(ca_file):
        log.warning("%s does not exist; the server's certificate is checked against this machine's own CAs", ca_file)
    return ClientConfig(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        namespace=environ.get("POD_NAMESPACE") or _namespace_file(folder) or "default",
        tls=TLS(ca_file=ca_file if os.path.isfile(ca_file) else None),
        credentials=Credentials(token_file=token_file),
        source="in-cluster",
    )


def _namespace_file(folder: str) -> str:
    try:
        with open(os.path.join(folder, "namespace"), encoding="utf-8") as stream:
            return stream.read().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _tls(entry: Entry, cluster: Cluster) -> TLS:
    data = _decoded(entry, "certificate-authority-data", cluster.certificate_authority_data)
    file = entry.path(cluster.certificate_authority) if cluster.certificate_authority and data is None else None
    if cluster.insecure_skip_tls_verify and (data or file):
        raise entry.error("insecure-skip-tls-verify cannot be combined with a certificate-authority; remove one")
    if cluster.insecure_skip_tls_verify:
        warn_of_unverified_server(entry.file, entry.name)
    return TLS(
        ca_file=file,
        ca_data=data,
        insecure=bool(cluster.insecure_skip_tls_verify),
        server_name=cluster.tls_server_name or None,
    )


def _credentials(entry: Entry, user: User, cluster_entry: Entry, cluster: Cluster) -> Credentials:
    certificate = _decoded(entry, "client-certificate-data", user.client_certificate_data)
    key = _decoded(entry, "client-key-data", user.client_key_data)
    credentials = Credentials(
        token=(user.token or "").strip() or None,
        token_file=entry.path(user.token_file) if user.token_file else None,
        certificate_file=entry.path(user.client_certificate)
        if user.client_certificate and certificate is None
        else None,
        certificate_data=certificate,
        key_file=entry.path(user.client_key) if user.client_key and key is None else None,
        key_data=key,
        username=user.username or None,
        password=user.password or None,
        exec=_exec(entry, user.exec, cluster_entry, cluster) if user.exec else None,
        user=entry.name,
    )
    if credentials.has_certificate and not (credentials.key_file or credentials.key_data):
        raise entry.error("it has a client-certificate but no key; add client-key or client-key-data")
    has_token = bool(credentials.token or credentials.token_file)
    if has_token and credentials.has_basic:
        raise entry.error("it has both a token and a username with password; only one may be used, remove the other")
    if user.auth_provider and not (has_token or credentials.has_basic or credentials.has_certificate or user.exec):
        name = str(user.auth_provider.get("name", ""))
        plugin = f", for example with {_REMOVED_PROVIDERS[name]}" if name in _REMOVED_PROVIDERS else ""
        raise entry.error(f"auth-provider {name!r} is not supported; use an exec plugin instead{plugin}")
    return credentials


def _impersonation(entry: Entry, user: User) -> Impersonation | None:
    if user.as_:
        extra = tuple((key, tuple(values)) for key, values in sorted((user.as_user_extra or {}).items()))
        return Impersonation(user=user.as_, uid=user.as_uid or None, groups=tuple(user.as_groups or ()), extra=extra)
    if user.as_uid or user.as_groups or user.as_user_extra:
        raise entry.error("as-uid, as-groups and as-user-extra need a user to impersonate; add `as`")
    return None


def _exec(entry: Entry, config: ExecConfig, cluster_entry: Entry, cluster: Cluster) -> ExecPlugin:
    if not config.command:
        raise entry.error("exec: it has no command")
    if config.api_version not in _EXEC_VERSIONS:
        found = repr(config.api_version) if config.api_version else "missing"
        raise entry.error(f"exec: apiVersion is {found}, expected {_EXEC_VERSIONS[0]}; update the plugin's entry")
    mode = config.interactive_mode or ("IfAvailable" if config.api_version.endswith("v1beta1") else "")
    if not mode:
        raise entry.error("exec: interactiveMode is missing; expected Never, IfAvailable or Always")
    if mode not in get_args(InteractiveMode):
        raise entry.error(f"exec: interactiveMode {mode!r} is unknown{did_you_mean(mode, get_args(InteractiveMode))}")
    variables = config.env or ()
    if any(not variable.name for variable in variables):
        raise entry.error("exec: each entry of env needs a name")
    has_folder = os.sep in config.command
    return ExecPlugin(
        command=os.path.normpath(entry.path(config.command)) if has_folder else config.command,
        args=tuple(config.args or ()),
        env=tuple((variable.name or "", variable.value or "") for variable in variables),
        api_version=config.api_version,
        interactive_mode=mode,  # type: ignore[arg-type]  # checked above
        provide_cluster_info=bool(config.provide_cluster_info),
        cluster_config=_cluster_config(cluster_entry, cluster) if config.provide_cluster_info else None,
        install_hint=config.install_hint or None,
    )


def _cluster_config(entry: Entry, cluster: Cluster) -> bytes | None:
    """Returns the cluster's extension for exec plugins, as JSON."""
    found = [item.get("extension") for item in cluster.extensions or () if item.get("name") == _EXEC_EXTENSION]
    if not found or found[0] is None:
        return None
    try:
        return msgspec.json.encode(found[0])
    except (TypeError, ValueError, RecursionError):
        raise entry.error(f"the extension {_EXEC_EXTENSION} cannot be written as JSON") from None


def _decoded(entry: Entry, name: str, value: str | None) -> bytes | None:
    if not value:
        return None
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        raise entry.error(f"{name} is not valid base64; expected PEM, encoded in base64") from None


def _short(file: str, home: str) -> str:
    return f"~{file[len(home) :]}" if home and file.startswith(f"{home}{os.sep}") else file
