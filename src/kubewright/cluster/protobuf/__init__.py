"""Decoding of Kubernetes' protobuf, which kubectl and client-go send for built-in kinds.

`decode(body)` returns the object as JSON, by the field names on the wire, with `apiVersion` and `kind`. It contains
exactly the encoded fields: Go writes every non-pointer field, so the result has a `stdin: false` or an empty `name`
that the client did not set. The reader of Go structs (`_typed`), which decodes every body of a built-in kind, drops
these.

`ProtobufError` is raised for truncated bytes, an unknown kind, and excessive nesting. Unknown field numbers are
skipped, as a server does with fields of newer clients.

The message layout comes from the tags of Kubernetes' Go structs (`messages.bin`, written by `tools/generate_protobuf`)
and is compiled on first use.
"""

from __future__ import annotations

from kubewright.cluster.protobuf._bodies import read_protobuf
from kubewright.cluster.protobuf._decode import CONTENT_TYPE, ProtobufError, decode

__all__ = ["CONTENT_TYPE", "ProtobufError", "decode", "read_protobuf"]
