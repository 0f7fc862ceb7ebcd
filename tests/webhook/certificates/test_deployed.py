"""An operator as it runs in a pod, with what the manifests install: the API server calls it by its Service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

import kubewright as kw
from kubewright.api import ObjectMeta, core, meta
from kubewright.client import ApiError, Client, Invalid
from kubewright.manifests import Project, webhook_configurations
from kubewright.webhook import FieldError
from tests.patience import until


def operator(name: str) -> kw.Operator:
    made = kw.Operator(name, leader_elect=False, webhook_bind="127.0.0.1:0")

    @made.validates(core.ConfigMap)
    def check(config: core.ConfigMap) -> list[FieldError]:
        return [FieldError("data", "must not be empty")] if not config.data else []

    return made


@asynccontextmanager
async def replica(client: Client, name: str, namespace: str) -> AsyncIterator[kw.Running]:
    """One that believes to be in a pod of that namespace."""
    assert client._config is not None
    config = replace(client._config, source="in-cluster", namespace=namespace)
    async with Client(config) as own, operator(name).running(own, install_crds=False) as running:
        yield running


async def test_replicas_manage_certificate_and_are_called_by_service(client: Client, namespace: str) -> None:
    name = f"of-{namespace}"
    project = Project(operator=operator(name), target="program.py", namespace=namespace)
    (configuration,) = webhook_configurations(project)
    service = core.Service(
        metadata=ObjectMeta(name=f"{name}-webhook", namespace=namespace),
        spec=core.ServiceSpec(type="ExternalName", external_name="localhost"),
    )
    await client.create(service)
    async with replica(client, name, namespace) as one, replica(client, name, namespace) as two:
        servers = [running.webhooks.server for running in (one, two)]
        assert servers[0] is not None
        assert servers[1] is not None
        assert servers[0].certificate.pair == servers[1].certificate.pair
        (webhook,) = configuration.webhooks  # type: ignore[attr-defined]
        webhook.client_config.service.port = servers[0].port  # the Service has no port of its own
        webhook.namespace_selector = meta.LabelSelector(match_labels={"kubernetes.io/metadata.name": namespace})
        await client.create(configuration)
        try:

            async def is_trusted() -> bool:
                found = await client.get(type(configuration), name)
                (asked,) = found.webhooks  # type: ignore[attr-defined]
                return bool(asked.client_config.ca_bundle == servers[0].certificate.ca_bundle)  # type: ignore[union-attr]

            await until(is_trusted)

            async def refusal() -> Invalid | None:
                # The server knows configurations from a cache: it may have heard of this one, or of its bundle, later.
                try:
                    await client.create(
                        core.ConfigMap(metadata=ObjectMeta(generate_name="empty-", namespace=namespace))
                    )
                except Invalid as error:
                    return error
                except ApiError:
                    pass  # the certificate was not trusted yet
                return None

            assert "data: must not be empty" in str(await until(refusal))
            full = core.ConfigMap(metadata=ObjectMeta(name="full", namespace=namespace), data={"a": "1"})
            assert (await client.create(full)).data == {"a": "1"}
        finally:
            await client.delete(type(configuration), name)
