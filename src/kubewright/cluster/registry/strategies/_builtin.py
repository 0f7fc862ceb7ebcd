"""The strategy that built-in kinds share, and those of core kinds: Namespaces, ConfigMaps and Secrets.

`BuiltinStrategy` decodes objects the way Go does. Differences between kinds that are plain facts are in `_behavior`.
Kinds with more rules are subclasses; `_lookup` finds them by group and kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kubewright.cluster.defaults import defaults_of
from kubewright.cluster.machinery._field_errors import FieldError, forbidden, invalid, required
from kubewright.cluster.machinery._go_types import Reader, go_type_of, reader_of
from kubewright.cluster.machinery._resources import JSONObject, ReadProblem, Strategy
from kubewright.cluster.registry.strategies import _behavior
from kubewright.cluster.registry.validation._workloads import key_errors
from kubewright.names import label_problems, path_segment_problems, subdomain_problems

__all__ = ["BuiltinStrategy", "ImmutableDataStrategy", "NamespaceStrategy", "SecretStrategy"]


_ACCOUNT_NAME: Final = "kubernetes.io/service-account.name"


class BuiltinStrategy(Strategy):
    """A built-in kind: read as its Go struct, with the facts of its resource."""

    def __init__(self, api_version: str, kind: str, resource: str) -> None:
        struct = go_type_of(api_version, kind)
        if struct is None:
            raise LookupError(f"no facts about {kind} of {api_version}; run python -m tools.generate_cluster")
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
        self._status_reset = _behavior.STATUS_RESET.get(resource, (("spec",),))

    def read(self, obj: JSONObject, *, problems: list[ReadProblem] | None) -> JSONObject:
        """As Go's decoder would."""
        made: JSONObject = self._reader(obj, "", problems)
        return made

    def default(self, obj: JSONObject) -> None:
        """What the real server fills in."""
        if self._defaults is not None:
            self._defaults(obj)

    def name_problems(self, name: str) -> list[str]:
        """The rule that holds for this kind."""
        if self.resource in _behavior.NAMED_BY_LABEL:
            return label_problems(name)
        return path_segment_problems(name) if self.resource in _behavior.NAMED_FREELY else subdomain_problems(name)

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """A write to the status leaves alone what the kind's status must not touch, in the metadata as well."""
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
        """The values at the paths that this kind can be selected by."""
        return {
            name: _text_at(obj, path) or _behavior.SELECTABLE_DEFAULTS.get(name, "")
            for name, path in self._selectable.items()
        }


def _text_at(obj: Any, path: str) -> str:
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    if obj is None:
        return ""
    return str(obj).lower() if isinstance(obj, bool) else str(obj)


class NamespaceStrategy(BuiltinStrategy):
    """Namespaces: active until they are deleted, then terminating until their finalizers are gone."""

    def default(self, obj: JSONObject) -> None:
        """The label by which namespaces are selected."""
        if name := obj["metadata"].get("name"):
            obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name

    def prepare_create(self, obj: JSONObject) -> None:
        """Active, and held by the controller that empties it."""
        obj["status"] = {"phase": "Active"}
        finalizers = obj["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")

    def prepare_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> None:
        """Only `finalize` changes the finalizers of the spec."""
        super().prepare_update(obj, old, subresource)
        if subresource == "":
            obj["spec"] = {**obj.get("spec", {})}
            obj["spec"].pop("finalizers", None)
            if "finalizers" in old.get("spec", {}):
                obj["spec"]["finalizers"] = old["spec"]["finalizers"]

    def finalizers(self, obj: JSONObject) -> list[str]:
        """Those of the metadata and of the spec."""
        return [*super().finalizers(obj), *(obj.get("spec", {}).get("finalizers") or [])]

    def prepare_delete(self, obj: JSONObject) -> None:
        """Terminating from now on."""
        obj["metadata"].pop("deletionGracePeriodSeconds", None)
        obj["status"] = {**obj.get("status", {}), "phase": "Terminating"}


class ImmutableDataStrategy(BuiltinStrategy):
    """ConfigMaps and Secrets, which can be made immutable."""

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """Keys are names of files."""
        return [error for field in ("data", "binaryData") for error in key_errors(obj.get(field), field)]

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """What is immutable stays so, with its data."""
        errors = [*super().validate_update(obj, old, subresource), *self.validate_create(obj)]
        if old.get("immutable"):
            text = "field is immutable when `immutable` is set"
            if not obj.get("immutable"):
                errors.append(forbidden("immutable", text))
            fields = ("data", "binaryData") if obj["kind"] == "ConfigMap" else ("data",)
            errors += [forbidden(field, text) for field in fields if obj.get(field) != old.get(field)]
        return errors


class SecretStrategy(ImmutableDataStrategy):
    """Secrets: texts become data, and the type stays."""

    def default(self, obj: JSONObject) -> None:
        """Opaque unless it says what it is; `stringData` is only for writing."""
        import base64

        if not obj.get("type"):
            obj["type"] = "Opaque"
        if texts := obj.pop("stringData", None):
            data = obj["data"] = {**(obj.get("data") or {})}
            data.update({name: base64.b64encode(text.encode()).decode() for name, text in texts.items()})

    def validate_create(self, obj: JSONObject) -> list[FieldError]:
        """One that asks for a token says of which service account."""
        errors = super().validate_create(obj)
        annotations = obj["metadata"].get("annotations") or {}
        if obj.get("type") == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT_NAME):
            errors.append(required(f"metadata.annotations[{_ACCOUNT_NAME}]"))
        return errors

    def validate_update(self, obj: JSONObject, old: JSONObject, subresource: str) -> list[FieldError]:
        """The type stays."""
        errors = super().validate_update(obj, old, subresource)
        if obj.get("type") != old.get("type"):
            errors.append(invalid("type", obj.get("type", ""), "field is immutable"))
        return errors
