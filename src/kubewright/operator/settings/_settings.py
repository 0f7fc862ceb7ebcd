"""The settings of a running operator, defined once.

Each field of `Settings` is an argument of `Operator`, `operator.run` and `operator.running`, an environment variable
(`KUBEWRIGHT_` and the name in capitals) and a flag of `kubewright run`. Precedence: the flag, the variable, the
argument of `Operator`, the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

import msgspec

from kubewright.arguments import unknown_name
from kubewright.cache import Labels
from kubewright.controller.registration import DEFAULT_CONCURRENCY
from kubewright.durations import Duration
from kubewright.operator.settings import _values as values
from kubewright.pausing import PAUSE_ANNOTATION
from kubewright.suggestions import nearest

__all__ = [
    "SETTINGS",
    "Duration",
    "Options",
    "Setting",
    "SettingError",
    "Settings",
    "check_options",
    "from_environment",
]

PREFIX = "KUBEWRIGHT_"


class SettingError(ValueError):
    """A setting has an invalid value. The message names the setting as the user wrote it, and the valid values."""


_described: list[tuple[values.ValueType[Any], str, tuple[str, ...]]] = []  # in the order of the fields of `Settings`


def _setting(value_type: values.ValueType[Any], default: Any, help_: str, *flags: str) -> Any:
    _described.append((value_type, help_, flags))
    return default


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one run of an operator, all checked."""

    kubeconfig: str | None = _setting(
        values.path,
        None,
        "The kubeconfig file. Default: KUBECONFIG, then the pod's service account, then ~/.kube/config.",
    )
    context: str | None = _setting(values.text, None, "The context in the kubeconfig.")
    server: str | None = _setting(
        values.text,
        None,
        "The address of the API server, instead of the one in --kubeconfig; without --kubeconfig, no file is read.",
        "--master",
        "--server",
    )
    namespaces: tuple[str, ...] = _setting(
        values.names, (), "Watch only this namespace. May be given several times.", "-n", "--namespace"
    )
    namespace_labels: str | None = _setting(
        values.labels,
        None,
        "Watch the namespaces with these labels, also those that get them later: team=shop. Not with --namespace.",
    )
    concurrency: int = _setting(
        values.count, DEFAULT_CONCURRENCY, "Concurrent reconciles of each controller that sets no own limit."
    )
    resync: float | None = _setting(
        values.duration_or_never,
        None,
        "Reconcile every object again after this time, for controllers that set none; 0 means never.",
    )
    leader_elect: bool | None = _setting(
        values.switch,
        None,
        "Work only while this replica is the leader. Default: enabled in a pod, disabled elsewhere.",
    )
    lease_name: str | None = _setting(values.object_name, None, "The name of the Lease. Default: the operator's name.")
    lease_namespace: str | None = _setting(
        values.namespace, None, "The namespace of the Lease. Default: the pod's namespace."
    )
    lease_duration: float = _setting(
        values.duration, 15.0, "How long standbys wait after the last renewal they observed."
    )
    renew_deadline: float = _setting(values.duration, 10.0, "How long the leader relies on a renewal.")
    retry_period: float = _setting(values.duration, 2.0, "The interval between renewals.")
    metrics_bind: str | None = _setting(
        values.address, None, "Serve /metrics at this address. A port alone is on loopback. Default: not served."
    )
    metrics_secure: bool | None = _setting(
        values.switch,
        None,
        "Serve /metrics over HTTPS, to clients that the API server authorizes. Default: enabled unless on loopback.",
    )
    metrics_cert_path: str | None = _setting(
        values.folder,
        None,
        "The folder of tls.crt and tls.key for HTTPS of /metrics. Default: a self-signed certificate in memory.",
    )
    health_bind: str | None = _setting(
        values.address,
        None,
        "Serve /healthz and /readyz at this address. A port alone is on loopback. Default: not served.",
    )
    debug_pages: bool | None = _setting(
        values.switch,
        None,
        "Serve /debug/kubewright too: on loopback, and where /metrics is secure. Default: only on loopback.",
    )
    tracing: bool | None = _setting(
        values.switch,
        None,
        "Create OpenTelemetry spans. Default: enabled if the program has imported the OpenTelemetry SDK.",
    )
    event_version: str = _setting(values.event_version, "events.k8s.io/v1", "The API of events; v1 is the older one.")
    failure_events: bool | None = _setting(
        values.switch,
        None,
        "Record the first failure of an object, and each new reason, as a Warning event on it. Default: enabled.",
    )
    pause_annotation: str = _setting(
        values.annotation, PAUSE_ANNOTATION, "The annotation with which users pause an object."
    )
    webhook_bind: str | None = _setting(
        values.address_or_off,
        None,
        "Serve the webhooks at this address, if there are any; 0 disables them. Default: 127.0.0.1:9443.",
    )
    webhook_client_ca: str | None = _setting(
        values.path,
        None,
        "A file of CA certificates. Webhooks then require a client certificate signed by one of them.",
    )
    webhook_url: str | None = _setting(
        values.https_url,
        None,
        "The URL by which the API server reaches the webhooks on this machine. Installs their configurations.",
    )
    webhook_certificates: str = _setting(
        values.certificates,
        "self-managed",
        "The source of the webhook certificate: self-managed, cert-manager, olm or files.",
    )
    webhook_folder: str | None = _setting(
        values.folder,
        None,
        "The folder of tls.crt and tls.key, if the webhook certificate comes from files.",
    )
    webhook_secret: str | None = _setting(
        values.text,
        None,
        "The Secret of a self-managed certificate. Default: the operator's name and -webhook-certificate.",
    )
    webhook_service: str | None = _setting(
        values.text, None, "The Service of the webhooks. Default: the operator's name and -webhook."
    )
    grace: float = _setting(
        values.duration_or_zero, 30.0, "How long running reconciles may take to finish when the operator stops."
    )
    sync_timeout: float = _setting(values.duration, 120.0, "How long the caches may take to sync at the start.")
    install_crds: bool | None = _setting(
        values.switch,
        None,
        "Install the CustomResourceDefinitions of its kinds at the start. Default: disabled.",
    )
    install_timeout: float = _setting(
        values.duration, 30.0, "How long the API server may take to serve installed definitions."
    )
    log_level: str | None = _setting(values.log_level, None, "The lowest level that is logged. Default: info.")
    log_format: str | None = _setting(
        values.log_format, None, "The format of the log. Default: pretty on a terminal, json elsewhere."
    )

    def __post_init__(self) -> None:
        if self.namespaces and self.namespace_labels is not None:
            raise SettingError(
                "namespaces and namespace_labels exclude each other: name namespaces, or select them by their labels"
            )

    @property
    def has_secure_metrics(self) -> bool:
        """Whether `/metrics` is served over HTTPS to authorized clients."""
        from kubewright.observe import is_loopback

        if self.metrics_bind is None:
            return False
        if self.metrics_secure is None:
            return not is_loopback(values.split_address(self.metrics_bind)[0])
        return self.metrics_secure


