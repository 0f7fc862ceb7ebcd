"""Installs OLM's definitions in a test's cluster."""

from __future__ import annotations

import functools

import pytest

from kubewright.api import apiextensions, from_dict, is_condition_true
from kubewright.client import Client
from kubewright.yaml import load_yaml_documents
from tests.olm.validator import olm_definitions

Definition = apiextensions.CustomResourceDefinition


@functools.cache
def _definitions() -> list[Definition]:
    contents = [load_yaml_documents(file.read_text())[0] for file in olm_definitions()]
    return [from_dict(Definition, {name: content[name] for name in ("metadata", "spec")}) for content in contents]


@pytest.fixture
async def olm(client: Client) -> None:
    """Installs OLM's definitions, but not OLM. The real server keeps them for the next test."""
    definitions = _definitions()
    found = {one.metadata.name for one in await client.list(Definition) if is_condition_true(one.status, "Established")}
    for definition in definitions:
        if definition.metadata.name in found:
            continue
        await client.apply(definition, field_manager="olm", force=True)
        await client.wait_for(
            Definition,
            definition.metadata.name or "",
            lambda found: is_condition_true(found.status, "Established"),
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with OLM's definitions need Go, which downloads the module that has them."""
    for item in items:
        if "olm" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.control_plane)
