"""The strategy that built-in kinds share, and those of core kinds: Namespaces, ConfigMaps and Secrets.

`BuiltinStrategy` decodes objects the way Go does. Differences between kinds that are plain facts are in `_behavior`.
Kinds with more rules are subclasses; `_lookup` finds them by group and kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewright.cluster.defaults import defaults_of
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, required, too_long
from kubewright.cluster.machinery._go_types import Reader, go_type_of, reader_of
from kubewright.cluster.machinery._resources import JSONObject, ReadProblem, Strategy
from kubewright.cluster.registry.strategies import _behavior
from kubewright.cluster.registry.strategies._disabled_fields import drop_disabled_node_fields
from kubewright.cluster.registry.validation._common import key_errors
from kubewright.names import label_problems, path_segment_problems, subdomain_problems

__all__ = ["BuiltinStrategy", "ImmutableDataStrategy", "NamespaceStrategy", "NodeStrategy", "SecretStrategy"]


_MAX_DATA: Final = 1024 * 1024
_NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"


class BuiltinStrategy(Strategy):
    """A built-in kind: decoded like its Go struct, with the behavior of its resource."""

    def __init__(self, api_version: str, kind: str, resource: str) -> None:
        struct = go_type_of(api_version, kind)
        if struct is None:
            raise LookupError(f"no recorded Go type for {kind} of {api_version}; run python -m tools.generate_cluster")
        self._reader: Reader = reader_of(struct)
        self._defaults = defaults_of(api_version.rpartition("/")[0], kind)
        self.resource = resource
        self.has_generation = resource in _behavior.WITH_GENERATION
        self.allows_create_on_update = resource in _behavior.CREATED_BY_UPDATE
        self.allows_unconditional_update = resource not in _behavior.CONDITIONAL_UPDATE
        self.returns_deleted = resource in _behavior.RETURNED_WHEN_DELETED
        self.garbage_collection_default = "Orphan" if resource in _behavior.ORPHANING else "Background"
        self._selectable = _behavior.SELECTABLE.get(resource, {})
        self.selectable = frozenset(self._selectable)
        self.unselectable = _behavior.UNSELECTABLE.get(resource, self.unselectable)
        self._status_reset = _behavior.STATUS_RESET.get(resource, (("spec",),))

    def read(self, obj: JSONObject, *, problems: list[ReadProblem] | None) -> JSONObject:
        """Decodes the object the way Go does."""
        made: JSONObject = self._reader(obj, "", problems)
        return made

    def default(self, obj: JSONObject) -> None:
        """Sets the defaults of the real server."""
        if self._defaults is not None:
            self._defaults(obj)

    def name_problems(self, name: str) -> list[str]:
        """Checks the name by the rule of this kind."""
        if self.resource in _behavior.NAMED_BY_LABEL:
            return label_problems(name)
        if self.resource in _behavior.NAMED_FREELY:
            return path_segment_problems(name)
        found = subdomain_problems(name)
        if self.resource in _behavior.NAMED_BY_BYTES:
            return [problem.replace("253 characters", "253 bytes") for problem in found]
        return found

    def prefix_problems(self, prefix: str) -> list[str]:
        """Checks the prefix of a generated name like a name, except for kinds that do not check it."""
        return [] if self.resource in _behavior.PREFIXED_FREELY else super().prefix_problems(prefix)

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Resets what a write to the status must not change, metadata included."""
        if subresource != "status":
            return
        for path in self._status_reset:
            if path == ("metadata",):
                managed = obj["metadata"].get("managedFields")
                obj["metadata"] = {**old["metadata"]} | ({"managedFields": managed} if managed else {})
            elif path == ("metadata", "labels"):
                obj["metadata"].pop("labels", None)
                if "labels" in old["metadata"]:
                    obj["metadata"]["labels"] = old["metadata"]["labels"]

    def selectable_fields(self, obj: JSONObject) -> Mapping[str, str]:
        """Returns the values of the fields that this kind can be selected by."""
        return {
            name: next(filter(None, (_text_at(obj, path) for path in paths)), "")
            or _behavior.SELECTABLE_DEFAULTS.get(name, "")
            for name, paths in self._selectable.items()
        }


def _text_at(obj: Any, path: str) -> str:
    for part in path.split("."):
        if isinstance(obj, list):
            obj = obj[int(part)] if len(obj) > int(part) else None
        else:
            obj = obj.get(part) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    return str(obj).lower() if isinstance(obj, bool) else str(obj)


