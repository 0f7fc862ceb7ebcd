"""Credentials: how the client proves who it is, and how it verifies the server.

- `read_kubeconfig` reads and merges kubeconfig files as kubectl does. An `Entry` names its file, for error messages.
- `Authenticator.identity()` returns the `Identity` of the next request: headers and a TLS context. Rotated token files,
  certificates and CAs are read again; an exec plugin runs again before its credential expires.
- `run_plugin` runs an exec plugin. Its output is parsed as `PluginOutput` and returned as an `ExecCredential`.
- `tls_context` makes the TLS context of a configuration, with the certificate of the client (`ClientCertificate`).

No object here shows a secret in its representation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.client.credentials._auth import Authenticator, Identity
    from kubewright.client.credentials._exec import ExecCredential, PluginOutput, run_plugin
    from kubewright.client.credentials._kubeconfig import Cluster, Context, Entry, Kubeconfig, User, read_kubeconfig
    from kubewright.client.credentials._tls import ClientCertificate, tls_context

__all__ = [
    "Authenticator",
    "ClientCertificate",
    "Cluster",
    "Context",
    "Entry",
    "ExecCredential",
    "Identity",
    "Kubeconfig",
    "PluginOutput",
    "User",
    "read_kubeconfig",
    "run_plugin",
    "tls_context",
]

# Imported on first use: most programs need neither plugins nor client certificates.
_MODULES = {
    "Authenticator": "_auth",
    "ClientCertificate": "_tls",
    "Cluster": "_kubeconfig",
    "Context": "_kubeconfig",
    "Entry": "_kubeconfig",
    "ExecCredential": "_exec",
    "Identity": "_auth",
    "Kubeconfig": "_kubeconfig",
    "PluginOutput": "_exec",
    "User": "_kubeconfig",
    "read_kubeconfig": "_kubeconfig",
    "run_plugin": "_exec",
    "tls_context": "_tls",
}

if not TYPE_CHECKING:  # type checkers report unknown names
    __getattr__ = lazy_exports(__name__, _MODULES)