class Options(TypedDict, total=False):
    """The settings as arguments. `Operator` describes each."""

    kubeconfig: str | os.PathLike[str] | None
    context: str | None
    server: str | None
    namespaces: Sequence[str]
    namespace_labels: Labels | None
    concurrency: int
    resync: Duration | None
    leader_elect: bool | None
    lease_name: str | None
    lease_namespace: str | None
    lease_duration: Duration
    renew_deadline: Duration
    retry_period: Duration
    metrics_bind: str | int | None
    metrics_secure: bool | None
    metrics_cert_path: str | os.PathLike[str] | None
    health_bind: str | int | None
    debug_pages: bool | None
    tracing: bool | None
    event_version: str
    failure_events: bool | None
    pause_annotation: str
    webhook_bind: str | int | None
    webhook_client_ca: str | os.PathLike[str] | None
    webhook_url: str | None
    webhook_certificates: str
    webhook_folder: str | os.PathLike[str] | None
    webhook_secret: str | None
    webhook_service: str | None
    grace: Duration
    sync_timeout: Duration
    install_crds: bool | None
    install_timeout: Duration
    log_level: str | None
    log_format: str | None


class Setting(msgspec.Struct, frozen=True):
    """A row of the table of settings."""

    name: str
    type: values.ValueType[Any]
    default: Any
    help: str
    flags: tuple[str, ...]

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()

    @property
    def repeatable(self) -> bool:
        """Whether the flag may be given several times."""
        return self.type is values.names

    @property
    def is_switch(self) -> bool:
        """Whether the value is true or false, so that the flag takes none."""
        return self.type is values.switch

    def check(self, given: object, where: str) -> Any:
        """Returns a checked value from Python. `where` names the setting in errors. Raises `SettingError`."""
        if given is None and self.default is None:
            return None
        return self._valid(self.type.check, given, where)

    def read(self, text: str, where: str) -> Any:
        """Returns a checked value from a string: a flag or an environment variable. Raises `SettingError`."""
        return self.check(self._valid(self.type.read, text, where), where)

    def _valid(self, convert: Callable[[Any], Any], given: object, where: str) -> Any:
        try:
            return convert(given)
        except values.InvalidValue as error:
            # A repeatable flag arrives as a tuple; the user wrote its items.
            shown = ", ".join(map(repr, given)) if isinstance(given, tuple) else repr(given)
            raise SettingError(f"{where} must be {error}, not {shown}") from None


SETTINGS: Mapping[str, Setting] = {
    name: Setting(name, value_type, default, help_, flags or (f"--{name.replace('_', '-')}",))
    for name, default, (value_type, help_, flags) in zip(
        Settings.__struct_fields__, Settings.__struct_defaults__, _described, strict=True
    )
}


def check_options(where: str, options: Mapping[str, object]) -> dict[str, Any]:
    """Returns checked arguments. Raises TypeError for an unknown name, with the known ones, and `SettingError`."""
    checked = {}
    for name, given in options.items():
        if name not in SETTINGS:
            raise TypeError(unknown_name(where, name, SETTINGS))
        checked[name] = SETTINGS[name].check(given, name)
    return checked


def from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings of environment variables. Empty variables are ignored."""
    return {
        name: setting.read(text, setting.variable)
        for name, setting in SETTINGS.items()
        if (text := environ.get(setting.variable, "").strip())
    }


def misspelled(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Returns unknown variables that resemble a known one, each with the known one.

    They are not an error: Kubernetes sets `KUBEWRIGHT_PORT` and others for a Service named kubewright.
    """
    known = {setting.variable for setting in SETTINGS.values()}
    unknown = [name for name in environ if name.startswith(PREFIX) and name not in known]
    return [(name, meant) for name in unknown if (meant := nearest(name, known, likeness=0.85))]
