"""Deployed operators work: the process of the Pod has only the roles of its service account."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.api import ObjectMeta, Untyped, admissionregistration, apps, coordination, core, from_dict, rbac
from kubewright.client import ApiError, Client, Forbidden, JsonPatch, MergePatch, load_config
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster
from tests.deploying.pod import PodProcess, pod_of, started
from tests.deploying.records import Record
from tests.patience import until

pytestmark = [pytest.mark.clusters, pytest.mark.timeout(900)]

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True)
class Deployed:
    """An operator in a cluster: the process of its Pod, and a namespace for its objects."""

    cluster: Cluster | RealCluster
    client: Client
    namespace: str
    program: Path
    pod: PodProcess

    async def create(self, sample: str, **spec: Any) -> Untyped:
        """Creates the object in a file of the program."""
        content = yaml.safe_load((self.program / sample).read_text())
        content["metadata"]["namespace"] = self.namespace
        content["spec"] |= spec
        kind = await self.client.kind(content["apiVersion"], content["kind"])
        return await self.client.create(from_dict(kind, content))

    async def until(self, obj: Untyped, check: Callable[[dict[str, Any]], bool]) -> None:
        """Waits until the status of an object fulfills a condition."""
        await self.client.wait_for(
            type(obj), obj.metadata.name, lambda found: check(found.content.get("status") or {}), self.namespace
        )


def is_true(status: dict[str, Any], condition: str) -> bool:
    return any(one["type"] == condition and one["status"] == "True" for one in status.get("conditions", []))


# The jobs


async def guestbook(deployed: Deployed) -> None:
    made = await deployed.create("config/samples/webapp_v1_guestbook.yaml")
    await deployed.until(made, lambda status: is_true(status, "Ready"))


async def foo(deployed: Deployed) -> None:
    made = await deployed.create("example-foo.yaml", replicas=2)
    await deployed.until(made, lambda status: status.get("availableReplicas") == 2)


async def memcached(deployed: Deployed) -> None:
    made = await deployed.create("example-memcached.yaml")
    await deployed.until(made, lambda status: is_true(status, "Available") and len(status.get("nodes", [])) == 3)
    await deployed.client.delete(made)

    async def gone() -> bool:  # with its finalizer
        return not await deployed.client.list(type(made), deployed.namespace)

    await until(gone)
    assert await deployed.client.list(apps.Deployment, deployed.namespace) == []


async def password(deployed: Deployed) -> None:
    """Includes its webhooks. The server trusts the certificate that the operator generated and registered."""
    await reachable(deployed, "password-operator")

    async def created() -> Untyped | None:
        try:
            return await deployed.create("example-password.yaml")
        except ApiError as error:
            if "failed calling webhook" not in str(error):
                raise
            return None  # the server does not know the address yet

    made = await until(created)
    assert made.content["spec"]["disallowRepeat"] is False  # set by a defaulting webhook
    await deployed.until(made, lambda status: status.get("state") == "InSync")
    secret = await deployed.client.get(core.Secret, made.metadata.name, deployed.namespace)
    assert len((secret.data or {})["password"]) == made.content["spec"]["length"]
    with pytest.raises(ApiError, match="number of digits and symbols must be less than total length"):
        await deployed.client.patch(
            type(made), made.metadata.name, MergePatch({"spec": {"digit": 100}}), deployed.namespace
        )


async def reachable(deployed: Deployed, name: str) -> None:
    """Routes the Service of the webhooks to the process, as kube-proxy would on a node.

    kube-apiserver resolves a Service itself, unless its type is ExternalName, which has no separate port.
    """
    port = await deployed.pod.port("webhooks")
    namespace, service = deployed.pod.pod.metadata.namespace, f"{name}-webhook"
    if isinstance(deployed.cluster, Cluster):
        deployed.cluster.resolve_service(namespace or "", service, f"127.0.0.1:{port}")
        return
    outside = {"spec": {"type": "ExternalName", "externalName": "localhost", "clusterIP": None, "clusterIPs": None}}
    await deployed.client.patch(core.Service, service, MergePatch(outside), namespace)
    to_port = JsonPatch([{"op": "replace", "path": "/webhooks/0/clientConfig/service/port", "value": port}])
    await deployed.client.patch(admissionregistration.MutatingWebhookConfiguration, name, to_port)
    await deployed.client.patch(admissionregistration.ValidatingWebhookConfiguration, name, to_port)


# Deploying


async def kubewright(folder: Path, kubeconfig: Path, *arguments: str) -> None:
    """Runs a command as a user does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kubewright", *arguments),
        cwd=folder,
        env=os.environ | {"KUBECONFIG": str(kubeconfig), "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()


async def program_of(job: str, kubeconfig: Path, folder: Path) -> tuple[Path, list[str]]:
    """Returns the folder of a program, and the arguments of `deploy`, of which a project needs none."""
    if job != "guestbook":
        return EXAMPLES / job, [f"{job}.py"]
    project = folder / "guestbook"
    project.mkdir()
    await kubewright(project, kubeconfig, "init", "--domain", "my.domain")
    kind = ("--group", "webapp", "--version", "v1", "--kind", "Guestbook")
    await kubewright(project, kubeconfig, "create", "api", *kind)
    return project, []


async def scraped(client: Client, namespace: str, pod: PodProcess, name: str) -> str:
    """Returns the metrics, read by an account with the deployed role. Checks that other accounts are rejected."""
    assert (await pod.answer("/metrics"))[0] == 401
    assert (await pod.answer("/metrics", "made.up.token"))[0] == 401
    tokens = {}
    for account in ("stranger", "prometheus"):
        await client.create(core.ServiceAccount(metadata=ObjectMeta(name=account, namespace=namespace)))
        tokens[account] = await client.request(
            "POST",
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token",
            body={"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"},
        )
    await client.create(
        rbac.ClusterRoleBinding(
            metadata=ObjectMeta(name=f"{name}-{namespace}"),
            role_ref=rbac.RoleRef(
                api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=f"{name}-metrics-reader"
            ),
            subjects=[rbac.Subject(kind="ServiceAccount", name="prometheus", namespace=namespace)],
        )
    )
    stranger, prometheus = (json.loads(answer)["status"]["token"] for answer in tokens.values())
    assert (await pod.answer("/metrics", stranger))[0] == 403
    text = await pod.page("/metrics", prometheus)  # once the server has processed the binding
    assert (await pod.answer("/readyz"))[0] == 200  # without a token
    assert not [line for line in pod.lines() if stranger in line or prometheus in line]
    return text


@pytest.mark.promise(
    "Watching an operator",
    "A deployed operator serves metrics over HTTPS to accounts with the generated role, and probes to every client.",
)
@pytest.mark.promise(
    "Packaging",
    "The command in the Deployment does its work as the deployed account, with the deployed roles alone.",
)
@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize(
    ("job", "name"),
    [
        (guestbook, "guestbook"),
        (foo, "sample-controller"),
        (password, "password-operator"),
        (memcached, "memcached-operator"),
    ],
    ids=["guestbook", "foo", "password", "memcached"],
)
async def test_operator_works_with_deployed_roles_only(
    job: Callable[[Deployed], Awaitable[None]],
    name: str,
    cluster: Cluster | RealCluster,
    client: Client,
    namespace: str,
    record: Record,
    tmp_path: Path,
) -> None:
    await cluster.serve()
    kubeconfig = Path(cluster.kubeconfig())
    program, targets = await program_of(job.__name__, kubeconfig, tmp_path)
    await kubewright(program, kubeconfig, "deploy", *targets, "--image", "registry.example.com/operator:1.0.0")
    pod = await pod_of(client, await client.get(apps.Deployment, name, f"{name}-system"))
    async with started(client, pod, kubeconfig, image=program, folder=tmp_path) as running:
        await running.ready()
        await job(Deployed(cluster, client, namespace, program, running))
        lease = await client.get(coordination.Lease, name, pod.metadata.namespace)
        assert lease.spec is not None
        assert lease.spec.holder_identity
        assert 'rest_client_requests_total{code="403"' not in await scraped(client, namespace, running, name)

    # The server rejects a request that the roles do not grant. The record contains no other rejection.
    token = (tmp_path / "serviceaccount" / "token").read_text()
    async with Client(load_config(kubeconfig=kubeconfig, token=token)) as account:
        with pytest.raises(Forbidden):
            await account.list(core.Node)
    assert await until(lambda: record.of(running.user, 401, 403)) == {"/api/v1/nodes"}
    assert f"/apis/coordination.k8s.io/v1/namespaces/{name}-system/leases/{name}" in record.of(running.user, 200)
