"""Schemas of the embedded cluster: the structure of the objects of a kind. Pure functions on JSON values, no I/O.

A `Schema` is a node of a shared, immutable tree that is built on first use. There are two builders:

    builtin_schema(api_version, kind) -> Schema | None     # "apps/v1", "Deployment"; None if it is not built in
    custom_schema(open_api_v3_schema, *, preserve_unknown=False) -> Schema     # of a version of a definition (CRD)

`custom_schema` adds apiVersion, kind and metadata itself. Keep the result: one schema for each version of a definition.

Functions on objects (dicts as decoded from JSON):

    prune(schema, obj) -> list[str]             # removes unknown fields in place; returns their paths
    unknown_fields(schema, obj) -> list[str]    # returns the same paths without removing
    strict_errors(schema, obj, text=b"") -> list[str]   # `unknown field "spec.foo"`, `duplicate field "spec.a"`;
                                                # `text` is the request's JSON, for duplicates
    apply_defaults(schema, obj) -> None         # structural defaulting of a custom resource, in place
    strict_decoding_message(errors) -> str      # `strict decoding error: unknown field "a", unknown field "b"`

Field validation: Strict rejects with `strict_decoding_message`, Warn sends each error as a warning, Ignore drops
silently. Built-in kinds and custom resources are pruned alike; `x-kubernetes-preserve-unknown-fields`
and embedded resources are respected.
"""

from __future__ import annotations

from kubewright.cluster.schema._builtin import builtin_schema
from kubewright.cluster.schema._custom import custom_schema
from kubewright.cluster.schema._defaults import apply_defaults
from kubewright.cluster.schema._node import ANYTHING, Schema
from kubewright.cluster.schema._pruning import prune, unknown_fields
from kubewright.cluster.schema._strict import strict_decoding_message, strict_errors
from kubewright.cluster.schema._zero import zero_object

__all__ = [
    "ANYTHING",
    "Schema",
    "apply_defaults",
    "builtin_schema",
    "custom_schema",
    "prune",
    "strict_decoding_message",
    "strict_errors",
    "unknown_fields",
    "zero_object",
]
