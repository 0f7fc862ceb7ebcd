"""`Shown`: the object of a write, for those who may change it one after the other. `Memory`: who is asked twice."""

from __future__ import annotations

from kubewright.cluster._converting import convert
from kubewright.cluster._kinds import JSONObject, ResourceType
from kubewright.cluster.admission._attributes import Attributes

__all__ = ["Memory", "Shown"]


class Shown:
    """The object of a write, and what it was, in the version that somebody wants to see."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self.type = attributes.type
        self.object = attributes.object
        self.old = attributes.old
        self.changed = False

    async def turn(self, type_: ResourceType) -> None:
        """Show another version from now on. The Scale of an object is the same in all of them."""
        if type_ is self.type:
            return
        source, self.type = self.type, type_
        if not self.is_whole:
            return
        if self._attributes.old is not None:
            self.old = await convert(self._attributes.old, self._attributes.type, type_)
        if self.object is not None:
            self.object = await convert(self.object, source, type_)

    @property
    def is_whole(self) -> bool:
        """Whether the object is one of the resource itself."""
        attributes = self._attributes
        return attributes.kind.kind == attributes.type.kind

    def put(self, obj: JSONObject) -> bool:
        """Take a patched object in place of the one before. Whether it differs."""
        before = self.object
        if self.is_whole:
            strategy = self.type.strategy
            obj = strategy.read(obj, problems=None)
            obj["apiVersion"], obj["kind"] = self.type.api_version, self.type.kind
            differs = obj != before
            strategy.default(obj)
        else:
            differs = obj != before
        self.object, self.changed = obj, True
        return differs


class Memory:
    """Which webhooks, or policies, are to be asked a second time."""

    def __init__(self) -> None:
        self.last: JSONObject | None = None
        self.asked: set[str] = set()
        self.again: set[str] = set()

    def repeat(self) -> None:
        """The object has changed: those that were asked before want to see it once more."""
        self.again |= self.asked
        self.asked = set()
