"""What is sent when an object is applied, made from what the caller wrote; the caller's object is never changed."""

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
from kubewright.controller._projection import digest, projection
from kubewright.diff import ListKeys, diff
from kubewright.redaction import Redacted

__all__ = ["Desired", "key_for"]

R = TypeVar("R", bound=Object)


class Desired(Redacted, msgspec.Struct, Generic[R], frozen=True):
    """An object as it shall be, with its owner, and the paths and the fingerprint of what it asks for."""

    redacted = frozenset({"asked", "digest"})

    object: R
    key: ObjectKey
    asked: dict[str, Any]
    digest: bytes

    @classmethod
    def of(cls, owner: Object | None, obj: R, namespace: str) -> Desired[R]:
        """Prepare an object. `namespace` is for a namespaced object when neither it nor its owner has one.

        Raises ValueError for an object that cannot be applied, OwnerError when the owner cannot own it.
        """
        meta = obj.metadata
        if not meta.name:
            raise ValueError(f"{obj} cannot be applied: apply needs metadata.name, to find the same object next time")
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
        _spell_out_secret(desired)
        asked = msgspec.json.decode(apply_body(desired), type=dict[str, Any])
        return cls(object=desired, key=ObjectKey.of(desired), asked=asked, digest=digest(asked))

    def absent(self, paths: Sequence[str]) -> list[str]:
        """Those of the paths (`spec.replicas`) at which nothing is asked for. TypeError for one that leads nowhere."""
        if isinstance(paths, str):
            raise TypeError(f"release is a list of paths: release=[{paths!r}]")
        return [path for path in paths if not self._asks_for(path)]

    def _asks_for(self, path: str) -> bool:
        kind = type(self.object)
        if "[" in path:
            raise TypeError(f"release: {path} leads into a list; a list is given up as a whole")
        if not issubclass(kind, Untyped):
            shape_at(kind, f".{path}", "release:")
        value: Any = self.asked
        for name in path.split("."):
            if not isinstance(value, dict) or name not in value:
                return False
            value = value[name]
        return True

    def seen_in(self, raw: bytes) -> bytes:
        """The fingerprint of an object where this one asks for something."""
        content = msgspec.json.decode(raw)
        return digest(projection(content, self.asked, ListKeys(type(self.object))))

    def differing(self, raw: bytes) -> tuple[str, ...]:
        """Returns the paths (`spec.replicas`) at which an object has another value than this one asks for."""
        place = ListKeys(type(self.object))
        seen = projection(msgspec.json.decode(raw), self.asked, place)
        operations = diff(place, seen, seen, self.asked)
        return tuple(dict.fromkeys(operation["path"].strip("/").replace("/", ".") for operation in operations))

    def at(self, *, uid: str = "", resource_version: str = "") -> R:
        """The object to send, valid only for the object of that uid and version."""
        sent = copy.copy(self.object)
        sent.metadata = msgspec.structs.replace(self.object.metadata, uid=uid, resource_version=resource_version)
        return sent


def key_for(owner: Object | None, obj: Object, namespace: str) -> ObjectKey:
    """Where an object goes: its own namespace, or else its owner's, or else the given one."""
    key = ObjectKey.of(obj)
    if key.namespace or not info_of(obj).namespaced:
        return key
    return key._replace(namespace=(owner.metadata.namespace if owner is not None else "") or namespace)


def _spell_out_secret(obj: Object) -> None:
    """Write a Secret's `stringData` as `data`.

    The server turns the one into the other and keeps only the ownership of the first: a key that is dropped would stay,
    and somebody else's change of the value would not be seen.
    """
    info = info_of(obj)
    if info.group or info.kind != "Secret":
        return
    if isinstance(obj, Untyped):
        text = obj.content.get("stringData")
        if isinstance(text, dict):
            encoded = {name: base64.b64encode(str(value).encode()).decode() for name, value in text.items()}
            rest = {name: value for name, value in obj.content.items() if name != "stringData"}
            obj.content = rest | {"data": (rest.get("data") or {}) | encoded}
        return
    from kubewright.api.core.v1 import Secret

    if isinstance(obj, Secret) and obj.string_data is not None:
        obj.data = (obj.data or {}) | {name: value.encode() for name, value in obj.string_data.items()}
        obj.string_data = None
