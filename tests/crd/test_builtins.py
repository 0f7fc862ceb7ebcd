"""Kubernetes' own types inside a spec: the server takes the schema of each of them."""

import importlib
import pkgutil

import pytest

import kubewright.api
from kubewright.api import Object, info_of
from kubewright.client import Client
from kubewright.crd import crd_of
from tests.crd.conftest import kind_of

pytestmark = pytest.mark.clusters

# Its schema contains itself.
IMPOSSIBLE = {"CustomResourceDefinition"}


def builtin_kinds() -> list[type[Object]]:
    kinds = []
    for module in pkgutil.walk_packages(kubewright.api.__path__, "kubewright.api."):
        if module.name.rpartition(".")[2].startswith("v"):
            found = importlib.import_module(module.name)
            kinds += [vars(found)[name] for name in found.__all__ if hasattr(vars(found)[name], "__resource__")]
    return [kind for kind in kinds if kind.__name__ not in IMPOSSIBLE]


@pytest.mark.parametrize("builtin", builtin_kinds(), ids=lambda kind: str(info_of(kind)))
async def test_the_server_takes_the_schema_of_a_builtin_kind(
    builtin: type[Object], client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    made = await client.create(crd_of(kind_of(builtin | None, None)), dry_run=True)
    assert made.metadata.uid
    assert caplog.messages == []
