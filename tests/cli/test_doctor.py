"""`kubewright doctor` on both clusters: what it reports as fine, and as missing."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import kubewright as kw
from kubewright.api import apiextensions, apps, core, meta
from kubewright.cli import run
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import install
from kubewright.deployment import Finding, examine
from kubewright.testing import RealCluster
from kubewright.webhook.configurations import conversion_by

pytestmark = pytest.mark.clusters


@pytest.fixture
def cluster_settings() -> dict[str, Any]:
    """RBAC on the embedded cluster, as on the real one."""
    return {"controllers": False, "rbac": True}


class PatientSpec(kw.Model):
    beds: int = 1


@kw.resource("doctor.example.com/v1")
class Patient(kw.Resource[PatientSpec, None]):
    """A kind of this test."""


class ChangedSpec(kw.Model):
    beds: Annotated[int, kw.Range(1, 2)] = 1


@kw.resource("doctor.example.com/v1", kind="Patient")
class Changed(kw.Resource[ChangedSpec, None]):
    """A later version of the same kind."""


@kw.resource("doctor.example.com/v1", kind="Chart")
class OldChart(kw.Resource[PatientSpec, None]):
    """A kind with two versions."""


@kw.resource("doctor.example.com/v2", storage=True)
class Chart(kw.Resource[ChangedSpec, None]):
    """The stored version."""


operator = kw.Operator("doctor", namespaces=["default", "nowhere-at-all"])


@operator.reconciles(Patient, owns=[apps.Deployment])
async def sync(patient: Patient, ctx: kw.Context[Patient]) -> None: ...


async def found(client: Client, kind: type[Patient] | type[Changed] = Patient) -> list[Finding]:
    return [finding async for finding in examine(client, [operator], [kind])]


@pytest.mark.promise("Projects", "`kubewright doctor` says what a program will miss on a cluster, and what to do.")
async def test_reports_what_is_missing_with_the_fix(client: Client) -> None:
    before = await found(client)
    assert [one.state for one in before] == ["ok", "error", "ok", "warning", "ok", "ok"]
    assert before[0].what.startswith("the API server is v1.36.")
    assert before[1] == Finding("error", "patients.doctor.example.com is not defined", "run `kubewright install`")
    assert before[3].advice == "run `kubectl create namespace nowhere-at-all`"
    assert "this account is allowed to do everything that doctor does" in before[4].what
    where = "in namespaces default, nowhere-at-all"
    assert before[5].what == f"doctor caches Deployment (apps/v1) {where}: whole objects; now 0"
    await install(client, Patient)
    assert (await found(client))[1].state == "ok"
    drifted = (await found(client, Changed))[1]
    assert (drifted.state, drifted.advice) == ("warning", "run `kubewright install`")


@kw.resource("absent.example.com/v1")
class Monitor(kw.Resource[PatientSpec, None]):
    """A kind that no cluster of this test has."""


@pytest.mark.promise("Projects", "`kubewright doctor` says what the caches of a program will hold.")
async def test_reports_what_the_caches_will_hold(client: Client, namespace: str) -> None:
    caching = kw.Operator("caching")
    secrets: kw.Watch[core.Secret] = kw.Watch(core.Secret, referenced_by=lambda patient: patient.metadata.name)

    @caching.reconciles(
        Patient,
        owns=[kw.Owns(Monitor, optional=True), kw.Owns(core.ConfigMap, labels=f"of={namespace}")],
        watches=[secrets],
        reads=[kw.Reads(core.Service, namespaces=["default"])],
    )
    async def sync(patient: Patient, ctx: kw.Context[Patient]) -> None: ...

    for name in ("a", "b"):
        labels = {"of": namespace}
        await client.create(core.ConfigMap(metadata=meta.ObjectMeta(name=name, namespace=namespace, labels=labels)))
    await install(client, Patient)
    lines = {one.what: one for one in [one async for one in examine(client, [caching], [Patient, Monitor])]}
    assert "Monitor (absent.example.com/v1) is not installed; it is optional for caching" in lines
    assert "monitors.absent.example.com is not defined" not in lines
    selected = f"ConfigMap (v1) with labels of={namespace} in all namespaces: whole objects; now 2"
    assert f"caching caches {selected}" in lines
    assert "caching caches Service (v1) in namespace default: whole objects; now 1" in lines
    assert any(line.startswith("caching caches Secret (v1) in all namespaces: metadata only; now ") for line in lines)
    assert all(one.state == "ok" for one in lines.values() if " caches " in one.what)


async def test_warns_of_a_cache_of_every_secret_of_the_cluster(client: Client) -> None:
    caching = kw.Operator("caching")

    @caching.reconciles(Patient, reads=[core.Secret])
    async def sync(patient: Patient, ctx: kw.Context[Patient]) -> None: ...

    [warning] = [one async for one in examine(client, [caching], []) if "caches Secret" in one.what]
    assert warning.state == "warning"
    assert warning.advice.startswith("cache less: Reads(Secret) of controller 'patient', with labels=, namespaces=")


async def test_reports_a_conversion_that_the_cluster_lacks(client: Client) -> None:
    async def finding(converted: set[str]) -> Finding:
        return [one async for one in examine(client, [], [OldChart, Chart], converted=converted)][1]

    name = "charts.doctor.example.com"
    await install(client, OldChart, Chart)
    assert (await finding(set())).state == "ok"
    problem = await finding({name})
    assert problem.state == "error"
    assert problem.what.startswith(f"{name} is not converted in the cluster")
    assert "--install-crds --webhook-url" in problem.advice
    elsewhere = conversion_by(apiextensions.WebhookClientConfig(url="https://doctor.example.com/convert"))
    await install(client, OldChart, Chart, conversions={name: elsewhere})
    assert (await finding({name})).state == "ok"


@pytest.mark.promise("Projects", "`kubewright doctor` says what a program will miss on a cluster, and what to do.")
async def test_reports_what_the_account_is_not_allowed_to_do(cluster: Cluster | RealCluster) -> None:
    async with cluster.client_as("doctors-restricted") as restricted:
        refused = await found(restricted)
    assert refused[1].what == "cannot check whether patients.doctor.example.com is defined"
    missing = [one for one in refused if one.state == "error"]
    assert "this account is not allowed to watch patients.doctor.example.com, required by reconciles(Patient)" in {
        one.what for one in missing
    }


async def test_warns_that_secure_metrics_cannot_work(cluster: Cluster | RealCluster) -> None:
    message = (
        "this account is not allowed to create tokenreviews.authentication.k8s.io and create"
        " subjectaccessreviews.authorization.k8s.io: secure metrics would answer 503"
    )
    async with cluster.client_as("patient") as restricted:
        [warning] = [one for one in await found(restricted) if one.what == message]
        assert (warning.state, "ClusterRole doctor-metrics-auth" in warning.advice) == ("warning", True)
        plain = kw.Operator("doctor", metrics_secure=False)
        assert message not in {one.what async for one in examine(restricted, [plain], [])}


@pytest.mark.promise("Projects", "`kubewright doctor` says what a program will miss on a cluster, and what to do.")
def test_an_unreachable_cluster_is_one_line(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path_factory.mktemp("doctor")
    (folder / "one_kind.py").write_text(
        "import kubewright as kw\n\nclass S(kw.Model):\n    x: int = 1\n\n"
        '@kw.resource("doctor.example.com/v1")\nclass One(kw.Resource[S, None]):\n    """A kind."""\n\n'
        'operator = kw.Operator("one")\n'
    )
    config = folder / "config"
    config.write_text(
        'apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]\n'
        "contexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"
    )
    arguments = [str(folder / "one_kind.py"), "--kubeconfig", str(config)]
    assert run(["doctor", *arguments]) == 1
    captured = capsys.readouterr()
    assert "the API server does not answer" in captured.out
    assert "check that the cluster is running" in captured.out
    for command in ("install", "deploy"):
        assert run([command, *arguments]) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert run(["doctor", *arguments[:1], "--kubeconfig", str(folder / "none")]) == 2
    assert "none" in capsys.readouterr().err
