"""The code that converts between two versions of a kind, and its tests, as each version of the scaffold writes them.

Code of an earlier version must stay as it is: `kubewright upgrade` compares the user's files with it.
"""

from __future__ import annotations

from typing import Final

from kubewright.scaffold._record import Kind
from kubewright.scaffold._versions import FIRST

__all__ = ["alias_of", "conversion_functions", "conversion_test", "sample_conversion_test"]

_PLAINER: Final = 3
"""The first version with today's docstrings and test names."""


def alias_of(kind: Kind) -> str:
    """Returns the name under which another version of a kind is imported."""
    return f"{kind.kind}{kind.version.capitalize()}"


def conversion_functions(spoke: Kind, hub: Kind, scaffold: int) -> str:
    """Returns the functions that convert between one version and the stored one, in both directions."""
    kind, alias, name = hub.kind, alias_of(spoke), hub.kind.lower()
    there = f"Convert from {spoke.version} to {hub.version}. Metadata is carried over for you."
    back = f"And back. A field that {spoke.version} does not have must not be lost: keep it in an annotation, say."
    if scaffold == FIRST:  # the first version lost the status
        return f'''

@operator.converts({alias}, {kind})
def {name}_from_{spoke.version}(old: {alias}) -> {kind}:
    """A {kind} of {spoke.version} as one of {hub.version}. Metadata is carried over for you."""
    return {kind}(spec=from_dict({kind}Spec, to_dict(old.spec)))


@operator.converts({kind}, {alias})
def {name}_to_{spoke.version}(new: {kind}) -> {alias}:
    """{back}"""
    return {alias}(spec=from_dict({alias}Spec, to_dict(new.spec)))
'''
    if scaffold >= _PLAINER:
        there = f"Convert from {spoke.version} to {hub.version}. Metadata is copied for you."
        back = f"Convert from {hub.version} to {spoke.version}. Keep fields that it lacks, such as in an annotation."
    return f'''

@operator.converts({alias}, {kind})
def {name}_from_{spoke.version}(old: {alias}) -> {kind}:
    """{there}"""
    spec = from_dict({kind}Spec, to_dict(old.spec))
    status = from_dict({kind}Status, to_dict(old.status))
    return {kind}(spec=spec, status=status)


@operator.converts({kind}, {alias})
def {name}_to_{spoke.version}(new: {kind}) -> {alias}:
    """{back}"""
    spec = from_dict({alias}Spec, to_dict(new.spec))
    status = from_dict({alias}Status, to_dict(new.status))
    return {alias}(spec=spec, status=status)
'''


def conversion_test(spoke: Kind, hub: Kind, scaffold: int) -> str:
    """Returns the test that reads an object with the example field in another version."""
    client = "Client" if scaffold == FIRST else "kw.Client"
    name = f"one_of_{spoke.version}_is_the_same_{hub.kind.lower()}"
    if scaffold >= _PLAINER:
        name = f"{hub.kind.lower()}_is_readable_as_{spoke.version}"
    return f"""

async def test_{name}(client: {client}, namespace: str) -> None:
    async with operator.running(client):
        await client.create(named("old", namespace, "bar"))
        found = await client.get({alias_of(spoke)}, "old", namespace)
    assert found.spec.foo == "bar"
"""


def sample_conversion_test(spoke: Kind, scaffold: int) -> str:
    """Returns the test that reads the sample in another version, whatever its fields are."""
    name = "the_sample_can_be_read_in" if scaffold < _PLAINER else "sample_is_readable_as"
    return f"""

async def test_{name}_{spoke.version}(client: kw.Client, namespace: str) -> None:
    async with operator.running(client):
        made = await client.create(sample(namespace))
        found = await client.get({alias_of(spoke)}, made.metadata.name, made.metadata.namespace)
    assert found.metadata.uid == made.metadata.uid
"""
