"""Types from definitions: the way back from a CustomResourceDefinition to classes.

- `read_sources` finds definitions in files, folders and behind URLs; `from_cluster` in a live cluster. Both give the
  kinds that are defined, of `apiextensions.k8s.io/v1` and of the older v1beta1.
- `generate` writes modules of typed models for them, one for each group version, as text by path. The same kinds
  always give the same text. `write` puts them into a folder or a file.
- `Selection` picks kinds by the names that kubectl accepts.

The classes give the same schema again (`kubewright.crd.crd_of`), in the normal form that `normal_schema` makes: what
no type and no rule can say is said word for word by `kw.Schema`. Whatever goes wrong is a `CodegenError`;
a `WrongRequest` when it is in what was asked for.
"""

from __future__ import annotations

from kubewright.codegen._cluster import from_cluster
from kubewright.codegen._definition import KindSource, VersionSource, read_definition
from kubewright.codegen._errors import CodegenError, WrongRequest
from kubewright.codegen._files import write
from kubewright.codegen._generate import generate
from kubewright.codegen._normal import normal_schema
from kubewright.codegen._select import Selection
from kubewright.codegen._sources import read_sources

__all__ = [
    "CodegenError",
    "KindSource",
    "Selection",
    "VersionSource",
    "WrongRequest",
    "from_cluster",
    "generate",
    "normal_schema",
    "read_definition",
    "read_sources",
    "write",
]
