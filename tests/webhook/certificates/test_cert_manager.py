"""cert-manager's own CA injector does what the annotations of the manifests ask it for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

import kubewright as kw
from kubewright.api import ObjectMeta, apiextensions, core, from_dict, meta
from kubewright.certificates import CertificateAuthority
from kubewright.client import Client, NotFound
from kubewright.manifests import Project, webhook_configurations
from kubewright.manifests.manager import cert_manager_objects
from kubewright.testing import ControlPlane
from kubewright.testing.binaries import download_module
from tests.cluster.clients.processes import running
from tests.patience import until
from tests.webhook.certificates.ca_injector import CERT_MANAGER, ca_injector

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(
        not os.environ.get("KUBEWRIGHT_CA_INJECTOR"),
        reason="set KUBEWRIGHT_CA_INJECTOR=1: the first time, its build takes more than four minutes of CPU time",
    ),
]


@pytest.fixture(scope="module")
def control_plane() -> Iterator[ControlPlane]:
    """One of its own: the injector looks at all configurations, and the kinds of cert-manager are others' too."""
    with ControlPlane() as plane:
        yield plane


@pytest.mark.promise(
    "The certificate of the webhooks",
    "cert-manager's definitions accept what is generated, and its injector does what the annotations ask for.",
)
async def test_injector_sets_ca_bundle(
    client: Client, control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    program = ca_injector()
    folder = download_module(*CERT_MANAGER)
    for file in ("crd-certificates.yaml", "crd-issuers.yaml"):
        definition = yaml.safe_load((folder / "deploy" / "crds" / file).read_text(encoding="utf-8"))
        definition["metadata"].pop("labels", None)  # Helm's to fill in
        await client.apply(from_dict(apiextensions.CustomResourceDefinition, definition))
    operator = kw.Operator(f"of-{namespace}")

    @operator.validates(core.ConfigMap)
    def check(config: core.ConfigMap) -> None: ...

    project = Project(operator=operator, target="program.py", namespace=namespace, certificates="cert-manager")
    (configuration,) = webhook_configurations(project)
    (webhook,) = configuration.webhooks  # type: ignore[attr-defined]
    webhook.failure_policy = "Ignore"
    webhook.namespace_selector = meta.LabelSelector(match_labels={"kubernetes.io/metadata.name": namespace})
    await client.create(configuration)
    try:
        for one in cert_manager_objects(project):
            await until(lambda one=one: created(client, one))  # type: ignore[misc]
        # What cert-manager's own controllers make of it, which do not run here.
        authority = CertificateAuthority("injected", life=timedelta(days=3650))
        pair = authority.issue("injected", hosts=[f"{project.prefix}-webhook.{namespace}.svc"])
        annotations = {"cert-manager.io/certificate-name": f"{project.prefix}-webhook"}
        secret = core.Secret(
            metadata=ObjectMeta(name=project.certificate_secret, namespace=namespace, annotations=annotations),
            type="kubernetes.io/tls",
            data={"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.pair.certificate},
        )
        await client.create(secret)

        async def is_injected() -> bool:
            found = await client.get(type(configuration), project.prefix)
            (asked,) = found.webhooks  # type: ignore[attr-defined]
            return bool(asked.client_config.ca_bundle == authority.pair.certificate)

        async with running(program, f"-cluster={control_plane.kubeconfig}", environment={"HOME": str(tmp_path)}):
            await until(is_injected)
    finally:
        await client.delete(type(configuration), project.prefix)


async def created(client: Client, made: kw.Object) -> kw.Object | None:
    try:
        return await client.create(made)
    except NotFound:
        return None  # its kind is not served yet
