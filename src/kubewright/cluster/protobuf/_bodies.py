"""Protobuf as a format of request bodies."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.machinery._resources import JSONObject, ResourceType, UnreadableObject
from kubewright.cluster.protobuf._decode import ProtobufError, UnknownKind, decode

__all__ = ["read_protobuf"]

_TABLE: Final = ("meta.k8s.io/v1", "Table")
_NO_TABLES: Final = (
    "object *v1.Table does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
)


def read_protobuf(body: bytes, type_: ResourceType | None) -> JSONObject:
    """Decodes a request body (a `Decoder`). Raises `UnreadableObject`.

    Of a kind without a protobuf form that is not the resource's, only apiVersion and kind are returned: the server
    rejects it as in any other format.
    """
    try:
        return decode(body)
    except UnknownKind as error:
        if type_ is not None and (type_.custom or type_.kind == error.kind):
            raise UnreadableObject(str(error)) from None
        if type_ is None and (error.api_version, error.kind) == _TABLE:
            raise UnreadableObject(_NO_TABLES) from None
        return {"apiVersion": error.api_version, "kind": error.kind}
    except ProtobufError as error:
        raise UnreadableObject(str(error)) from None
