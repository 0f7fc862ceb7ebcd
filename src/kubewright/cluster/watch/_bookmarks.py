"""Bookmarks: objects without content that tell a client up to which revision it has seen everything."""

from __future__ import annotations

from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.machinery._resources import JSONObject
from kubewright.cluster.output._format import OutputFormat

__all__ = ["bookmark_object"]

_INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


def bookmark_object(
    state: State, output: OutputFormat, revision: int, *, ends_initial_events: bool = False
) -> JSONObject:
    """Returns the object of a bookmark at a revision, in the form that the client requested."""
    type_ = output.type
    metadata: JSONObject = {"resourceVersion": str(revision)}
    if ends_initial_events:
        metadata["annotations"] = {_INITIAL_EVENTS_END: "true"}
    blank: JSONObject = {"kind": type_.kind, "apiVersion": type_.api_version, "metadata": metadata}
    if output.form == "Table":
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": None,
            "rows": [],
        }
    if output.form:
        return blank | {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{output.version}"}
    return blank if type_.custom else {**state.empty(type_), **blank}
