"""`pytest --kubewright-rbac`, in pytest runs of its own."""

from __future__ import annotations

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import Client
from kubewright.testing import ControlPlane

ASYNC_MODE = ("-oasyncio_mode=auto", "-oasyncio_default_fixture_loop_scope=function")

PROGRAM = """
import asyncio
import kubewright as kw
from kubewright.api import core

NAMESPACE = {namespace!r}

def make(name, **needs):
    operator = kw.Operator(name, namespaces=[NAMESPACE], leader_elect=False)
    if needs:
        operator.needs(core.Secret, **needs)
    done = asyncio.Event()

    @operator.reconciles(core.ConfigMap)
    async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
        await ctx.client.list(core.Secret, NAMESPACE)
        done.set()

    return operator, done

async def run(operator, done):
    async with operator.running(), asyncio.timeout(60):
        await done.wait()
"""


@pytest.fixture
async def program(
    control_plane: ControlPlane,
    client: Client,
    namespace: str,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """Makes operators that list Secrets for the ConfigMap that there is."""
    monkeypatch.setenv("KUBECONFIG", str(control_plane.kubeconfig))
    await client.create(core.ConfigMap(metadata=ObjectMeta(name="one", namespace=namespace)))
    pytester.makepyfile(program=PROGRAM.format(namespace=namespace))
    return namespace


def test_several_processes_are_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac", "-n", "2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --kubewright-rbac needs all tests in one process: leave out -n"])


def test_matching_roles_pass(program: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("from program import *\nasync def test_it(): await run(*make('fits', verbs=['list']))")
    result = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["operator fits: 2 different calls, which its roles allow; nothing in them is unused"])


@pytest.mark.promise("Roles", "A test run fails for a call that the roles lack, and for a rule that nothing used.")
def test_fails_for_missing_and_unused_permissions(program: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_some="""
        from program import *
        async def test_one(): await run(*make("lacks"))
        async def test_other(): await run(*make("idle", verbs=["list", "delete"]))
        async def test_the_same_program_again(): await run(*make("idle", verbs=["list", "delete"]))
        """
    )
    result = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac")
    result.assert_outcomes(passed=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "operator idle: 2 different calls",
            "  permissions that nothing used (narrow them: verbs=, or leave the declaration out):",
            "    delete secrets  [[]needs(Secret)[]]",
            "operator lacks: 2 different calls",
            "  calls that its roles do not allow (declare them: verbs=, or operator.needs(...)):",
            f"    list secrets in namespace {program}  [[]test_some.py::test_one[]]",
        ],
        consecutive=True,
    )
    chosen = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac", "--kubewright-rbac-operator", "none")
    assert chosen.ret == pytest.ExitCode.OK
    chosen.stdout.fnmatch_lines(["no operator ran"])
    assert pytester.runpytest_subprocess(*ASYNC_MODE).ret == pytest.ExitCode.OK


EMBEDDED = """
import asyncio
import pytest
import kubewright as kw
from kubewright.api import core, meta

@pytest.fixture
def cluster_settings():
    return {"workloads": True}

async def add(cluster, kind, namespace, **spec):
    async with cluster.client() as client:
        await client.create(kind(metadata=meta.ObjectMeta(name="one", namespace=namespace), **spec))
"""


@pytest.fixture
def embedded(pytester: pytest.Pytester) -> None:
    """For programs on embedded clusters with workloads."""
    pytester.makepyfile(embedded=EMBEDDED)


def test_ignores_controllers_of_embedded_cluster(embedded: None, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from embedded import *
        from kubewright.api import batch

        operator, done = kw.Operator("mine"), asyncio.Event()

        @operator.reconciles(batch.Job, verbs=["list", "watch"])
        async def sync(job: batch.Job, ctx: kw.Context[batch.Job]) -> None:
            if job.status and job.status.active:  # by the cluster's own controller
                done.set()

        async def test_it(cluster, cluster_namespace):
            async with cluster.client() as client, operator.running(client), asyncio.timeout(60):
                pod = core.PodSpec(restart_policy="Never", containers=[core.Container(name="a", image="b")])
                spec = batch.JobSpec(template=core.PodTemplateSpec(spec=pod))
                await add(cluster, batch.Job, cluster_namespace, spec=spec)
                await done.wait()
        """
    )
    result = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["operator mine: 1 different calls, which its roles allow; nothing in them is unused"])
    result.stdout.no_fnmatch_line("operator kube-controller-manager*")


def test_permission_used_by_one_run_counts_for_all(embedded: None, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from embedded import *

        operator, done = kw.Operator("mine"), asyncio.Event()

        @operator.reconciles(core.ConfigMap, verbs=["list", "watch"])
        @operator.needs(core.Secret, verbs=["list", "create"])
        async def sync(obj: core.ConfigMap, ctx: kw.Context[core.ConfigMap]) -> None:
            if obj.metadata.name == "one":
                await ctx.client.list(core.Secret, obj.metadata.namespace)
                done.set()

        async def test_one(cluster, cluster_namespace):
            async with cluster.client() as client, operator.running(client), asyncio.timeout(60):
                await add(cluster, core.ConfigMap, cluster_namespace)
                await done.wait()

        async def test_leading(cluster, cluster_namespace):
            options = {"leader_elect": True, "lease_namespace": cluster_namespace}
            async with cluster.client() as client, operator.running(client, **options) as running:
                await running.wait_for_leadership()
        """
    )
    result = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    logged = [line for line in result.outlines if line.startswith(("operator ", "    "))]
    assert [line.partition(":")[0] for line in logged] == ["operator mine", "    create secrets  [needs(Secret)]"]
