"""kubectl prints the same on the embedded cluster and on the real one; see README.md beside this file."""

from __future__ import annotations

import asyncio
import difflib
import fnmatch
import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from kubewright.cluster import Cluster
from kubewright.testing import RealCluster, setup_binaries
from kubewright.testing.binaries import KUBECTL
from tests.cluster.clients.kubectl import HERE, Kubectl, Printed, Section, normalized, sections
from tests.yaml_files import load_yaml

KNOWN: dict[str, list[dict[str, str]]] = load_yaml(HERE / "known_differences.yaml")


@pytest.mark.promise("The embedded cluster", "kubectl prints the same on it as on a real cluster.")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("section", sections(), ids=lambda section: section.name)
async def test_kubectl_prints_the_same_on_both_clusters(
    section: Section, served: Cluster, real: RealCluster, tmp_path: Path
) -> None:
    program = setup_binaries() / KUBECTL
    namespace = f"kubectl-{secrets.token_hex(4)}"
    runners = []
    for name, cluster in (("embedded", served), ("real", real)):
        (tmp_path / name).mkdir()
        runner = Kubectl(program, cluster.kubeconfig(), namespace, tmp_path / name)
        runners.append(runner)
        assert (await runner.run("create", "namespace", namespace)).code == 0
    found = []
    for step in filled(section.steps, namespace):
        embedded, expected = await asyncio.gather(*(runner.step(step) for runner in runners))
        found += differences(section.name, embedded, expected)
    await runners[1].run("delete", "namespace", namespace, "--wait=false")
    assert not found, "\n\n".join(found)


def filled(steps: list[dict[str, Any]], namespace: str) -> list[dict[str, Any]]:
    """The steps, with the namespace's name in place of `$ns`."""
    made: list[dict[str, Any]] = json.loads(json.dumps(steps).replace("$ns", namespace))
    return made


def differences(section: str, embedded: Printed, expected: Printed) -> list[str]:
    """What differs, less what is known to."""
    lines = str(expected).splitlines(), str(embedded).splitlines()
    left: tuple[list[str], list[str]] = lines
    gone = []
    for entry in (entry for entry in KNOWN["steps"] if about(entry, section, embedded.command)):
        shown = fnmatch.filter(left[0], entry["shown"]), fnmatch.filter(left[1], entry["shown"])
        left = [each for each in left[0] if each not in shown[0]], [each for each in left[1] if each not in shown[1]]
        if shown[0] == shown[1]:
            gone.append(f"this difference is gone; remove it from known_differences.yaml: {entry}")
    found = list(difflib.unified_diff(left[0], left[1], "real", "embedded", lineterm=""))
    return gone + ([f"{section}: kubectl {embedded.command}\n" + "\n".join(found)] if found else [])


def about(entry: dict[str, str], section: str, command: str) -> bool:
    return entry["section"] == section and fnmatch.fnmatchcase(command, entry["command"])


@pytest.mark.promise("The embedded cluster", "Where it does not, the reason is written down.")
def test_every_known_difference_has_a_reason_and_a_step() -> None:
    steps = [(section.name, step["kubectl"]) for section in sections() for step in section.steps]
    assert all(entry["reason"] for entry in [*KNOWN["everywhere"], *KNOWN["steps"]])
    assert [entry for entry in KNOWN["steps"] if not any(about(entry, *step) for step in steps)] == []


def test_normalizes_only_what_differs_between_clusters() -> None:
    text = "web-5d9c7b8f6d-x7k2p  1/1  Running  0     12s   10.1.2.3\n"
    assert normalized(text) == "web-HASH-NAME  1/1  Running  0  AGE  IP\n"
    assert normalized("Scaled up replica set web-66b9f77c9 from 0 to 2") == "Scaled up replica set web-HASH from 0 to 2"
    assert normalized('  resourceVersion: "12"\n  generation: 12\n') == "  resourceVersion: RV\n  generation: 12\n"
    assert normalized("+++ /x/MERGED-2456789/apps.v1.Deployment.x.web") == "+++ FILE"
    assert normalized("ReplicaSetUpdated node-1 kube-root-ca.crt") == "ReplicaSetUpdated node-1 kube-root-ca.crt"


def test_the_order_of_managed_fields_is_not_compared() -> None:
    entries = [
        f"  - fieldsV1:\n      f:data: {{}}\n    manager: {name}\n" for name in ("kubectl-edit", "kubectl-patch")
    ]
    one, other = (f"metadata:\n  managedFields:\n{''.join(order)}  name: x\n" for order in (entries, entries[::-1]))
    assert normalized(one) == normalized(other) == one
    assert normalized(one) != normalized(one.replace("kubectl-edit", "kubectl"))
