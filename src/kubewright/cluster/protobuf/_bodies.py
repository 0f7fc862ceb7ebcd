"""Protobuf as one of the formats that the server reads."""

from __future__ import annotations

from kubewright.cluster._kinds import JSONObject, ResourceType, UnreadableObject
from kubewright.cluster.protobuf._decode import ProtobufError, decode

__all__ = ["read_protobuf"]


def read_protobuf(body: bytes, type_: ResourceType | None) -> JSONObject:
    """A `Decoder` of bodies. Raises `UnreadableObject`."""
    try:
        return decode(body)
    except ProtobufError as error:
        raise UnreadableObject(str(error)) from None
