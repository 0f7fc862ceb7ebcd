"""Kinds and objects for the tests of lists."""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from kubewright.api import ObjectMeta
from kubewright.client import Client
from kubewright.cluster import Cluster
from kubewright.testing import RealCluster

PATH = "lists.console.example.com/gadgets"


class GadgetSpec(kw.Model):
    size: Annotated[int, kw.Range(0, 1_000_000)] = 1
    color: str = "red"


class GadgetStatus(kw.Model):
    phase: str = ""


@kw.resource(
    "lists.console.example.com/v1",
    columns={"Size": ".spec.size", "Color": ".spec.color", "Phase": ".status.phase"},
    short_names=["gdgt"],
)
class Gadget(kw.Resource[GadgetSpec, GadgetStatus]):
    """A gadget of the lists."""


def gadget(name: str, namespace: str, size: int = 1, **labels: str) -> Gadget:
    """Returns a gadget that is not created yet."""
    return Gadget(metadata=ObjectMeta(name=name, namespace=namespace, labels=labels), spec=GadgetSpec(size=size))


async def set_phase(client: Client, made: Gadget, phase: str) -> Gadget:
    """Sets the phase of a gadget, as an operator would."""
    made.status.phase = phase
    return await client.update_status(made)


AnyCluster = Cluster | RealCluster
