"""Scripts and an operator with clients that others wrote print and do the same on both clusters."""

from __future__ import annotations

import re
import secrets
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kubewright.api import Untyped, core, meta
from kubewright.client import Client, MergePatch, NotFound
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster
from tests.cluster.clients.kubectl import normalized
from tests.cluster.clients.processes import eventually, finished, running

PROGRAMS: Final = Path(__file__).parent / "programs"


@pytest.mark.promise(
    "The embedded cluster",
    "Scripts with other Python clients print the same on it, and an operator made with kopf does the same.",
)
@pytest.mark.parametrize("program", ["official_client", "lightkube_client"])
async def test_a_script_prints_the_same_on_both_clusters(
    program: str, served: Cluster, real: RealCluster, tmp_path: Path
) -> None:
    printed = {}
    for name, cluster in (("embedded", served), ("real", real)):
        environment = await place(cluster, tmp_path)
        code, output, errors = await finished(sys.executable, PROGRAMS / f"{program}.py", environment=environment)
        assert code == 0, f"on the {name} cluster:\n{output}\n{errors}"
        printed[name] = normalized(output.replace(environment["NAMESPACE"], "$ns")).splitlines()
    assert printed["embedded"] == printed["real"]
    assert len(printed["real"]) > 15


@pytest.mark.promise(
    "The embedded cluster",
    "Scripts with other Python clients print the same on it, and an operator made with kopf does the same.",
)
async def test_a_kopf_operator_does_the_same_on_both_clusters(
    served: Cluster, real: RealCluster, tmp_path: Path
) -> None:
    seen = {}
    for name, cluster in (("embedded", served), ("real", real)):
        environment = await place(cluster, tmp_path)
        namespace = environment["NAMESPACE"]
        client = cluster.client()
        await define_toys(client, f"{namespace}.test")
        command = [sys.executable, "-m", "kopf", "run", "--namespace", namespace, str(PROGRAMS / "kopf_operator.py")]
        async with running(*command, environment=environment):
            lived = await life_of_a_toy(client, namespace)
        seen[name] = [re.sub(r"kopf-[0-9a-z-]+", "kopf", str(each).replace(namespace, "$ns")) for each in lived]
    assert seen["embedded"] == seen["real"]


async def place(cluster: Cluster | RealCluster, home: Path) -> dict[str, str]:
    """A namespace of its own, and the environment that leads a program there."""
    namespace = f"program-{secrets.token_hex(4)}"
    await cluster.client().create(core.Namespace(metadata=meta.ObjectMeta(name=namespace)))
    return {"KUBECONFIG": str(cluster.kubeconfig()), "NAMESPACE": namespace, "HOME": str(home)}


async def define_toys(client: Client, group: str) -> None:
    spec = {"type": "object", "properties": {"color": {"type": "string"}}}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": spec, "status": status}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys", "singular": "toy"},
            "versions": [version | {"subresources": {"status": {}}}],
        },
    }
    await client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=definition)

    async def is_served() -> Any:
        try:
            return await client.request("GET", f"/apis/{group}/v1/toys")
        except NotFound:
            return None

    await eventually(is_served)


async def life_of_a_toy(client: Client, namespace: str) -> list[Any]:
    """Create a Toy, paint it, delete it; what the operator made of that, as far as chance has no part in it."""
    toy = Untyped.kind_of(f"{namespace}.test/v1", "Toy", plural="toys", subresources=frozenset({"status"}))
    await client.create(
        toy(metadata=meta.ObjectMeta(name="car", namespace=namespace), content={"spec": {"color": "red"}})
    )

    async def status(color: str) -> Untyped | None:
        """The Toy, once the operator is done with that color: while it works, it keeps other annotations."""
        found = await client.get(toy, "car", namespace)
        done = list(found.metadata.annotations) == ["kopf.zalando.org/last-handled-configuration"]
        return found if done and found.content.get("status", {}).get("color") == color else None

    made = await eventually(lambda: status("red"))
    seen: list[Any] = [made.metadata.finalizers, made.content["status"]]
    box = await client.get(core.ConfigMap, "car-box", namespace)
    owners = [(owner.kind, owner.name, owner.uid == made.metadata.uid) for owner in box.metadata.owner_references]
    seen += [box.data, box.metadata.labels, owners]

    await client.patch(toy, "car", MergePatch({"spec": {"color": "blue"}}), namespace)
    await eventually(lambda: status("blue"))
    seen.append((await client.get(core.ConfigMap, "car-box", namespace)).data)

    await client.delete(toy, "car", namespace)

    async def gone() -> bool | None:
        names = {item.metadata.name for item in await client.list(core.ConfigMap, namespace)}
        return True if "car-farewell" in names and "car-box" not in names else None

    await eventually(gone)
    events = await client.list(core.Event, namespace, fields="involvedObject.kind=Toy,reason=Boxed")
    seen.append([(event.type, event.message, event.source.component if event.source else None) for event in events])
    return seen
