"""Other releases of kubectl, and Helm, do the same on both clusters."""

from __future__ import annotations

import asyncio
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from kubewright.cluster import Cluster
from kubewright.testing import RealCluster
from tests.cluster.clients.kubectl import Kubectl, normalized
from tests.cluster.clients.kubectl_versions import KUBECTLS
from tests.manifests.helm import BUILD_SECONDS, helm_binary
from tests.patience import PATIENCE

WEB: Final[dict[str, Any]] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "example.com/web:1"}]},
        },
    },
}
WRONG: Final = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "wrong"}, "dat": {}}
SMOKE: Final[list[dict[str, Any]]] = [
    {"kubectl": "apply -f -", "stdin": WEB},
    {"kubectl": "rollout status deployment/web --timeout=60s", "rows": "last"},
    {"kubectl": "get deployment web -o wide"},
    {"kubectl": "get deployment,replicaset -o name"},
    {"kubectl": "diff -f -", "stdin": WEB},
    {"kubectl": "apply --server-side --force-conflicts --field-manager=me -f -", "stdin": WEB},
    {"kubectl": "set image deployment/web web=example.com/web:2"},
    {"kubectl": "rollout status deployment/web --timeout=60s", "rows": "last"},
    {"kubectl": "rollout history deployment/web"},
    {"kubectl": "rollout undo deployment/web"},
    {"kubectl": "scale deployment/web --replicas=2"},
    {"kubectl": "wait --for=condition=Available deployment/web --timeout=60s"},
    {"kubectl": "expose deployment web --port=80"},
    {"kubectl": "get service web -o yaml"},
    {"kubectl": "create configmap settings --from-literal=a=1"},
    {"kubectl": 'patch configmap settings --type=json -p \'[{"op":"add","path":"/data/b","value":"2"}]\''},
    {"kubectl": "label configmap settings x=y"},
    {"kubectl": "get configmap -l x=y -o jsonpath={.items[*].data}"},
    {"kubectl": "explain deployment.spec.strategy", "fields": True},
    {"kubectl": "create -f -", "stdin": WRONG},
    {"kubectl": "auth can-i create pods"},
    {"kubectl": "create token default --duration=10m"},
    {"kubectl": "api-resources --api-group=apps -o wide"},
    {"kubectl": "kustomize $home/overlay"},
    {"kubectl": "apply -k $home/overlay"},
    {"kubectl": "get configmap prefix-base -o jsonpath={.data}"},
    {"kubectl": "delete -k $home/overlay"},
    {"kubectl": "get configmap missing"},
    {"kubectl": "delete deployment web --cascade=foreground"},
    {"kubectl": "get replicaset,deployment"},
]
FILES: Final = {
    "base/kustomization.yaml": "resources: [map.yaml]\n",
    "base/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\ndata: {a: '1'}\n",
    "overlay/kustomization.yaml": "resources: [../base]\nnamePrefix: prefix-\ncommonAnnotations: {b: '2'}\n",
}


@pytest.mark.promise("The embedded cluster", "kubectl 1.32 to 1.37 do the same on it as on a real cluster.")
@pytest.mark.timeout(BUILD_SECONDS)
@pytest.mark.parametrize("release", KUBECTLS)
async def test_kubectl_of_other_releases(release: str, served: Cluster, real: RealCluster, tmp_path: Path) -> None:
    program = KUBECTLS[release]
    if not program.is_built:
        pytest.skip(f"kubectl {release} is not built: make kubectls RELEASES={release}")
    namespace = f"smoke-{secrets.token_hex(4)}"
    runners = []
    for name, cluster in (("embedded", served), ("real", real)):
        home = tmp_path / name
        for path, content in FILES.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_text(content)
        runner = Kubectl(program.binary_for_test(), cluster.kubeconfig(), namespace, home)
        assert (await runner.run("create", "namespace", namespace)).code == 0
        runners.append(runner)
    for step in SMOKE:
        embedded, expected = await asyncio.gather(
            *(runner.step(step | {"kubectl": step["kubectl"].replace("$home", str(runner.home))}) for runner in runners)
        )
        assert (embedded.code, embedded.output, embedded.errors) == (expected.code, expected.output, expected.errors)
    await runners[1].run("delete", "namespace", namespace, "--wait=false")


@pytest.mark.promise("The embedded cluster", "Helm 3 does the same on it as on a real cluster.")
@pytest.mark.timeout(BUILD_SECONDS + 200)
async def test_helm(helm: Path, served: Cluster, real: RealCluster, tmp_path: Path) -> None:
    namespace = f"helm-{secrets.token_hex(4)}"
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: demo\nversion: 1.0.0\n")
    (chart / "values.yaml").write_text("replicas: 1\n")
    (chart / "templates" / "web.yaml").write_text(_chart_template())
    (chart / "templates" / "NOTES.txt").write_text("{{ .Release.Name }} {{ .Release.Revision }}\n")
    commands = [
        f"install demo {chart} --create-namespace --wait --timeout 150s",
        "list --no-headers",
        "get manifest demo",
        f"upgrade demo {chart} --set replicas=2 --wait --timeout 150s",
        f"upgrade demo {chart} --set replicas=nonsense",
        f"upgrade --install demo {chart} --dry-run=server --set replicas=3",
        "history demo",
        "rollback demo 1 --wait --timeout 150s",
        "status demo",
        f"template demo {chart} --validate",
        "uninstall demo --wait --timeout 150s",
        "list --all --no-headers",
        "status demo",
    ]
    printed = []
    for name, cluster in (("embedded", served), ("real", real)):
        home = tmp_path / name
        home.mkdir()
        found = [
            f"$ helm {command}\n{await _helm(helm, cluster.kubeconfig(), namespace, home, command)}"
            for command in commands
        ]
        printed.append([each.replace(str(home), "HOME") for each in found])
        shutil.rmtree(home, ignore_errors=True)
    for embedded, expected in zip(*printed, strict=True):
        assert embedded == expected


@pytest.fixture(scope="module")
def helm() -> Path:
    """Helm, built before the clusters start: a build in the test would stop their event loop for a minute."""
    return helm_binary()


def _chart_template() -> str:
    deployment = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {chart: demo}}\n"
        "spec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: web}}\n"
        "  template:\n    metadata: {labels: {app: web}}\n"
        "    spec: {containers: [{name: web, image: example.com/web}]}\n"
    )
    service = (
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n"
    )
    return f"{deployment}---\n{service}"


async def _helm(program: Path, kubeconfig: Path, namespace: str, home: Path, command: str) -> str:
    """Runs Helm, and returns its exit code and output, without times."""
    process = await asyncio.create_subprocess_exec(
        program,
        *command.split(),
        "--namespace",
        namespace,
        env={"PATH": os.environ["PATH"], "KUBECONFIG": str(kubeconfig), "HOME": str(home), "TZ": "UTC"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(PATIENCE):
            output, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    text = re.sub(r"\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4}", "TIME", output.decode())
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S*( \+0000 UTC)?", "TIME", text)
    # The real server quotes objects with their fields in the order of a Go map.
    text = re.sub(r'Invalid value: "\{.*\}"', "Invalid value: OBJECT", text)
    return f"{process.returncode}\n{normalized(text)}"