class NodeStrategy(BuiltinStrategy):
    """Nodes, which run no pods until they are ready."""

    def prepare_create(self, obj: JSONObject) -> None:
        """Adds the taint that the controller of nodes removes when the node is ready."""
        taints = obj["spec"].get("taints") or []
        if not any(all(each.get(name) == value for name, value in _NOT_READY.items()) for each in taints):
            obj["spec"]["taints"] = [*taints, dict(_NOT_READY)]
        drop_disabled_node_fields(obj)

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Drops fields that the real server does not store any more."""
        super().prepare_update(obj, old, subresource)
        drop_disabled_node_fields(obj)


class NamespaceStrategy(BuiltinStrategy):
    """Namespaces: Active until they are deleted, then Terminating until their finalizers are gone."""

    def default(self, obj: JSONObject) -> None:
        """Sets the label that selects namespaces by name."""
        if name := obj["metadata"].get("name"):
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, obj: JSONObject) -> None:
        """Sets the phase, and the finalizer of the namespace controller."""
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")

    def canonicalize(self, obj: JSONObject) -> None:
        """Sets the label, whose value is a generated name in some cases."""
        self.default(obj)

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Keeps the finalizers of the spec, which only `finalize` changes."""
        super().prepare_update(obj, old, subresource)
        if subresource == "":
            obj["spec"] = {**obj.get("spec", {})}
            obj["spec"].pop("finalizers", None)
            if "finalizers" in old.get("spec", {}):
                obj["spec"]["finalizers"] = old["spec"]["finalizers"]

    def finalizers(self, obj: JSONObject) -> list[str]:
        """Returns the finalizers of metadata and spec."""
        return [*super().finalizers(obj), *(obj.get("spec", {}).get("finalizers") or [])]

    def prepare_delete(self, obj: JSONObject) -> None:
        """Sets the phase to Terminating."""
        obj["metadata"].pop("deletionGracePeriodSeconds", None)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}


class ImmutableDataStrategy(BuiltinStrategy):
    """ConfigMaps and Secrets, which can be immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Validates the keys, which are file names, and the size of all values."""
        errors = [error for field in ("data", "binaryData") for error in key_errors(obj.get(field), field)]
        secret = obj["kind"] == "Secret"
        size = 0 if secret else sum(len((value or "").encode()) for value in (obj.get("data") or {}).values())
        encoded = obj.get("data" if secret else "binaryData") or {}
        size += sum(len(value) // 4 * 3 - value[-2:].count("=") for value in encoded.values() if value)
        # The real server names no field of a ConfigMap.
        return errors if size <= _MAX_DATA else [*errors, too_long("data" if secret else "[]", _MAX_DATA)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects changes of immutable objects."""
        errors = [*super().validate_update(obj, old, subresource), *self.validate_create(obj)]
        if old.get("immutable"):
            text = "field is immutable when `immutable` is set"
            if not obj.get("immutable"):
                errors.append(forbidden("immutable", text))
            fields = ("data", "binaryData") if obj["kind"] == "ConfigMap" else ("data",)
            errors += [forbidden(field, text) for field in fields if obj.get(field) != old.get(field)]
        return errors


class SecretStrategy(ImmutableDataStrategy):
    """Secrets: `stringData` is merged into `data`, and the type is immutable."""

    def default(self, obj: JSONObject) -> None:
        """Sets the default type, and merges the write-only `stringData` into `data`."""
        import base64

        if not obj.get("type"):
            obj["type"] = "Opaque"
        if texts := obj.pop("stringData", None):
            data = obj["data"] = {**(obj.get("data") or {})}
            data.update({name: base64.b64encode((text or "").encode()).decode() for name, text in texts.items()})

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Requires the service account of a token Secret."""
        errors = super().validate_create(obj)
        annotations = obj["metadata"].get("annotations") or {}
        if obj.get("type") == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT_NAME):
            errors.append(required(f"metadata.annotations[{_ACCOUNT_NAME}]"))
        return errors

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """Rejects a change of the type."""
        errors = super().validate_update(obj, old, subresource)
        if obj.get("type") != old.get("type"):
            errors.append(invalid("type", obj.get("type", ""), "field is immutable"))
        return errors
