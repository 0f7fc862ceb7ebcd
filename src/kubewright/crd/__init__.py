"""CustomResourceDefinitions: generated from classes, and installed into a cluster.

- `crd_of(Foo)` returns the definition of a kind: names, schema, columns, subresources. Several classes are several
  versions of one kind. `crds_of` takes any number of kinds and returns one definition for each. `to_yaml` writes them
  as YAML for `kubectl apply`. The same classes always produce the same YAML. `Descriptions` says which descriptions
  the schemas have.
- `check_rules(Foo)` compiles the CEL rules of kinds, as the API server does before it accepts a definition.
- `await install(client, Foo)` creates or updates the definition and waits until the API server serves it. It refuses
  changes that would break stored objects with `InstallError`; `check_change` is that check alone.
- `await wait_until_served(client, Foo)` only waits, for a definition that another program installs.
  `wait_for_definition` does the same by name.
- `objects_with_finalizers` lists the objects that keep a definition from being deleted, `describe_blockers` puts them
  into a sentence.
- `schema_of` returns the structural schema alone; `validate` checks an object against it before it is sent.

A class that has no schema raises TypeError, which names the field. The guide (docs/crds.md) describes the annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api import ValidationError as ValidationError
    from kubewright.api import Violation as Violation
    from kubewright.api import validate as validate
    from kubewright.api.schema import schema_of as schema_of
    from kubewright.crd._definition import crd_of as crd_of
    from kubewright.crd._definition import crds_of as crds_of
    from kubewright.crd._deletion import describe_blockers as describe_blockers
    from kubewright.crd._deletion import objects_with_finalizers as objects_with_finalizers
    from kubewright.crd._descriptions import Descriptions as Descriptions
    from kubewright.crd._errors import InstallError as InstallError
    from kubewright.crd._install import check_change as check_change
    from kubewright.crd._install import install as install
    from kubewright.crd._rules import check_rules as check_rules
    from kubewright.crd._serving import wait_for_definition as wait_for_definition
    from kubewright.crd._serving import wait_until_served as wait_until_served
    from kubewright.crd._yaml import to_yaml as to_yaml

_HOMES = {
    "ValidationError": "kubewright.api",
    "Violation": "kubewright.api",
    "validate": "kubewright.api",
    "schema_of": "kubewright.api.schema",
    "crd_of": "kubewright.crd._definition",
    "crds_of": "kubewright.crd._definition",
    "describe_blockers": "kubewright.crd._deletion",
    "objects_with_finalizers": "kubewright.crd._deletion",
    "Descriptions": "kubewright.crd._descriptions",
    "InstallError": "kubewright.crd._errors",
    "check_change": "kubewright.crd._install",
    "install": "kubewright.crd._install",
    "check_rules": "kubewright.crd._rules",
    "wait_for_definition": "kubewright.crd._serving",
    "wait_until_served": "kubewright.crd._serving",
    "to_yaml": "kubewright.crd._yaml",
}

__all__ = [
    "Descriptions",
    "InstallError",
    "ValidationError",
    "Violation",
    "check_change",
    "check_rules",
    "crd_of",
    "crds_of",
    "describe_blockers",
    "install",
    "objects_with_finalizers",
    "schema_of",
    "to_yaml",
    "validate",
    "wait_for_definition",
    "wait_until_served",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
