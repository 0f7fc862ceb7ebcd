"""Reading Kubernetes' protobuf, which kubectl and client-go send for built-in kinds.

`decode(body)` gives the object as JSON, by the names on the wire, with `apiVersion` and `kind`. It says what the bytes
say and no more: Go writes every field that is no pointer, so a `stdin: false` or an empty `name` stands in the result
although nobody set it. What of that counts as absent is for the reader of the Go structs to say (`_typed`), which every
body of a built-in kind goes through.

`ProtobufError` is raised for bytes that are none of this: cut off, of a kind that is not known, or nested too deeply.
Fields whose numbers are not known are skipped, as a server does with what newer clients send.

The layout of the messages comes from the tags of Kubernetes' Go structs (`messages.bin`, written by
`tools/generate_protobuf`) and is compiled on first use.
"""

from __future__ import annotations

from kubewright.cluster.protobuf._bodies import read_protobuf
from kubewright.cluster.protobuf._decode import CONTENT_TYPE, ProtobufError, decode

__all__ = ["CONTENT_TYPE", "ProtobufError", "decode", "read_protobuf"]
