"""kubectl explains and validates custom resources alike on both clusters: it reads the OpenAPI documents."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import Any, Final

import pytest

from kubewright.cluster import Cluster
from kubewright.testing import ControlPlane, setup_binaries
from kubewright.testing.binaries import KUBECTL
from tests.cluster.clients.kubectl import Kubectl
from tests.cluster.openapi.definitions import DEFINITIONS
from tests.cluster.openapi.servers import Server

OLD: Final = "--output=plaintext-openapiv2"
# Of these, descriptions are compared too: they show no field of Kubernetes.
DESCRIBED: Final = (
    "explain foos.spec",
    "explain foos.spec.bars",
    "explain foos.spec.bars --recursive",
    "explain foos.status.bars.quxType",
    f"explain foos.spec.bars {OLD}",
    "explain waldos.spec",
    "explain inners.status --recursive",
    f"explain inners.status --recursive {OLD}",
    "explain nullables.spec",
    f"explain nullables.spec {OLD}",
    "explain defaults.spec --recursive",
    "explain values.spec",
    f"explain values.spec --recursive {OLD}",
    "explain eithers.spec",
    "explain junctors.spec",
    "explain collections.spec --recursive",
    "explain maps.spec --recursive",
    f"explain maps.spec --recursive {OLD}",
    "explain items.spec --api-version=versions.example.com/v1",
    "explain items.spec --api-version=versions.example.com/v2",
    "explain items.spec.nothing",
    "explain items --api-version=versions.example.com/v3",
)
FIELDS: Final = tuple(
    itertools.chain.from_iterable(
        (
            f"explain {each['spec']['names']['plural']}.{each['spec']['group']} {more}"
            for more in ("", "--recursive", OLD)
        )
        for each in DEFINITIONS
    )
)


def foo(**content: Any) -> dict[str, Any]:
    return {"apiVersion": "described.example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, **content}


KNOWN_AND_REQUIRED: Final = foo(spec={"bars": [{"name": "b", "age": "1"}]})
UNKNOWN: Final = foo(spec={"bars": [{"name": "b", "unknown": 1}]})
UNKNOWN_AT_THE_ROOT: Final = foo(more=1)
MISSING: Final = foo(spec={"bars": [{"age": "1"}]})
WRONG: Final = foo(spec={"bars": "none"})
WALDO: Final = {"apiVersion": "preserved.example.com/v1", "kind": "Waldo", "metadata": {"name": "a"}, "free": {"a": 1}}
ENVELOPE: Final = {
    "apiVersion": "embedded.example.com/v1",
    "kind": "Envelope",
    "metadata": {"name": "a"},
    "spec": {
        "free": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, "anything": 1},
        "pruned": {"apiVersion": "v1", "kind": "Pod", "spec": {"a": "1", "unknown": 1}},
    },
}
VALIDATED: Final = {
    "known fields": KNOWN_AND_REQUIRED,
    "an unknown field": UNKNOWN,
    "an unknown field at the root": UNKNOWN_AT_THE_ROOT,
    "a missing field": MISSING,
    "a value of another type": WRONG,
    "fields that are preserved": WALDO,
    "fields of embedded objects": ENVELOPE,
}
COMMANDS: Final = (
    "create --validate=strict --dry-run=client -f -",
    "create --validate=strict --dry-run=server -f -",
    "apply --dry-run=client -f -",
    "apply --dry-run=server --validate=warn -f -",
    "apply --server-side --dry-run=server -f -",
)


@pytest.fixture
def runners(
    embedded: Server, real: Server, embedded_cluster: Cluster, control_plane: ControlPlane, tmp_path: Path
) -> list[Kubectl]:
    """kubectl for the embedded cluster and for the real one. Each has its own cache."""
    program = setup_binaries() / KUBECTL
    made = []
    for name, kubeconfig in (("embedded", embedded_cluster.kubeconfig()), ("real", control_plane.kubeconfig)):
        (tmp_path / name).mkdir()
        made.append(Kubectl(program, kubeconfig, "default", tmp_path / name))
    return made


async def compare(runners: list[Kubectl], command: str, stdin: Any = None, *, only_fields: bool = False) -> list[str]:
    """Runs a command on both clusters. Returns what both printed, if that differs."""
    step = {"kubectl": command, "stdin": stdin, "fields": only_fields}
    ours, theirs = await asyncio.gather(*(runner.step(step) for runner in runners))
    return [] if ours == theirs else [f"{command}: {ours} != {theirs}"]


@pytest.mark.promise("The embedded cluster", "kubectl explains custom resources as on a real cluster.")
async def test_kubectl_explains_custom_resources_alike(runners: list[Kubectl]) -> None:
    found = [await compare(runners, command) for command in DESCRIBED]
    found += [await compare(runners, command, only_fields=True) for command in FIELDS]
    assert list(itertools.chain.from_iterable(found)) == []


@pytest.mark.promise("The embedded cluster", "kubectl validates custom resources as on a real cluster.")
@pytest.mark.parametrize("case", VALIDATED)
async def test_kubectl_validates_custom_resources_alike(case: str, runners: list[Kubectl]) -> None:
    found = [await compare(runners, command, VALIDATED[case]) for command in COMMANDS]
    assert list(itertools.chain.from_iterable(found)) == []
