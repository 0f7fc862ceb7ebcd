"""The objects that make OLM install a bundle: a catalog with a server, an OperatorGroup, a Subscription.

The catalog is in a ConfigMap, which `opm` serves from a Deployment behind a Service. OLM's own source types for
ConfigMaps (`configmap` and `internal`) support only the older package format. A catalog in an image does not need this
server: OLM starts the image itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kubewright.api import Object, ObjectMeta, apps, core, meta
from kubewright.olm._catalog import OPM_IMAGE, Catalog
from kubewright.olm._install import INSTALL_MODES
from kubewright.olm._kinds import (
    CatalogSource,
    CatalogSourceSpec,
    OperatorGroup,
    OperatorGroupSpec,
    Subscription,
    SubscriptionSpec,
)
from kubewright.olm._read import Bundle, BundleError

__all__ = ["PACKAGE_LABEL", "Installation"]

PACKAGE_LABEL: Final = "olm.kubewright.dev/package"
_PORT: Final = 50051
_FILE: Final = "catalog.yaml"
_MAX_BYTES: Final = 1_000_000
"""The size limit of a ConfigMap, with room for its metadata."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A bundle, and how OLM should install it. An invalid value raises `BundleError`.

    Args:
        bundle: the version to install.
        namespace: the namespace of the operator and of the Subscription.
        channel: the channel to subscribe to. Default: the bundle's default channel.
        install_mode: `AllNamespaces`, `OwnNamespace`, or `SingleNamespace` or `MultiNamespace` with `targets`. Default:
            the widest that the bundle supports.
        targets: the namespaces that the operator watches, for the last two modes.
        index_image: the image of a catalog that contains the bundle. Default: a catalog of the bundle is created.
        opm_image: the image of the server of that catalog.
    """

    bundle: Bundle
    namespace: str
    channel: str = ""
    install_mode: str = ""
    targets: Sequence[str] = ()
    index_image: str = ""
    opm_image: str = OPM_IMAGE

    def __post_init__(self) -> None:
        supported = [
            mode
            for mode in reversed(INSTALL_MODES)
            if any(
                one.get("type") == mode and one.get("supported") for one in self.bundle.spec.get("installModes") or []
            )
        ]
        usable = [mode for mode in supported if mode in ("AllNamespaces", "OwnNamespace") or self.targets]
        mode = self.install_mode or (self._by_targets() if self.targets else next(iter(usable), ""))
        if mode not in supported:
            modes = ", ".join(supported) or "none"
            raise BundleError(
                f"{self.bundle.name} does not support the install mode {mode or '(none)'}; supported: {modes}"
            )
        if mode in ("SingleNamespace", "MultiNamespace") and not self.targets:
            raise BundleError(f"{mode} requires the namespaces that the operator watches")
        object.__setattr__(self, "install_mode", mode)
        channel = self.channel or self.bundle.default_channel
        if channel not in self.bundle.channels:
            channels = ", ".join(self.bundle.channels) or "none"
            raise BundleError(f"{self.bundle.name} is not in the channel {channel!r}; its channels: {channels}")
        object.__setattr__(self, "channel", channel)

    def _by_targets(self) -> str:
        if len(self.targets) > 1:
            return "MultiNamespace"
        return "OwnNamespace" if self.targets[0] == self.namespace else "SingleNamespace"

    @property
    def package(self) -> str:
        """The package, which all objects are named after."""
        return self.bundle.package

    @property
    def catalog_name(self) -> str:
        """The name of the CatalogSource and of its server."""
        return f"{self.package}-catalog"

    @property
    def labels(self) -> dict[str, str]:
        """The labels of all objects."""
        return {"app.kubernetes.io/managed-by": "kubewright", PACKAGE_LABEL: self.package}

    def target_namespaces(self) -> list[str] | None:
        """The namespaces of the OperatorGroup; None means all."""
        own = [self.namespace] if self.install_mode == "OwnNamespace" else sorted(self.targets)
        return None if self.install_mode == "AllNamespaces" else own

    def objects(self) -> list[Object]:
        """Returns all objects except the namespace, in creation order."""
        return [*self.catalog_objects(), self.operator_group(), self.subscription()]

    def catalog_objects(self) -> list[Object]:
        """Returns the catalog and its server."""
        if self.index_image:
            return [self._source(CatalogSourceSpec(source_type="grpc", image=self.index_image))]
        address = f"{self.catalog_name}.{self.namespace}.svc:{_PORT}"
        text = Catalog.of([self.bundle]).text()
        if len(text.encode()) > _MAX_BYTES:
            raise BundleError(
                f"the catalog of {self.bundle.name} is too large for a ConfigMap: build an image of it with"
                " `kubewright catalog`, and pass the image with --index-image"
            )
        return [
            core.ConfigMap(metadata=self._meta(self.catalog_name), data={_FILE: text}),
            self._server(hashlib.sha256(text.encode()).hexdigest()),
            self._service(),
            self._source(CatalogSourceSpec(source_type="grpc", address=address)),
        ]

    def operator_group(self) -> OperatorGroup:
        """Returns the OperatorGroup."""
        return OperatorGroup(
            metadata=self._meta(self.package), spec=OperatorGroupSpec(target_namespaces=self.target_namespaces())
        )

    def subscription(self) -> Subscription:
        """Returns the Subscription."""
        return Subscription(
            metadata=self._meta(self.package),
            spec=SubscriptionSpec(
                name=self.package,
                channel=self.channel,
                source=self.catalog_name,
                source_namespace=self.namespace,
                starting_csv=self.bundle.name,
                install_plan_approval="Automatic",
            ),
        )

    def _source(self, spec: CatalogSourceSpec) -> CatalogSource:
        spec.display_name = f"{self.package}, by kubewright run-bundle"
        spec.publisher = "kubewright"
        return CatalogSource(metadata=self._meta(self.catalog_name), spec=spec)

    def _meta(self, name: str) -> ObjectMeta:
        return ObjectMeta(name=name, namespace=self.namespace, labels=self.labels)

    def _service(self) -> core.Service:
        port = core.ServicePort(name="grpc", port=_PORT, target_port="grpc", protocol="TCP")
        spec = core.ServiceSpec(selector=self._selector(), ports=[port])
        return core.Service(metadata=self._meta(self.catalog_name), spec=spec)

    def _selector(self) -> dict[str, str]:
        return {**self.labels, "app.kubernetes.io/component": "catalog"}

    def _server(self, digest: str) -> apps.Deployment:
        """Returns the Deployment of `opm`. A changed catalog restarts it, because `opm` does not reload it."""
        template = core.PodTemplateSpec(
            metadata=ObjectMeta(labels=self._selector(), annotations={"olm.kubewright.dev/catalog": digest}),
            spec=core.PodSpec(
                automount_service_account_token=False,
                security_context=core.PodSecurityContext(
                    run_as_non_root=True,
                    run_as_user=1001,
                    seccomp_profile=core.SeccompProfile(type="RuntimeDefault"),
                ),
                containers=[self._opm()],
                volumes=[
                    core.Volume(name="catalog", config_map=core.ConfigMapVolumeSource(name=self.catalog_name)),
                    core.Volume(name="cache", empty_dir=core.EmptyDirVolumeSource()),
                ],
            ),
        )
        selector = meta.LabelSelector(match_labels=self._selector())
        return apps.Deployment(
            metadata=self._meta(self.catalog_name),
            spec=apps.DeploymentSpec(replicas=1, selector=selector, template=template),
        )

    def _opm(self) -> core.Container:
        return core.Container(
            name="opm",
            image=self.opm_image,
            # The default cache is in /tmp. With a cache option, newer versions of opm require a prepared cache.
            command=["/bin/opm", "serve", "/configs"],
            ports=[core.ContainerPort(name="grpc", container_port=_PORT, protocol="TCP")],
            readiness_probe=core.Probe(tcp_socket=core.TCPSocketAction(port="grpc"), period_seconds=2),
            security_context=core.SecurityContext(
                allow_privilege_escalation=False,
                read_only_root_filesystem=True,
                capabilities=core.Capabilities(drop=["ALL"]),
            ),
            volume_mounts=[
                # Only the file: a mounted folder also has a hidden copy of it, which opm would read as well.
                core.VolumeMount(name="catalog", mount_path=f"/configs/{_FILE}", sub_path=_FILE, read_only=True),
                core.VolumeMount(name="cache", mount_path="/tmp"),  # noqa: S108  # private to the pod
            ],
        )
