"""`VersionedObject`: the object of a write in a requested version. `Reinvocations`: the webhooks to run again."""

from __future__ import annotations

from kubewright.cluster.admission._attributes import Attributes
from kubewright.cluster.conversion._webhook import convert
from kubewright.cluster.machinery._resources import JSONObject, ResourceType

__all__ = ["Reinvocations", "VersionedObject"]


class VersionedObject:
    """The object of a write and its predecessor, in the version that a webhook or policy asks for."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self.type = attributes.type
        self.object = attributes.object
        self.old = attributes.old
        self.changed = False

    async def convert_to(self, type_: ResourceType) -> None:
        """Converts both objects to another version. A Scale is the same in all of them."""
        if type_ is self.type:
            return
        source, self.type = self.type, type_
        if not self.is_resource:
            return
        if self._attributes.old is not None:
            self.old = await convert(self._attributes.old, self._attributes.type, type_)
        if self.object is not None:
            self.object = await convert(self.object, source, type_)

    @property
    def is_resource(self) -> bool:
        """Whether the object is of the resource's own kind, not of a subresource's (`Scale`)."""
        attributes = self._attributes
        return attributes.kind.kind == attributes.type.kind

    def replace(self, obj: JSONObject) -> bool:
        """Replaces the object with a patched one. Returns whether they differ."""
        before = self.object
        if self.is_resource:
            strategy = self.type.strategy
            obj = strategy.read(obj, problems=None)
            obj["apiVersion"], obj["kind"] = self.type.api_version, self.type.kind
            differs = obj != before
            strategy.default(obj)
        else:
            differs = obj != before
        self.object, self.changed = obj, True
        return differs


class Reinvocations:
    """The webhooks or policies that run a second time, by key."""

    def __init__(self) -> None:
        self.last_object: JSONObject | None = None
        self.called: set[str] = set()
        """The keys of those that ran since the last change and ask for reinvocation."""
        self.due: set[str] = set()

    def schedule(self) -> None:
        """Schedules everything that ran before this change of the object."""
        self.due |= self.called
        self.called = set()
