"""OLM's own definitions in the cluster of a test."""

from __future__ import annotations

import functools

import pytest

from kubewright.api import apiextensions, from_dict, is_condition_true
from kubewright.client import Client
from kubewright.olm._read import load_yaml
from tests.olm.validator import olm_definitions

Definition = apiextensions.CustomResourceDefinition


@functools.cache
def _definitions() -> list[Definition]:
    contents = [load_yaml(file.read_text())[0] for file in olm_definitions()]
    return [from_dict(Definition, {name: content[name] for name in ("metadata", "spec")}) for content in contents]


@pytest.fixture
async def olm(client: Client) -> None:
    """The definitions that OLM brings along; OLM itself is not there."""
    for definition in _definitions():
        await client.apply(definition, field_manager="olm", force=True)
        await client.wait_for(
            Definition,
            definition.metadata.name or "",
            lambda found: is_condition_true(found.status, "Established"),
        )
