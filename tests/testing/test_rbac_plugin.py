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


def test_a_run_whose_roles_fit_passes(program: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile("from program import *\nasync def test_it(): await run(*make('fits', verbs=['list']))")
    result = pytester.runpytest_subprocess(*ASYNC_MODE, "--kubewright-rbac")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["operator fits: 2 different calls, which its roles allow; nothing in them is unused"])


def test_a_run_fails_for_what_is_missing_and_for_what_nothing_used(program: str, pytester: pytest.Pytester) -> None:
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
