"""`VersionTypes`: the resource types of a definition, one for each of its versions."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

from kubewright.cluster._state import State
from kubewright.cluster.crds._conversion import ConversionWebhook, WebhookConversion
from kubewright.cluster.crds._custom import CustomStrategy, SchemaConversion
from kubewright.cluster.machinery._resources import Conversion, JSONObject, ResourceType, Subresource
from kubewright.columns import CustomPrinter

__all__ = ["VersionTypes"]

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


class VersionTypes:
    """Builds the resource types of a definition, which share their strategies and conversion."""

    def __init__(self, state: State, definition: JSONObject) -> None:
        spec = definition["spec"]
        self._definition = definition
        self._stored_version = f"{spec['group']}/{_storage_version(spec)['name']}"
        self._strategies = {
            f"{spec['group']}/{version['name']}": CustomStrategy(version) for version in spec["versions"]
        }
        conversion = spec.get("conversion") or {}
        self._webhook = ConversionWebhook(state, conversion) if conversion.get("strategy") == "Webhook" else None

    def _conversion(self, api_version: str) -> Conversion | None:
        if self._webhook is not None:
            return WebhookConversion(
                self._webhook,
                api_version=api_version,
                kind=self._definition["status"]["acceptedNames"]["kind"],
                stored_version=self._stored_version,
                strategies=self._strategies,
            )
        if not _has_other_schemas(self._definition):
            return None
        stored, shown = self._strategies[self._stored_version], self._strategies[api_version]
        return SchemaConversion(stored, shown, self._stored_version)

    def type_of(self, version: JSONObject) -> ResourceType:
        """Returns the resource type of a version."""
        api_version = f"{self._definition['spec']['group']}/{version['name']}"
        strategy = self._strategies[api_version]
        made = _type_of(self._definition, version, strategy)
        made.conversion, made.stored_version = self._conversion(api_version), self._stored_version
        return made


def _type_of(definition: JSONObject, version: JSONObject, strategy: CustomStrategy) -> ResourceType:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group, name = spec["group"], version["name"]
    warning = f"{group}/{name} {names['kind']} is deprecated"
    return ResourceType(
        group=group,
        version=name,
        kind=names["kind"],
        plural=names["plural"],
        singular=names["singular"],
        namespaced=spec["scope"] == "Namespaced",
        list_kind=names["listKind"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(version.get("subresources") or {}),
        make_strategy=lambda: strategy,
        schema=lambda: strategy.schema,
        printer=CustomPrinter(version.get("additionalPrinterColumns") or ()),
        custom=True,
        verbs=_VERBS,
        storage_version_hash=_storage_hash(definition),
        deprecation_warning=version.get("deprecationWarning") or (warning if version.get("deprecated") else ""),
    )


def _has_other_schemas(definition: JSONObject) -> bool:
    """Returns whether stored objects may have been written with another schema."""
    return len(definition["spec"]["versions"]) > 1 or definition["metadata"].get("generation", 1) > 1


def _storage_version(spec: JSONObject) -> JSONObject:
    return next(each for each in spec["versions"] if each.get("storage"))


def _storage_hash(definition: JSONObject) -> str:
    """Returns the server's hash of the storage version: eight bytes of a digest."""
    spec = definition["spec"]
    name = f"{spec['group']}/{_storage_version(spec)['name']}/{spec['names']['kind']}"
    return base64.b64encode(hashlib.sha256(name.encode()).digest()[:8]).decode()


def _subresources(given: JSONObject) -> dict[str, Subresource]:
    made = {}
    if "status" in given:
        made["status"] = Subresource(name="status")
    if scale := given.get("scale"):
        made["scale"] = Subresource(
            name="scale",
            group="autoscaling",
            version="v1",
            kind="Scale",
            spec_replicas=scale["specReplicasPath"],
            status_replicas=scale["statusReplicasPath"],
            label_selector=scale.get("labelSelectorPath") or "",
        )
    return made
