"""CustomResourceDefinitions from classes, and into a cluster.

- `crd_of(Foo)` is the definition of a kind, from its class: names, schema, columns, subresources. Several classes are
  several versions of one kind. `crds_of` takes any kinds and gives one definition for each, `to_yaml` the text that
  `kubectl apply` takes. The same classes always give the same text.
- `check_rules(Foo)` compiles the CEL rules of kinds, as the server does before it takes a definition.
- `await install(client, Foo)` creates or updates the definition and waits until the server serves it. Changes that
  would break stored objects are refused with `InstallError`. `await wait_until_served(client, Foo)` only waits, for a
  definition that somebody else installs.
- `schema_of` is the structural schema alone; `validate` checks an object against it before it is sent.

What is written in annotations and in `@resource` is told in the guide. A class that has no schema raises TypeError,
which names the field.
"""

from __future__ import annotations

from kubewright.api import ValidationError, Violation, validate
from kubewright.api._structural import schema_of
from kubewright.crd._definition import crd_of, crds_of
from kubewright.crd._errors import InstallError
from kubewright.crd._install import install
from kubewright.crd._rules import check_rules
from kubewright.crd._serving import wait_until_served
from kubewright.crd._yaml import to_yaml

__all__ = [
    "InstallError",
    "ValidationError",
    "Violation",
    "check_rules",
    "crd_of",
    "crds_of",
    "install",
    "schema_of",
    "to_yaml",
    "validate",
    "wait_until_served",
]
