"""Events: what a controller tells people about an object, shown by `kubectl describe`.

    async with EventRecorder(client, component="sample-controller") as recorder:
        recorder.record(foo, "Synced", "Foo synced successfully")

`record` only puts the event in line; a task writes them one after the other. Recording never waits and never fails:
an event that cannot be written is logged and dropped. The same event again raises the count of the first one instead
of making another.
"""

from kubewright.events._recorder import EventRecorder, EventType

__all__ = ["EventRecorder", "EventType"]
