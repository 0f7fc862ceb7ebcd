"""`import kubewright` is quick because it imports little; these tests fail when something heavy creeps in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "aiohttp",
    "cryptography",
    "yaml",
    "uvloop",
    "click",
    "pytest",
    "hypothesis",
    "prometheus_client",
    "opentelemetry",
    "pydantic",
    "cel_expr_python",
    "re2",
}
GROUPS = "kubewright.api."


def modules_after(code: str) -> set[str]:
    """What a fresh interpreter has imported after that code."""
    program = f"{code}\nimport sys\nprint(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(output.stdout.split())


@pytest.mark.promise("Injected time, randomness and transport", "The heavy libraries are imported on first use.")
@pytest.mark.parametrize(
    "code",
    [
        "import kubewright",
        "import kubewright as kw; kw.Model, kw.Resource, kw.Client, kw.BlockingClient",
        "from kubewright.client import Client, load_config",
        "from kubewright.api import core, apps",
    ],
)
def test_heavy_libraries_wait_until_they_are_used(code: str) -> None:
    assert modules_after(code) & HEAVY == set()


def test_the_package_alone_imports_no_room() -> None:
    ours = {name for name in modules_after("import kubewright") if name.startswith("kubewright.")}
    assert ours == {"kubewright.version"}


def test_the_program_handles_an_interrupt_before_it_imports_more_than_itself() -> None:
    program = "import sys; before = {*sys.modules}; import kubewright.cli; print(*{*sys.modules} - before)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(output.stdout.split()) == {"__future__", "kubewright", "kubewright.cli", "kubewright.version"}


@pytest.mark.promise("Typed objects", "Groups are imported when used, and little memory is taken.")
def test_a_group_is_imported_only_when_it_is_used() -> None:
    assert not {name for name in modules_after("import kubewright.api") if name.endswith((".v1", ".v1beta1"))}
    assert GROUPS + "batch.v1" not in modules_after("from kubewright.api import apps")


def test_an_operator_enters_no_room_that_it_does_not_use() -> None:
    """Webhooks, leader election, exec plugins and the types of core/v1 are half a megabyte each."""
    program = (
        "import kubewright as kw\n"
        "from kubewright.api import core, meta\n"
        "from kubewright.client import ClientConfig\n"
        "import kubewright.events, kubewright.operator.process._run\n"
        "kw.Operator('quiet').running()\n"
        "kw.Client(ClientConfig(server='http://127.0.0.1:1'))._sender\n"
    )
    rooms = (
        "kubewright.webhook",
        "kubewright.election",
        "kubewright.client.credentials._exec",
        "kubewright.api.core.v1",
    )
    modules = modules_after(program)
    assert "kubewright.operator._running" in modules
    assert "kubewright.client._http" in modules
    assert [name for name in sorted(modules) if name.startswith((*rooms, "difflib"))] == []


MOST_MODULES = 95
"""Of Kubewright, after `import foo`. It was 197 before the parts that only a run needs were deferred."""


def test_operator_file_loads_only_what_defines_an_operator() -> None:
    """`kubewright manifests`, tests and every start import the operator's file; running it needs the rest."""
    foo = Path(__file__).parents[1] / "examples" / "foo"
    modules = modules_after(f"import sys; sys.path.insert(0, {str(foo)!r}); import foo")
    ours = sorted(name for name in modules if name.split(".")[0] == "kubewright")
    assert "kubewright.controller.registration" in ours
    assert [
        name for name in ours if name.startswith(("kubewright.client.", "kubewright.events.", "kubewright.yaml"))
    ] == []
    assert len(ours) <= MOST_MODULES, "\n".join(ours)


def test_a_server_loads_neither_validation_nor_cel_before_a_request_needs_them() -> None:
    """They were a third of the time until `kubewright cluster start` was ready."""
    program = (
        "import asyncio, kubewright.cli.local._embedded\n"
        "from kubewright.cluster import Cluster\n"
        "async def main():\n"
        "    async with Cluster(controllers=False) as cluster:\n"
        "        await cluster.serve()\n"
        "asyncio.run(main())"
    )
    deferred = (
        "kubewright.api.core",
        "kubewright.api.cel._c",
        "kubewright.cluster.crds._cel_rules",
        "kubewright.cluster.nodes._fake_node",
        "kubewright.cluster.policies._s",
        "kubewright.cluster.registry.validation._pods",
        "kubewright.cluster.workloads",
        "kubewright.operator",
        "kubewright.scaffold",
        "importlib.resources",
    )
    modules = modules_after(program)
    assert "kubewright.cluster.policies._install" in modules
    assert [name for name in sorted(modules) if name.startswith(deferred)] == []


def test_a_server_loads_cel_in_steps_between_which_other_requests_run() -> None:
    program = """
import asyncio, sys
import kubewright as kw
from kubewright.cluster import Cluster
from kubewright.crd import crd_of

@kw.constrain(kw.Rule("self.size > 0"))
class StepSpec(kw.Model):
    size: int = 1

class StepStatus(kw.Model):
    size: int = 0

@kw.resource("steps.example.com/v1")
class Step(kw.Resource[StepSpec, StepStatus]):
    "A kind with a rule."

def loaded():
    return sum(name.startswith("kubewright.api.cel") for name in sys.modules)

async def count(steps):
    while True:
        last = loaded()
        await asyncio.sleep(0)
        steps.append(loaded() - last)

async def main():
    async with Cluster(controllers=False) as cluster, cluster.client() as client:
        steps = []
        counting = asyncio.create_task(count(steps))
        await client.create(crd_of(Step))
        counting.cancel()
        print(sum(steps), max(steps))

asyncio.run(main())
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    total, most = map(int, output.stdout.split())
    assert total > 20
    assert most <= 8


def test_what_an_operator_starts_with_has_structs_and_no_dataclasses() -> None:
    """A dataclass takes a millisecond to define, a struct a twentieth of that; there were 63 of them."""
    program = (
        "import kubewright as kw, kubewright.operator.process._run, kubewright.client._http\n"
        "kw.Operator('quiet').running()\n"
        "import sys\n"
        "ours = [module for name, module in sys.modules.items() if name.startswith('kubewright')]\n"
        "defined = {thing for module in ours for thing in vars(module).values() if isinstance(thing, type)}\n"
        "print(*sorted(each.__name__ for each in defined if hasattr(each, '__dataclass_fields__')))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert output.stdout.split() == []


@pytest.mark.promise("Typed objects", "Groups are imported when used, and little memory is taken.")
def test_memory_with_the_client_and_one_group_stays_under_50_mb() -> None:
    program = (
        "import kubewright as kw\n"
        "from kubewright.api import apps, decode\n"
        "from kubewright.client import HttpTransport, ClientConfig\n"
        "client = kw.Client(ClientConfig(server='http://127.0.0.1:1'))\n"
        "client._sender\n"
        'decode(apps.Deployment, b\'{"metadata":{"name":"a"}}\')\n'
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(output.stdout) < 50_000  # kilobytes


def test_every_name_of_the_package_can_be_had_and_a_typo_cannot() -> None:
    import kubewright

    for name in kubewright.__all__:
        assert getattr(kubewright, name) is not None
    assert dir(kubewright) == sorted(kubewright.__all__)
    with pytest.raises(AttributeError, match=r"has no attribute 'Operater'\. Did you mean 'Operator'"):
        kubewright.Operater  # type: ignore[attr-defined]  # noqa: B018  # mypy sees it too
