"""Rules for a ClusterServiceVersion: names, examples, install modes, required fields."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kubewright.olm._install import INSTALL_MODES
from kubewright.olm._names import NAME_RULE, is_name
from kubewright.olm._problems import Level, Problem, problem
from kubewright.olm._read import Bundle
from kubewright.olm._shape import misshapen
from kubewright.olm._versions import is_semver

__all__ = ["check_csv", "provided"]

# OLM completes missing owners and removes superfluous ones.
_TOLERATED: Final = re.compile(r"\s*v?\d+(\.\d+){0,2}([-+][0-9A-Za-z.+-]+)?\s*")
_ANNOTATIONS: Final = {
    name.lower(): name
    for name in (
        "olm.operatorGroup",
        "olm.operatorNamespace",
        "olm.targetNamespaces",
        "olm.providedAPIs",
        "olm.skipRange",
    )
}

Gvk = tuple[str, str, str]


def check_csv(bundle: Bundle) -> Iterator[Problem]:
    """Returns the problems for which OLM and its tools reject a ClusterServiceVersion."""
    found = [path for path, _ in bundle.of_kind("ClusterServiceVersion")]
    if not found:
        yield problem("error", "manifests", "there is no ClusterServiceVersion", "run `kubewright bundle`", check="csv")
        return
    if len(found) > 1:
        yield problem(
            "error", found[1], f"{found[0]} is also a ClusterServiceVersion", "remove one of them", check="csv"
        )
    check = _Check(bundle)
    if wrong := misshapen(bundle.csv):
        yield check.say(wrong[0], wrong[1], "use the type that OLM reads")
        return
    for part in (check.names, check.versions, check.needed, check.modes, check.annotations, check.examples):
        yield from part()


class _Check:
    def __init__(self, bundle: Bundle) -> None:
        self.csv, self.spec, self.file = bundle.csv, bundle.spec, bundle.csv_path
        self.metadata: Mapping[str, Any] = self.csv.get("metadata") or {}

    def say(self, field: str, message: str, advice: str, level: Level = "error") -> Problem:
        return problem(level, self.file, message, advice, field=field, check="csv")

    def names(self) -> Iterator[Problem]:
        named = {"metadata.name": self.metadata.get("name") or ""}
        if replaced := self.spec.get("replaces"):
            named["spec.replaces"] = replaced
        for field, name in named.items():
            if not is_name(name):
                yield self.say(field, f"{name!r} is not a name that OLM can use as a label", NAME_RULE)
        if not str(self.csv.get("apiVersion") or "").rpartition("/")[2]:
            yield self.say("apiVersion", "it is missing", "set operators.coreos.com/v1alpha1")

    def versions(self) -> Iterator[Problem]:
        version, oldest = self.spec.get("version") or "", (self.spec.get("minKubeVersion") or "").strip()
        if version and not _TOLERATED.fullmatch(version):
            yield self.say("spec.version", f"{version!r} is not a semantic version", "use one such as 1.0.0")
        elif version and not is_semver(version):
            yield self.say(
                "spec.version", f"{version!r} is not a full semantic version", "use one such as 1.0.0", "warning"
            )
        if not oldest:
            yield self.say(
                "spec.minKubeVersion", "it is missing", "set it, or every cluster counts as supported", "warning"
            )
        elif not is_semver(self.spec["minKubeVersion"]):
            yield self.say("spec.minKubeVersion", f"{oldest!r} is not a full version", "use one such as 1.29.0")

    def needed(self) -> Iterator[Problem]:
        install = self.spec.get("install") or {}
        details = install.get("spec") or {}
        if not self.spec:
            yield self.say("spec", "it is missing", "run `kubewright bundle`")
            return
        if not self.spec.get("displayName"):
            yield self.say("spec.displayName", "it is missing", "set the name that catalogs show")
        if not install.get("strategy") and not details:
            yield self.say("spec.install", "it is missing", "describe how to install the operator")
        elif not install.get("strategy"):
            yield self.say("spec.install.strategy", "it is missing", "set deployment")
        if details and details.get("deployments") is None:
            yield self.say("spec.install.spec.deployments", "it is missing", "list the Deployments to create")

    def modes(self) -> Iterator[Problem]:
        field, modes = "spec.installModes", self.spec.get("installModes") or []
        if not modes:
            yield self.say(field, "there are none", f"list which of {', '.join(INSTALL_MODES)} are supported")
            return
        kinds = [one.get("type") for one in modes]
        supported = {one.get("type") for one in modes if one.get("supported")}
        if not supported:
            yield self.say(field, "none is supported", "support at least one")
        for kind in sorted({str(kind) for kind in kinds if kinds.count(kind) > 1}):
            yield self.say(field, f"{kind} is listed twice", "remove one of them", "warning")
        for kind in sorted({str(kind) for kind in kinds} - set(INSTALL_MODES)):
            yield self.say(field, f"{kind} is not an install mode of OLM", f"use {', '.join(INSTALL_MODES)}", "warning")
        refused = any(one.get("type") == "AllNamespaces" and not one.get("supported") for one in modes)
        if self._converts() and (refused or supported - {"AllNamespaces"}):
            yield self.say(
                field,
                "a webhook converts kinds, which are the same in the whole cluster",
                "support AllNamespaces only",
            )

    def _converts(self) -> bool:
        return any(one.get("conversionCRDs") for one in self.spec.get("webhookdefinitions") or [])

    def annotations(self) -> Iterator[Problem]:
        for name in self.metadata.get("annotations") or {}:
            field = f"metadata.annotations[{name}]"
            right = _ANNOTATIONS.get(name.lower(), name)
            if right != name:
                yield self.say(field, "no tool reads it in this spelling", f"write {right}")
            if name == "olm.properties":
                yield self.say(field, "this location is deprecated", "use metadata/properties.yaml", "warning")

    def examples(self) -> Iterator[Problem]:
        texts = self.metadata.get("annotations") or {}
        name = "alm-examples" if "alm-examples" in texts else "olm.examples"
        field = f"metadata.annotations[{name}]"
        for owned in (self.spec.get("customresourcedefinitions") or {}).get("owned") or []:
            if "." not in (owned.get("name") or "") and name in texts:
                yield self.say(
                    "spec.customresourcedefinitions.owned",
                    f"{owned.get('name')!r} is not the name of a definition",
                    "use the plural, a dot and the group, such as foos.example.com",
                )
        if name not in texts:
            yield self.say("metadata.annotations[alm-examples]", "there are no examples", "add them", "warning")
            return
        try:
            shown = json.loads(texts[name]) if texts[name] else []
        except ValueError as error:
            yield self.say(field, f"it is not JSON: {error}", "fix it")
            return
        if not isinstance(shown, list) or not all(isinstance(one, dict) and one.get("kind") for one in shown or ()):
            yield self.say(field, "it is not a list of objects", "make it a list of objects with apiVersion and kind")
            return
        yield from self._match(field, {gvk_of(one) for one in shown})

    def _match(self, field: str, shown: set[Gvk]) -> Iterator[Problem]:
        offered = provided(self.spec)
        for group, version, kind in sorted(shown - offered):
            where = f"{group}/{version}" if group else version
            yield self.say(field, f"{kind} of {where} is not owned by this operator", "remove the example")
        for group, version, kind in sorted(offered - shown):
            yield self.say(field, f"{kind} of {group}/{version} has no example", "add one", "warning")


def gvk_of(obj: Mapping[str, Any]) -> Gvk:
    """Returns group, version and kind of an object."""
    group, _, version = str(obj.get("apiVersion") or "").rpartition("/")
    return group, version, str(obj.get("kind") or "")


def provided(spec: Mapping[str, Any]) -> set[Gvk]:
    """Returns group, version and kind of everything that a ClusterServiceVersion owns."""
    definitions = (spec.get("customresourcedefinitions") or {}).get("owned") or []
    services = (spec.get("apiservicedefinitions") or {}).get("owned") or []
    found = {
        (one["name"].partition(".")[2], one.get("version") or "", one.get("kind") or "")
        for one in definitions
        if "." in (one.get("name") or "")
    }
    return found | {(one.get("group") or "", one.get("version") or "", one.get("kind") or "") for one in services}
