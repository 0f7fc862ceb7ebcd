"""OLM's own definitions in the cluster of a test."""

from __future__ import annotations

import pytest

from kubewright.api import apiextensions, from_dict, is_condition_true
from kubewright.client import Client
from kubewright.olm._read import load_yaml
from tests.olm.validator import olm_definitions

Definition = apiextensions.CustomResourceDefinition


@pytest.fixture
async def olm(client: Client) -> None:
    """The definitions that OLM brings along; OLM itself is not there."""
    for file in olm_definitions():
        [content] = load_yaml(file.read_text())
        content.pop("status", None)
        definition = from_dict(Definition, content)
        await client.apply(definition, field_manager="olm", force=True)
        await client.wait_for(
            Definition,
            definition.metadata.name or "",
            lambda found: is_condition_true(found.status, "Established"),
        )
