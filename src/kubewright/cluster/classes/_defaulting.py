"""The admission plugins DefaultStorageClass and DefaultIngressClass."""

from __future__ import annotations

from kubewright.cluster._state import State
from kubewright.cluster.admission import Attributes, Plugin
from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["DefaultIngressClass", "DefaultStorageClass"]


class _ClassDefaulter(Plugin):
    """Sets the class of a new object that names none. Of several default classes, the newest is used."""

    resource: str
    field: str
    annotation: str
    storage: str
    marks: tuple[str, ...]

    def __init__(self, state: State) -> None:
        self._state = state

    def handles(self, attributes: Attributes) -> bool:
        """Returns whether the write creates an object of the kind."""
        created = attributes.operation == "CREATE" and not attributes.subresource
        return created and attributes.type.qualified == self.resource

    def mutate(self, attributes: Attributes) -> None:
        """Sets the class."""
        obj = attributes.object
        assert obj is not None
        if self.annotation in (obj["metadata"].get("annotations") or {}):
            return
        spec: JSONObject = obj.setdefault("spec", {})
        if spec.get(self.field) is None and (name := self._default()) is not None:
            spec[self.field] = name

    def _default(self) -> str | None:
        entries = [entry for entry in self._state.storage.entries(self.storage) if b"is-default-class" in entry.raw]
        found = sorted((entry.decode()["metadata"] for entry in entries), key=lambda each: str(each["name"]))
        marked = [
            each for each in found if any((each.get("annotations") or {}).get(mark) == "true" for mark in self.marks)
        ]
        # The first of the newest: `max` returns the first one.
        return max(marked, key=lambda each: each["creationTimestamp"])["name"] if marked else None


class DefaultStorageClass(_ClassDefaulter):
    """Sets the StorageClass of PersistentVolumeClaims."""

    name = "DefaultStorageClass"
    resource = "persistentvolumeclaims"
    field = "storageClassName"
    annotation = "volume.beta.kubernetes.io/storage-class"
    storage = "storage.k8s.io/storageclasses"
    marks = (
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    )


class DefaultIngressClass(_ClassDefaulter):
    """Sets the IngressClass of Ingresses."""

    name = "DefaultIngressClass"
    resource = "ingresses.networking.k8s.io"
    field = "ingressClassName"
    annotation = "kubernetes.io/ingress.class"
    storage = "networking.k8s.io/ingressclasses"
    marks = ("ingressclass.kubernetes.io/is-default-class",)
