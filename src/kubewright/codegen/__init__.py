"""Generates typed classes from CustomResourceDefinitions.

- `read_sources` reads definitions from files, folders and URLs, `from_cluster` from a live cluster. Both return the
  defined kinds, of `apiextensions.k8s.io/v1` and of the older v1beta1.
- `generate` returns the source of modules with typed models, one for each group version, by path. The same kinds
  always produce the same source. `write` writes it into a folder or a file.
- `Selection` picks kinds by the names that kubectl accepts.

The classes produce the same schema again (`kubewright.crd.crd_of`), in the normal form of `normal_schema`. `kw.Schema`
contains what no type or constraint can express. Every failure is a `CodegenError`; a `WrongRequest` if the request is
the cause.
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
