"""Protobuf as a format of request bodies."""

from __future__ import annotations

from kubewright.cluster.machinery._resources import JSONObject, ResourceType, UnreadableObject
from kubewright.cluster.protobuf._decode import ProtobufError, decode

__all__ = ["read_protobuf"]


def read_protobuf(body: bytes, type_: ResourceType | None) -> JSONObject:
    """Decodes a request body (a `Decoder`). Raises `UnreadableObject`."""
    try:
        return decode(body)
    except ProtobufError as error:
        raise UnreadableObject(str(error)) from None
