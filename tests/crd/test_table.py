"""The table against both clusters: all definitions accepted, good objects taken, bad ones refused."""

import asyncio
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from kubewright.api import apiextensions, info_of, to_dict
from kubewright.api.schema import violations
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.crd import check_rules, crds_of, install, schema_of
from kubewright.testing import ControlPlane
from tests.crd.conftest import ABSENT, Cases
from tests.crd.table import TABLE, Case
from tests.kubernetes_versions import MINOR, needs_kubernetes

CRD = apiextensions.CustomResourceDefinition
SERVED = [row for row in TABLE if row.since <= MINOR]
SETS = re.compile(r'x-kubernetes-list-type: set for items of type "(array|object)" is not supported')
"""Kubernetes 1.37 accepts sets of lists and of objects, as earlier releases, but warns of them."""


class _Collected(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


@pytest.fixture(scope="module")
def outcomes(control_plane: ControlPlane) -> Iterator[dict[str, Any]]:
    """The installed definition of each row, or the error; and under "warnings", all warnings of the server."""
    found: dict[str, Any] = {}
    turns = asyncio.Semaphore(4)

    async def install_one(client: Client, row: Case) -> None:
        async with turns:
            try:
                [found[row.name]] = await install(client, row.kind)
            except Exception as error:
                found[row.name] = error

    async def install_all() -> None:
        async with Client.connect(kubeconfig=control_plane.kubeconfig) as client:
            await asyncio.gather(*(install_one(client, row) for row in SERVED))

    async def remove_all() -> None:
        async with Client.connect(kubeconfig=control_plane.kubeconfig) as client:
            for outcome in found.values():
                if isinstance(outcome, CRD):
                    await client.delete(CRD, outcome.metadata.name)

    collected = _Collected()
    logging.getLogger("kubewright.client").addHandler(collected)
    try:
        asyncio.run(install_all())
    finally:
        logging.getLogger("kubewright.client").removeHandler(collected)
    yield found | {"warnings": collected.texts}
    asyncio.run(remove_all())


def spec_of(value: Any) -> dict[str, Any]:
    return {"spec": {} if value is ABSENT else {"value": value}}


@pytest.mark.promise(
    "Definitions from types",
    "Every rule and type has a row: the server takes the definition, takes good objects and refuses bad ones at the"
    " expected path, and so does `validate`.",
)
def test_names_are_unique_and_the_table_is_large() -> None:
    assert len(TABLE) >= 230
    assert len({row.name for row in TABLE}) == len(TABLE)
    assert sum(len(row.good) + len(row.bad) for row in TABLE) >= 600


@pytest.mark.promise("Definitions from types", "The server warns of no definition.")
def test_the_server_warned_of_nothing(outcomes: dict[str, Any]) -> None:
    assert [one for one in outcomes["warnings"] if not SETS.search(one)] == []


@pytest.mark.promise(
    "Definitions from types",
    "Every rule and type has a row: the server takes the definition, takes good objects and refuses bad ones at the"
    " expected path, and so does `validate`.",
)
@pytest.mark.promise("CEL", "`kw.validate(obj)` evaluates CEL rules, and names the fields that the server names.")
@pytest.mark.parametrize(
    "row", [pytest.param(row, marks=needs_kubernetes(row.since, "its formats"), id=row.name) for row in TABLE]
)
async def test_the_server_agrees(row: Case, outcomes: dict[str, Any], cases: Cases) -> None:
    crd = outcomes[row.name]
    assert isinstance(crd, CRD), crd
    assert [c.type for c in crd.status.conditions or [] if c.type == "NonStructuralSchema"] == []
    schema = schema_of(row.kind)
    if row.schema is not None:
        assert schema["properties"]["spec"]["properties"]["value"] == row.schema
    for value in row.good:
        assert await cases.refused_paths(row.kind, spec_of(value)) == [], value
        assert violations(schema, spec_of(value)) == []
    for bad in row.bad:
        assert await cases.refused_paths(row.kind, spec_of(bad.value)) == bad.paths, bad.value
        if not row.server_only:
            assert sorted({found.path for found in violations(schema, spec_of(bad.value))}) == (bad.here or bad.paths)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
async def test_the_embedded_cluster_agrees(row: Case, caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster(controllers=False) as cluster, cluster.client() as client:
        cases = Cases(client, "default", caplog)
        async with cases.installed(row.kind):
            for value in row.good:
                assert await cases.refused_paths(row.kind, spec_of(value)) == [], value
            for bad in row.bad:
                assert await cases.refused_paths(row.kind, spec_of(bad.value)) == bad.paths, bad.value


@pytest.mark.promise(
    "Definitions from types",
    "Defaults are those that Python has; unknown members are pruned, open ones kept.",
)
@pytest.mark.parametrize("row", [row for row in TABLE if row.name.startswith("default")], ids=lambda row: row.name)
async def test_the_server_fills_in_the_default_that_python_has(
    row: Case, outcomes: dict[str, Any], cases: Cases
) -> None:
    if row.name == "default of a part":
        made = await cases.create(row.kind, {"spec": {"value": {"name": "a"}}})
        assert made["spec"] == {"value": {"name": "a", "number": 80}}
        return
    made = await cases.create(row.kind, {"spec": {}})
    assert made["spec"] == to_dict(row.kind())["spec"]


@pytest.mark.promise(
    "Definitions from types",
    "Installing changes what differs, waits until it is served, and sends nothing otherwise.",
)
async def test_installing_again_sends_nothing(outcomes: dict[str, Any], client: Client) -> None:
    again = await install(client, *(row.kind for row in SERVED))
    assert {crd.metadata.generation for crd in again} == {1}
    before = {crd.metadata.name: crd.metadata.uid for crd in outcomes.values() if isinstance(crd, CRD)}
    assert {crd.metadata.name: crd.metadata.uid for crd in again} == before
    wanted = {crd.metadata.name: crd.spec.versions for crd in crds_of(*(row.kind for row in SERVED))}
    assert {crd.metadata.name: crd.spec.versions for crd in again} == wanted


def test_every_kind_has_a_name_of_its_own() -> None:
    assert len({info_of(row.kind).plural for row in TABLE}) == len(TABLE)


def test_the_rules_of_every_kind_compile_before_they_are_sent() -> None:
    check_rules(*(row.kind for row in TABLE))
