"""Objects of several versions, converted for API servers: the real one and the embedded one."""

from __future__ import annotations

import asyncio
import json

import pytest

import kubewright as kw
from kubewright.api import Object, ObjectMeta, apiextensions
from kubewright.client import ApiError, Client
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster, setup_binaries
from kubewright.testing.binaries import KUBECTL
from kubewright.webhook import ConversionError
from tests.patience import PATIENCE

pytestmark = pytest.mark.clusters


class BoxSpec(kw.Model):
    width: int
    height: int


@kw.resource("converted.example.com/v1", storage=True)
class Box(kw.Resource[BoxSpec, None]):
    """A box by its sides."""


class OldBoxSpec(kw.Model):
    sides: str
    """Such as 3x4."""


@kw.resource("converted.example.com/v1alpha1", kind="Box")
class OldBox(kw.Resource[OldBoxSpec, None]):
    """A box by a text."""


@pytest.fixture
def operator(namespace: str) -> kw.Operator:
    made = kw.Operator("boxes", namespaces=[namespace])

    @made.converts(OldBox, Box)
    def up(old: OldBox) -> Box:
        width, cross, height = old.spec.sides.partition("x")
        if not (width.isdigit() and cross and height.isdigit()):
            raise ConversionError(f"spec.sides is {old.spec.sides!r}, not such as 3x4")
        return Box(metadata=old.metadata, spec=BoxSpec(width=int(width), height=int(height)))

    @made.converts(Box, OldBox)
    def down(new: Box) -> OldBox:
        return OldBox(metadata=new.metadata, spec=OldBoxSpec(sides=f"{new.spec.width}x{new.spec.height}"))

    return made


@pytest.mark.promise("Webhooks", "Each version is written, read, listed and watched through conversions.")
@pytest.mark.control_plane  # kubectl
async def test_each_version_is_written_read_listed_and_watched(
    operator: kw.Operator, cluster: Cluster | RealCluster, client: Client, namespace: str
) -> None:
    async with operator.running(client):
        for number in range(1, 4):
            old = OldBox(
                metadata=ObjectMeta(name=f"old-{number}", namespace=namespace), spec=OldBoxSpec(sides=f"{number}x9")
            )
            made = await client.create(old)
            assert made.spec.sides == f"{number}x9"
        new = await client.get(Box, "old-2", namespace)
        assert (new.spec.width, new.spec.height) == (2, 9)
        new.spec.width = 7
        new.metadata.annotations["by"] = "v1"
        new = await client.update(new)
        old = await client.get(OldBox, "old-2", namespace)
        assert (old.spec.sides, old.metadata.annotations, old.metadata.uid) == ("7x9", {"by": "v1"}, new.metadata.uid)
        assert [box.spec.sides for box in await client.list(OldBox, namespace)] == ["1x9", "7x9", "3x9"]
        assert [box.spec.width for box in await client.list(Box, namespace)] == [1, 7, 3]

        async def first(kind: type[Object]) -> Object:
            async for event in client.watch(kind, namespace, resource_version=new.metadata.resource_version):
                return event.object
            raise AssertionError("the watch ended")

        await client.create(Box(metadata=ObjectMeta(name="new", namespace=namespace), spec=BoxSpec(width=4, height=4)))
        async with asyncio.timeout(PATIENCE):
            watched = await first(OldBox)
        assert isinstance(watched, OldBox)
        assert (watched.metadata.name, watched.spec.sides) == ("new", "4x4")

        definition = await client.get(apiextensions.CustomResourceDefinition, "boxes.converted.example.com")
        assert definition.spec.conversion is not None
        assert definition.spec.conversion.strategy == "Webhook"

        await cluster.serve()
        for version, spec in (("v1alpha1", {"sides": "7x9"}), ("v1", {"width": 7, "height": 9})):
            printed = await kubectl(cluster, "get", f"boxes.{version}.converted.example.com", "old-2", namespace)
            assert (printed["apiVersion"], printed["spec"]) == (f"converted.example.com/{version}", spec)


async def kubectl(cluster: Cluster | RealCluster, verb: str, kind: str, name: str, namespace: str) -> dict[str, object]:
    program = setup_binaries() / KUBECTL
    arguments = ["--kubeconfig", str(cluster.kubeconfig()), verb, kind, name, "-n", namespace, "-o", "json"]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(str(program), *arguments, stdout=pipe, stderr=pipe)
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    found: dict[str, object] = json.loads(out)
    return found


@pytest.mark.promise(
    "Webhooks",
    "A conversion keeps metadata and unknown fields, converts batches, and its failure names the object.",
)
async def test_failed_conversion_names_the_object(operator: kw.Operator, client: Client, namespace: str) -> None:
    bad = OldBox(metadata=ObjectMeta(name="round", namespace=namespace), spec=OldBoxSpec(sides="round"))
    async with operator.running(client):
        expected = f"Box {namespace}/round cannot be converted from .*: spec.sides is 'round', not such as 3x4"
        with pytest.raises(ApiError, match=expected):
            await client.create(bad)
