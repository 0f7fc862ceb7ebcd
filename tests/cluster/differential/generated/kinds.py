"""The served kinds, each with its sample and its schema."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kubewright.cluster.openapi import recorded_v3
from kubewright.cluster.registry import builtin_types
from tests.cluster.differential.generated.fields import Schemas
from tests.yaml_files import load_yaml

__all__ = ["UNSAMPLED", "Kind", "kinds"]

UNSAMPLED = {
    "v1/bindings": "bindings have scenarios in nodes.yaml",
    "v1/componentstatuses": "they report the servers of a real control plane",
    "apiregistration.k8s.io/v1/apiservices": "a sample would make the real server look for another server",
    "certificates.k8s.io/v1/certificatesigningrequests": "certificates have their own scenarios",
    "networking.k8s.io/v1/servicecidrs": "only the default range is supported; it has scenarios in addresses.yaml",
    "flowcontrol.apiserver.k8s.io/v1/flowschemas": "refused with 501",
    "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": "refused with 501",
}
"""Kinds without generated requests, with the reason."""


@dataclass(frozen=True, eq=False)
class Kind:
    """One version of one resource."""

    key: str
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[str, ...]
    sample: dict[str, Any]
    name: str
    schemas: Schemas

    @property
    def schema(self) -> dict[str, Any]:
        return self.schemas.of_kind(self.group, self.version, self.kind)

    @property
    def collection(self) -> str:
        """The path of its objects, with `$ns`."""
        prefix = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{prefix}/namespaces/$ns/{self.plural}" if self.namespaced else f"{prefix}/{self.plural}"

    @property
    def item(self) -> str:
        """The path of its base object."""
        return f"{self.collection}/{self.name}"

    def object(self, name: str | None = None) -> dict[str, Any]:
        """A valid object. Default name: that of the base object."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        metadata = {"name": name or self.name, "labels": {"a": "b"}, "annotations": {"c": "d"}}
        return {"apiVersion": api_version, "kind": self.kind, "metadata": metadata, **copy.deepcopy(self.sample)}


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds with a sample, in the order of their names."""
    samples = load_yaml(Path(__file__).with_name("samples.yaml"))
    documents: dict[tuple[str, str], Schemas] = {}
    found = []
    for type_ in sorted(builtin_types(), key=lambda type_: (type_.api_version, type_.plural)):
        key = f"{type_.api_version}/{type_.plural}"
        if key not in samples:
            assert key in UNSAMPLED, f"{key} needs an object in samples.yaml"
            continue
        if (place := (type_.group, type_.version)) not in documents:
            root = f"apis/{type_.api_version}" if type_.group else f"api/{type_.version}"
            documents[place] = Schemas(json.loads(recorded_v3(root)))
        sample = dict(samples[key])
        name = sample.pop("name", "base" if type_.namespaced else "$ns-base")
        found.append(
            Kind(
                key,
                type_.group,
                type_.version,
                type_.plural,
                type_.kind,
                type_.namespaced,
                type_.verbs,
                tuple(type_.subresources),
                sample,
                name,
                documents[place],
            )
        )
    return tuple(found)
