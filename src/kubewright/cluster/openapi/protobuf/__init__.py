"""OpenAPI documents as protobuf, which client-go requests: gnostic's messages in `_v2` and `_v3`, fields in `_wire`."""

from __future__ import annotations

from kubewright.cluster.openapi.protobuf._v2 import definitions_v2, head_v2, paths_v2
from kubewright.cluster.openapi.protobuf._v3 import parts_v3

__all__ = ["definitions_v2", "head_v2", "parts_v3", "paths_v2"]
