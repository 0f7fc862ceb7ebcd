"""`ApplyRequest`: an object prepared to be applied. The caller's object is never changed."""

from __future__ import annotations

import base64
import copy
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

import msgspec

from kubewright.api import Object, Untyped, info_of, set_controller
from kubewright.api.schema import shape_at
from kubewright.cache import ObjectKey
from kubewright.client.wire import apply_body
from kubewright.controller.fields import digest, projection
from kubewright.diff import ListKeys, diff
from kubewright.redaction import Redacted

__all__ = ["ApplyRequest", "key_for"]

R = TypeVar("R", bound=Object)


class ApplyRequest(Redacted, msgspec.Struct, Generic[R], frozen=True):
    """The object to send, with its owner, its content as plain JSON, and the digest of that."""

    redacted = frozenset({"content", "digest"})

    object: R
    key: ObjectKey
    content: dict[str, Any]
    digest: bytes

    @classmethod
    def prepare(cls, owner: Object | None, obj: R, namespace: str) -> ApplyRequest[R]:
        """Prepares an object. `namespace` is used if neither a namespaced object nor its owner has one.

        Raises ValueError for an object that cannot be applied, OwnerError if the owner cannot own it.
        """
        meta = obj.metadata
        if not meta.name:
            raise ValueError(f"{obj} cannot be applied: metadata.name is required, to find the same object next time")
        if meta.resource_version or meta.uid:
            raise ValueError(
                f"{obj} was read from the server, so applying it would claim every field that others set: "
                "apply a new object with just the fields that you want, or change this one with update"
            )
        desired = copy.copy(obj)
        desired.metadata = msgspec.structs.replace(
            meta,
            namespace=key_for(owner, obj, namespace).namespace,
            owner_references=[*meta.owner_references],
            managed_fields=[],
        )
        if owner is not None:
            set_controller(desired, owner=owner)
        _encode_string_data(desired)
        content = msgspec.json.decode(apply_body(desired), type=dict[str, Any])
        return cls(object=desired, key=ObjectKey.of(desired), content=content, digest=digest(content))

    def absent(self, paths: Sequence[str]) -> list[str]:
        """Returns the paths (`spec.replicas`) that are not requested. Raises TypeError for an unknown field."""
        if isinstance(paths, str):
            raise TypeError(f"release must be a list of paths: release=[{paths!r}]")
        return [path for path in paths if not self._has(path)]

    def _has(self, path: str) -> bool:
        kind = type(self.object)
        if "[" in path:
            raise TypeError(f"release: {path} is inside a list; a list can only be released as a whole")
        if not issubclass(kind, Untyped):
            shape_at(kind, f".{path}", "release:")
        value: Any = self.content
        for name in path.split("."):
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
        return True

    def stored_in(self, raw: bytes) -> bytes:
        """Returns the digest of an object at the requested paths."""
        content = msgspec.json.decode(raw)
        return digest(projection(content, self.content, ListKeys(type(self.object))))

    def differing(self, raw: bytes) -> tuple[str, ...]:
        """Returns the paths (`spec.replicas`) at which an object has another value than is requested."""
        list_keys = ListKeys(type(self.object))
        stored = projection(msgspec.json.decode(raw), self.content, list_keys)
        operations = diff(list_keys, stored, stored, self.content)
        return tuple(dict.fromkeys(operation["path"].strip("/").replace("/", ".") for operation in operations))

    def at(self, *, uid: str = "", resource_version: str = "") -> R:
        """Returns the object to send, valid only for the object with that uid and resourceVersion."""
        sent = copy.copy(self.object)
        sent.metadata = msgspec.structs.replace(self.object.metadata, uid=uid, resource_version=resource_version)
        return sent


def key_for(owner: Object | None, obj: Object, namespace: str) -> ObjectKey:
    """Returns the object's key. The namespace is its own, or its owner's, or the given one."""
    key = ObjectKey.of(obj)
    if key.namespace or not info_of(obj).namespaced:
        return key
    return key._replace(namespace=(owner.metadata.namespace if owner is not None else "") or namespace)


def _encode_string_data(obj: Object) -> None:
    """Writes a Secret's `stringData` as `data`.

    The server converts `stringData` into `data` and keeps the ownership of `stringData` only: a dropped key would stay,
    and another client's change of the value would not be seen.
    """
    info = info_of(obj)
    if info.group or info.kind != "Secret":
        return
    if isinstance(obj, Untyped):
        strings = obj.content.get("stringData")
        if isinstance(strings, dict):
            encoded = {name: base64.b64encode(str(value).encode()).decode() for name, value in strings.items()}
            rest = {name: value for name, value in obj.content.items() if name != "stringData"}
            obj.content = rest | {"data": (rest.get("data") or {}) | encoded}
        return
    from kubewright.api.core.v1 import Secret

    if isinstance(obj, Secret) and obj.string_data is not None:
        obj.data = (obj.data or {}) | {name: value.encode() for name, value in obj.string_data.items()}
        obj.string_data = None
