from __future__ import annotations

from kubewright.api import core, meta
from kubewright.client import Client


async def test_the_client_fixture_reaches_the_control_plane(client: Client, namespace: str) -> None:
    made = await client.create(
        core.ConfigMap(metadata=meta.ObjectMeta(name="greeting", namespace=namespace), data={"hello": "world"})
    )

    assert made.metadata.uid
    assert (await client.get(core.ConfigMap, "greeting", namespace)).data == {"hello": "world"}
