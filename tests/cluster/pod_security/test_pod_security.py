"""Pod Security admission without a real server; `differential/scenarios/pod-security.yaml` compares the messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.api import core, meta
from kubewright.client import Forbidden, Invalid
from kubewright.cluster import Cluster

PREFIX = "pod-security.kubernetes.io/"


def _pod(namespace: str, *, host_network: bool = False) -> core.Pod:
    return core.Pod(
        metadata=meta.ObjectMeta(name="host" if host_network else "plain", namespace=namespace),
        spec=core.PodSpec(containers=[core.Container(name="main", image="image")], host_network=host_network),
    )


def _namespace(**labels: str) -> core.Namespace:
    named = {f"{PREFIX}{name.replace('_', '-')}": value for name, value in labels.items()}
    return core.Namespace(metadata=meta.ObjectMeta(name="guarded", labels=named))


@pytest.mark.promise(
    "The embedded cluster", "Pods that violate the Pod Security level of their namespace are rejected."
)
async def test_rejects_pods_that_violate_the_enforced_level() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(_namespace(enforce="baseline"))
        await client.create(_pod("guarded"))
        with pytest.raises(Forbidden) as refused:
            await client.create(_pod("guarded", host_network=True))
        assert str(refused.value).endswith('violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)')
        await client.create(_pod("default", host_network=True))


async def test_writes_violations_of_the_audited_level_to_the_audit_log(tmp_path: Path) -> None:
    log = tmp_path / "audit.log"
    async with Cluster(audit_log=log) as cluster:
        client = cluster.client()
        await client.create(_namespace(audit="baseline"))
        await client.create(_pod("guarded", host_network=True))
    assert 'would violate PodSecurity \\"baseline:latest\\": host namespaces (hostNetwork=true)' in log.read_text()


@pytest.mark.parametrize("labels", [{"enforce": "odd"}, {"enforce": "baseline", "enforce_version": "1.30"}])
async def test_rejects_a_namespace_with_an_invalid_level(labels: dict[str, str]) -> None:
    async with Cluster() as cluster:
        with pytest.raises(Invalid, match=PREFIX):
            await cluster.client().create(_namespace(**labels))


async def test_checks_the_annotations_of_seccomp_in_old_versions() -> None:
    async with Cluster() as cluster:
        client = cluster.client()
        await client.create(_namespace(enforce="baseline", enforce_version="v1.18"))
        pod = _pod("guarded")
        pod.metadata.annotations = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
        with pytest.raises(Forbidden) as refused:
            await client.create(pod)
        shown = 'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")'
        assert str(refused.value).endswith(f'violates PodSecurity "baseline:v1.18": {shown}')
