"""The admission of accounts: an embedded cluster whose pods run answers like a real API server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubewright.api import ObjectMeta, Untyped, core
from kubewright.client import Client, Forbidden, load_config
from kubewright.cluster import Cluster
from kubewright.cluster.processes import Images
from kubewright.cluster.workloads import Workloads
from kubewright.testing import ControlPlane

Pod = Untyped.kind_of("v1", "Pod", plural="pods")
Account = Untyped.kind_of("v1", "ServiceAccount", plural="serviceaccounts")
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
NAMESPACE = "accounts"
ENFORCE = {"kubernetes.io/enforce-mountable-secrets": "true"}
SECRET = {"name": "S", "valueFrom": {"secretKeyRef": {"name": "other", "key": "x"}}}

ACCOUNTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "unmounted": {"automountServiceAccountToken": False},
    "pulling": {"imagePullSecrets": [{"name": "registry"}, {"name": "mirror"}]},
    "strict": {"secrets": [{"name": "mine"}], "imagePullSecrets": [{"name": "registry"}]},
}
SCENARIOS: dict[str, dict[str, Any]] = {
    "token is mounted": {"serviceAccountName": "plain"},
    "token is mounted by init containers": {
        "serviceAccountName": "plain",
        "initContainers": [{"name": "init", "image": "x"}],
    },
    "own mount wins": {
        "serviceAccountName": "plain",
        "volumes": [{"name": "mine", "emptyDir": {}}],
        "containers": [{"name": "c", "image": "x", "volumeMounts": [{"name": "mine", "mountPath": TOKEN}]}],
    },
    "volume of that name is used": {
        "serviceAccountName": "plain",
        "volumes": [{"name": "kube-api-access-mine", "emptyDir": {}}],
    },
    "pod refuses the token": {"serviceAccountName": "plain", "automountServiceAccountToken": False},
    "account refuses the token": {"serviceAccountName": "unmounted"},
    "pod insists on the token": {"serviceAccountName": "unmounted", "automountServiceAccountToken": True},
    "pull secrets of the account": {"serviceAccountName": "pulling"},
    "pull secrets of the pod": {"serviceAccountName": "pulling", "imagePullSecrets": [{"name": "own"}]},
    "missing account": {"serviceAccountName": "nowhere"},
    "deprecated field alone": {"serviceAccount": "nowhere"},
    "listed secret": {"serviceAccountName": "strict", "volumes": [{"name": "v", "secret": {"secretName": "mine"}}]},
    "other secret as a volume": {
        "serviceAccountName": "strict",
        "volumes": [{"name": "v", "secret": {"secretName": "other"}}],
    },
    "other secret as a variable": {
        "serviceAccountName": "strict",
        "containers": [{"name": "c", "image": "x", "env": [SECRET]}],
    },
    "other secret as all variables": {
        "serviceAccountName": "strict",
        "initContainers": [{"name": "init", "image": "x", "envFrom": [{"secretRef": {"name": "other"}}]}],
    },
    "other pull secret": {"serviceAccountName": "strict", "imagePullSecrets": [{"name": "own"}]},
    "mirror pod with an account": {"mirror": True, "serviceAccountName": "plain"},
    "mirror pod with a secret": {"mirror": True, "volumes": [{"name": "v", "secret": {"secretName": "mine"}}]},
    "mirror pod with a token": {
        "mirror": True,
        "volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
    },
}


async def prepare(client: Client) -> None:
    """Creates the namespace and the accounts."""
    await client.create(core.Namespace(metadata=ObjectMeta(name=NAMESPACE)))
    for name, content in ACCOUNTS.items():
        account = Account(content=dict(content))
        account.metadata.name, account.metadata.namespace = name, NAMESPACE
        account.metadata.annotations = ENFORCE if name == "strict" else {}
        await client.create(account)


async def outcome(client: Client, spec: dict[str, Any]) -> Any:
    """Returns what the server makes of a pod: its account, volumes, mounts and pull secrets; or its refusal."""
    spec = {"containers": [{"name": "c", "image": "x"}], "nodeName": "n", **spec}
    pod = Pod()
    pod.metadata.name, pod.metadata.namespace = "web", NAMESPACE
    if spec.pop("mirror", False):
        pod.metadata.annotations = {"kubernetes.io/config.mirror": "x"}
    pod.content["spec"] = spec
    try:
        made = (await client.create(pod, dry_run=True)).content["spec"]
    except Forbidden as error:
        return str(error)
    names = [each["name"] for each in made.get("volumes") or () if each["name"].startswith("kube-api-access-")]
    for generated in made.get("volumes") or ():
        if generated["name"] in names and "projected" in generated:
            assert len(generated["name"]) == len("kube-api-access-") + 5
            generated["name"] = "generated"
    for container in [*(made.get("initContainers") or ()), *made["containers"]]:
        for mount in container.get("volumeMounts") or ():
            if mount["name"] in names and mount["name"] != "kube-api-access-mine":
                mount["name"] = "generated"
    kept = ("serviceAccountName", "serviceAccount", "volumes", "imagePullSecrets", "automountServiceAccountToken")
    containers = [
        (each["name"], each.get("volumeMounts")) for each in (*(made.get("initContainers") or ()), *made["containers"])
    ]
    return {name: made.get(name) for name in kept} | {"mounts": containers}


async def outcomes(client: Client) -> dict[str, Any]:
    await prepare(client)
    found = await asyncio.gather(*(outcome(client, spec) for spec in SCENARIOS.values()))
    return dict(zip(SCENARIOS, found, strict=True))


@pytest.mark.control_plane
@pytest.mark.promise("Pods as processes", "New pods get an account with its token and its pull secrets.")
async def test_accounts_of_pods_are_those_of_a_real_server() -> None:
    with ControlPlane(controllers=True) as real:
        async with Client(load_config(kubeconfig=real.kubeconfig)) as client:
            expected = await outcomes(client)
    async with Cluster(workloads=Workloads(processes=Images())) as cluster:
        found = await outcomes(cluster.client())
    assert {name: value for name, value in found.items() if value != expected[name]} == {}, expected
    refused = [name for name, value in expected.items() if isinstance(value, str)]
    assert len(refused) == 9, refused
