"""The steps of the tutorial, with kubectl on a real API server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from deployment import CONFIG
from postgres_operator.operator import engine, operator
from postgres_operator.simulated import SimulatedEngine
from worlds import MANIFESTS

from kubewright.client import Client

pytestmark = pytest.mark.control_plane

Kubectl = Callable[..., Awaitable[str]]


async def test_steps_of_the_tutorial(kubectl: Kubectl, client: Client, namespace: str, tmp_path: Path) -> None:
    await kubectl("apply", "-k", str(CONFIG / "crd"))
    await kubectl("wait", "--for=condition=Established", "crd/operatorconfigurations.acid.zalan.do")
    await kubectl("apply", "-k", str(CONFIG / "configuration"))
    await kubectl("apply", "-k", str(CONFIG / "default"))
    assert "postgresqls" not in await kubectl("api-resources", "--api-group=acid.zalan.do")
    replace = [engine.replaced_by(SimulatedEngine({}))]
    async with operator.running(client, namespaces=[namespace], replace=replace):
        kinds = await kubectl("api-resources", "--api-group=acid.zalan.do", "--no-headers")
        assert [line.split() for line in kinds.splitlines()] == [
            ["operatorconfigurations", "opconfig", "acid.zalan.do/v1", "true", "OperatorConfiguration"],
            ["postgresqls", "pg", "acid.zalan.do/v1", "true", "postgresql"],
        ]
        for name in ("minimal", "complete"):  # kubectl rejects unknown fields
            await kubectl("-n", namespace, "apply", "-f", str(MANIFESTS / f"{name}.yaml"))
        misspelled = tmp_path / "misspelled.yaml"
        misspelled.write_text((MANIFESTS / "minimal.yaml").read_text().replace("teamId", "teamID"))
        refused = await kubectl("-n", namespace, "apply", "-f", str(misspelled), fails=True)
        assert 'unknown field "spec.teamID"' in refused
        while "Creating" not in (table := await kubectl("-n", namespace, "get", "pg", "acid-minimal-cluster")):
            continue
        header, row = table.splitlines()
        assert header.split() == [
            "NAME",
            "TEAM",
            "VERSION",
            "PODS",
            "VOLUME",
            "CPU-REQUEST",
            "MEMORY-REQUEST",
            "AGE",
            "STATUS",
        ]
        assert row.split()[:5] == ["acid-minimal-cluster", "acid", "17", "2", "1Gi"]
        await kubectl("-n", namespace, "get", "opconfig")
        described = await kubectl("-n", "postgres-operator-system", "get", "opconfig", "-o", "name")
        assert described.split() == ["operatorconfiguration.acid.zalan.do/postgresql-operator-default-configuration"]
        await kubectl("-n", namespace, "delete", "pg", "--all")
    for folder in ("default", "configuration", "crd"):
        await kubectl("delete", "--ignore-not-found", "--wait=false", "-k", str(CONFIG / folder))
    await kubectl("delete", "crd", "postgresqls.acid.zalan.do")
