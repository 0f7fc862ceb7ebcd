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
- `await migrate_storage(client, Foo)` rewrites stored objects to the storage version, and drops old versions from
  `status.storedVersions`. It returns a `StorageMigration`, or raises `MigrationError`.
- `schema_of` returns the structural schema alone; `validate` checks an object against it before it is sent.

A class that has no schema raises TypeError, which names the field. The guide (docs/crds.md) describes the annotations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kubewright.lazy import lazy_exports

if TYPE_CHECKING:
    from kubewright.api import ValidationError, Violation, to_yaml, validate
    from kubewright.api.schema import schema_of
    from kubewright.crd._definition import crd_of, crds_of
    from kubewright.crd._deletion import describe_blockers, objects_with_finalizers
    from kubewright.crd._descriptions import Descriptions
    from kubewright.crd._errors import InstallError
    from kubewright.crd._install import check_change, install
    from kubewright.crd._migration import MigrationError, MigrationMethod, StorageMigration, migrate_storage
    from kubewright.crd._rules import check_rules
    from kubewright.crd._serving import wait_for_definition, wait_until_served

_MODULES = {
    "Descriptions": "_descriptions",
    "InstallError": "_errors",
    "MigrationError": "_migration",
    "MigrationMethod": "_migration",
    "StorageMigration": "_migration",
    "ValidationError": "kubewright.api",
    "Violation": "kubewright.api",
    "check_change": "_install",
    "check_rules": "_rules",
    "crd_of": "_definition",
    "crds_of": "_definition",
    "describe_blockers": "_deletion",
    "install": "_install",
    "migrate_storage": "_migration",
    "objects_with_finalizers": "_deletion",
    "schema_of": "kubewright.api.schema",
    "to_yaml": "kubewright.api",
    "validate": "kubewright.api",
    "wait_for_definition": "_serving",
    "wait_until_served": "_serving",
}

__all__ = [
    "Descriptions",
    "InstallError",
    "MigrationError",
    "MigrationMethod",
    "StorageMigration",
    "ValidationError",
    "Violation",
    "check_change",
    "check_rules",
    "crd_of",
    "crds_of",
    "describe_blockers",
    "install",
    "migrate_storage",
    "objects_with_finalizers",
    "schema_of",
    "to_yaml",
    "validate",
    "wait_for_definition",
    "wait_until_served",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_exports(__name__, _MODULES)


def __dir__() -> list[str]:
    return sorted(__all__)
