"""`python -m tests.cluster.upstream [SUITE]...`: runs suites of upstream on both clusters, and counts what passes.

docs/embedded-cluster.md records the counts. A run takes half an hour on a quiet machine, and the first one builds the
suites. Skipped specs count as failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubewright.cluster import Cluster
from kubewright.cluster.workloads import Workloads
from kubewright.testing import ControlPlane, SetupError
from kubewright.testing.binaries import download_module, setup_binaries
from tests.cluster.clients.processes import finished
from tests.go_programs import GoProgram

_FOLDER: Final = Path(__file__).parent
_RUNTIME: Final = ("sigs.k8s.io/controller-runtime", "v0.25.2")
_SECONDS: Final = 7200
_MESSAGE: Final = 1000


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a spec ended."""

    state: str = "not run"
    seconds: float = 0
    message: str = ""

    def __str__(self) -> str:
        return f"{self.state} after {self.seconds:.0f} s{': ' if self.message else ''}{self.message[:_MESSAGE]}"


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A suite as a program, and the specs of it that count."""

    program: GoProgram
    folder: str = ""
    """The folder of controller-runtime in which it runs."""
    options: tuple[str, ...] = ()
    counted: str = ""
    """A pattern of the names of its specs. Default: all."""
    controllers: bool = False
    """Whether both clusters run Kubernetes' controllers. There are no nodes."""

    async def states(self, kubeconfig: Path) -> dict[str, Ending]:
        """Runs the suite, and returns how each spec ended."""
        with tempfile.TemporaryDirectory() as home:
            report = Path(home) / "report.json"
            folder = download_module(*_RUNTIME) / "pkg" / self.folder if self.folder else Path(home)
            environment = {"USE_EXISTING_CLUSTER": "true", "KUBECONFIG": str(kubeconfig), "HOME": home}
            options = [each.format(kubeconfig=kubeconfig, kubectl=_kubectl()) for each in self.options]
            command: list[str | Path] = ["/usr/bin/env", "-C", folder, self.program.binary(), *options]
            limits = [f"-test.timeout={_SECONDS}s", f"-ginkgo.timeout={_SECONDS}s"]
            _, output, errors = await finished(
                *command, *limits, f"-ginkgo.json-report={report}", environment=environment, seconds=_SECONDS + 60
            )
            if not report.is_file():
                raise SystemExit(f"{self.program.name} wrote no report:\n{output[-4000:]}\n{errors[-4000:]}")
            return self._counted(json.loads(report.read_text()))

    def _counted(self, reports: list[Mapping[str, list[dict[str, Any]] | None]]) -> dict[str, Ending]:
        found = {}
        for spec in (spec for each in reports for spec in each["SpecReports"] or ()):
            name = " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]])
            if spec["LeafNodeType"] == "It" and re.search(self.counted, name):
                failure = (spec.get("Failure") or {}).get("Message", "")
                found[name] = Ending(state=spec["State"], seconds=spec["RunTime"] / 1e9, message=failure)
        return found


def _controller_runtime(package: str) -> Suite:
    program = GoProgram(
        name=f"controller-runtime-{package.replace('/', '-')}",
        module=_FOLDER / "controller_runtime",
        version=_RUNTIME[1],
        package=f"{_RUNTIME[0]}/pkg/{package}",
        tests=True,
        digest_of_sources=True,
    )
    return Suite(program=program, folder=package)


SUITES: Final = {
    # Left out: specs whose pods serve webhooks and APIs, which neither cluster can run without nodes.
    "api-machinery": Suite(
        program=GoProgram(
            name="kubernetes-api-machinery",
            module=_FOLDER / "apimachinery",
            version="v1.36.3",
            tests=True,
            digest_of_sources=True,
        ),
        options=(
            "--kubeconfig={kubeconfig}",
            "--kubectl-path={kubectl}",
            "--provider=skeleton",
            r"--ginkgo.focus=sig-api-machinery.*\[Conformance\]",
            "--ginkgo.skip=AdmissionWebhook|Aggregator|ConversionWebhook",
        ),
        counted=r"sig-api-machinery.*\[Conformance\]",
        controllers=True,
    ),
    "client": _controller_runtime("client"),
    "cache": _controller_runtime("cache"),
    "controllerutil": _controller_runtime("controller/controllerutil"),
    "manager": _controller_runtime("manager"),
}


def _kubectl() -> Path:
    return setup_binaries() / "kubectl"


async def _on_embedded(suite: Suite) -> dict[str, Ending]:
    workloads = Workloads(nodes=0) if suite.controllers else False
    async with Cluster(workloads=workloads, controllers=suite.controllers, compaction=300) as cluster:
        await cluster.serve()
        return await suite.states(cluster.kubeconfig())


async def _on_real(suite: Suite) -> dict[str, Ending]:
    with ControlPlane(controllers=suite.controllers) as plane:
        return await suite.states(plane.kubeconfig)


CLUSTERS: Final = {"embedded": _on_embedded, "real": _on_real}


async def run(name: str, clusters: Collection[str]) -> bool:
    """Runs a suite on new clusters. Prints the counts, and how every spec ended that does not pass on all of them."""
    endings = {cluster: await CLUSTERS[cluster](SUITES[name]) for cluster in clusters}
    passed = {
        cluster: {spec for spec, end in found.items() if end.state == "passed"} for cluster, found in endings.items()
    }
    specs = sorted(set().union(*endings.values()))
    counts = ", ".join(f"{cluster} {len(passed[cluster])}" for cluster in clusters)
    print(f"{name}: {counts}, of {len(specs)} specs", flush=True)
    for spec in specs:
        if any(spec not in each for each in passed.values()):
            print(f"  {spec}")
            for cluster, found in endings.items():
                print(f"    {cluster}: {found.get(spec, Ending())}")
    return all(passed.get("embedded", set()) >= each for each in passed.values()) if "embedded" in passed else True


def main() -> int:
    """Returns 1 if a spec passes on the real cluster only."""
    parser = argparse.ArgumentParser(description="Run upstream's suites on both clusters.")
    parser.add_argument("suites", nargs="*", help=f"default: {' '.join(SUITES)}")
    parser.add_argument("--cluster", choices=CLUSTERS, help="run on this cluster only")
    arguments = parser.parse_args()
    names = arguments.suites or list(SUITES)
    if unknown := [name for name in names if name not in SUITES]:
        parser.error(f"unknown suite {', '.join(unknown)}; use {', '.join(SUITES)}")
    clusters = [arguments.cluster] if arguments.cluster else list(CLUSTERS)
    try:
        for name in names:
            SUITES[name].program.binary()
        good = [asyncio.run(run(name, clusters)) for name in names]
    except SetupError as error:
        raise SystemExit(f"error: {error}") from None
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
