"""The response format that a client negotiated: full objects, metadata, or Tables; single objects or lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from kubewright.cluster._state import State
from kubewright.cluster.conversion._stored import decoded
from kubewright.cluster.conversion._webhook import AsyncConversion
from kubewright.cluster.machinery._calls import Call
from kubewright.cluster.machinery._failures import Failure, not_acceptable, only_accepts
from kubewright.cluster.machinery._resources import JSONObject, ResourceType
from kubewright.cluster.machinery._responses import encode
from kubewright.cluster.output._tables import SCALE_PRINTER, table_columns, table_row
from kubewright.cluster.storage._storage import Entry

__all__ = ["YAML", "OutputFormat", "check_document", "output_format", "wants_yaml"]

YAML: Final = "application/yaml"

_ACCEPTED: Final = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
_STREAMED: Final = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
_WITHOUT_TABLE: Final = frozenset({"approval", "binding", "eviction", "token"})
_PARAMETER: Final = re.compile(r";\s*([a-zA-Z]+)\s*=\s*([^;,\s]+)")


class _Metadata(msgspec.Struct):
    metadata: msgspec.Raw


_metadata_of: Final = msgspec.json.Decoder(_Metadata)


class OutputFormat(msgspec.Struct, frozen=True):
    """A response format. `form` is "" for full objects, `Table` or `PartialObjectMetadata`.

    Equal formats produce equal bytes, which can be shared.
    """

    type: ResourceType
    form: str = ""
    version: str = "v1"
    include: str = "Metadata"
    lists: bool | None = None
    """Whether the requested form is that of a list; None if both are returned."""

    @property
    def content_type(self) -> str:
        """The media type of the response."""
        return "application/json"

    def encode_entry(self, state: State, entry: Entry) -> bytes:
        """Encodes a stored object with apiVersion and kind."""
        self.check_form(of_list=False)
        if self.form == "Table":
            return encode(self.table(state, [decoded(self.type, entry)], {}, first=True))
        if self.form:
            return self._partial(entry)
        if self.type.conversion is None:
            return self._prefix(self.type.kind) + entry.raw[1:]
        return encode(decoded(self.type, entry))

    def encode_item(self, state: State, entry: Entry) -> bytes:
        """Encodes an item of a list: built-in kinds omit apiVersion and kind there."""
        if self.form:
            return self._partial(entry)
        if self.type.custom:
            return self.encode_entry(state, entry)
        if self.type.conversion is None:
            return entry.raw
        obj = decoded(self.type, entry)
        del obj["apiVersion"], obj["kind"]
        return encode(obj)

    @property
    def decodes(self) -> bool:
        """Whether an object must be decoded to encode it in this format."""
        if self.form == "Table" or self.type.conversion is not None:
            return True
        return bool(self.form and self.type.strategy.annotations_of_fields)

    def list_head(self, metadata: JSONObject) -> bytes:
        """Encodes the beginning of a list, up to its items."""
        kind = self.type.list_kind if not self.form else f"{self.form}List"
        if self.type.custom and not self.form:  # Go encodes lists of objects without a struct differently
            metadata = {"continue": "", **metadata}
        return self._prefix(kind) + b'"metadata":' + encode(metadata) + b',"items":'

    def encode_object(self, state: State, obj: JSONObject) -> bytes:
        """Encodes an object that is not stored (a dry run, a Scale)."""
        self.check_form(of_list=False)
        if self.form == "Table":
            return encode(self.table(state, [obj], {}, first=True))
        if self.form:
            return self._prefix(self.form) + b'"metadata":' + encode(self._metadata(obj)) + b"}"
        return encode(obj)

    def table(self, state: State, objects: Iterable[JSONObject], metadata: JSONObject, *, first: bool) -> JSONObject:
        """Returns a Table. Only the first one of a watch has column definitions."""
        now = state.clock.now()
        made: JSONObject = {"kind": "Table", "apiVersion": f"meta.k8s.io/{self.version}", "metadata": dict(metadata)}
        rows = []
        for obj in objects:
            rows.append(self.row(obj, now))
            if not metadata and "resourceVersion" in obj["metadata"]:
                made["metadata"] = {"resourceVersion": obj["metadata"]["resourceVersion"]}
        made["columnDefinitions"] = table_columns(self.type) if first else None
        made["rows"] = rows
        return made

    def row(self, obj: JSONObject, now: datetime) -> JSONObject:
        """Returns the row of an object in a Table."""
        included = None if self.include == "None" else self._included(obj)
        return {"cells": table_row(self.type, obj, now), "object": included}

    def _included(self, obj: JSONObject) -> JSONObject:
        if self.include == "Object":
            return obj
        version = f"meta.k8s.io/{self.version}"
        return {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": self._metadata(obj)}

    def _metadata(self, obj: JSONObject) -> JSONObject:
        """Returns the metadata for a response without the object."""
        metadata: JSONObject = obj["metadata"]
        annotations = metadata.get("annotations") or {}
        if not (hidden := self.type.strategy.annotations_of_fields & annotations.keys()):
            return metadata
        left = {name: value for name, value in annotations.items() if name not in hidden}
        made = {**metadata, "annotations": left}
        if not left:
            del made["annotations"]
        return made

    def _partial(self, entry: Entry) -> bytes:
        metadata = bytes(_metadata_of.decode(entry.raw).metadata)
        if isinstance(self.type.conversion, AsyncConversion):  # the conversion may change labels and annotations
            metadata = encode(decoded(self.type, entry)["metadata"])
        elif self.type.strategy.annotations_of_fields:
            metadata = encode(self._metadata(decoded(self.type, entry)))
        return self._prefix("PartialObjectMetadata") + b'"metadata":' + metadata + b"}"

    def check_form(self, *, of_list: bool) -> None:
        """Raises `Failure` if the client requested the metadata of a list, and this is an object, or vice versa."""
        if self.lists is None or self.lists == of_list:
            return
        kind = self.type.go_name
        if of_list:
            text = f"you requested PartialObjectMetadata, but the requested object is a list (*{kind}List)"
        elif self.type.custom:
            raise Failure(500, "", "content is not a list")
        else:
            text = f"you requested PartialObjectMetadataList, but the requested object is not a list (*{kind})"
        raise Failure(406, "NotAcceptable", text)

    def _prefix(self, kind: str) -> bytes:
        version = f"meta.k8s.io/{self.version}" if self.form else self.type.api_version
        return f'{{"kind":"{kind}","apiVersion":"{version}",'.encode()


def output_format(call: Call) -> OutputFormat:
    """Returns the format that the Accept header requests. Raises `Failure` if the server supports none."""
    accept = call.header("Accept")
    if not accept or accept == "application/json":
        return OutputFormat(call.type)
    type_, of_known_type = _type_of(call), False
    for choice in accept.split(","):
        media_type = choice.partition(";")[0].strip().lower()
        parameters: dict[str, Any] = dict(_PARAMETER.findall(choice))
        form, version = parameters.get("as", ""), parameters.get("v", "v1")
        if media_type not in ("application/json", "application/*", "*/*") and not (
            media_type == YAML and call.verb != "watch"  # watches cannot be streamed as YAML
        ):
            continue
        if not form:
            return OutputFormat(type_)
        of_known_type = True
        if parameters.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
            continue
        if form in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            lists = None if call.verb == "watch" else form.endswith("List")
            return OutputFormat(type_, "PartialObjectMetadata", version, lists=lists)
        if form == "Table" and _has_tables(call):
            return OutputFormat(type_, "Table", version, call.query.get("includeObject", "Metadata"))
    if call.verb == "watch" and wants_yaml(accept):
        raise only_accepts(_STREAMED)
    if of_known_type or call.type.custom:  # custom resources have no routes that reject a media type earlier
        raise only_accepts(_ACCEPTED)
    streamed = f", {_STREAMED}" if call.verb in ("list", "watch") else ""
    raise not_acceptable(f"{_ACCEPTED}{streamed}")


def _type_of(call: Call) -> ResourceType:
    """Returns the type of the response: that of the subresource if it has its own kind, such as Scale."""
    sub = call.type.subresources.get(call.subresource)
    if sub is None or sub.kind in ("", call.type.kind):
        return call.type
    return ResourceType(
        group=sub.group or call.type.group,
        version=sub.version or call.type.version,
        kind=sub.kind,
        plural=sub.name,
        singular=sub.name,
        namespaced=call.type.namespaced,
        printer=SCALE_PRINTER if sub.kind == "Scale" else None,
        go_package="v1" if call.type.custom else "",
    )


def check_document(accept: str) -> None:
    """Raises a 406 if the Accept header of a discovery request only names Tables and other forms of objects."""
    forms = [dict(_PARAMETER.findall(choice)).get("as", "") for choice in accept.split(",")]
    if all(forms):
        raise only_accepts(_ACCEPTED)


def _has_tables(call: Call) -> bool:
    """Returns whether the endpoint supports Tables: reviews, evictions, bindings and tokens do not."""
    if call.subresource in _WITHOUT_TABLE:
        return False
    return "get" in call.type.verbs or "list" in call.type.verbs


def wants_yaml(accept: str) -> bool:
    """Returns whether YAML is the first accepted media type that the server supports."""
    for choice in accept.split(",") if YAML in accept else ():
        match choice.partition(";")[0].strip().lower():
            case "application/yaml":
                return True
            case "application/json" | "application/*" | "*/*":
                return False
    return False
