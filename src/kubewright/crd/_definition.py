"""`CustomResourceDefinition` objects from classes."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Any, Final

from kubewright.api import Object, Scale, apiextensions, from_dict, info_of
from kubewright.api.kinds import Definition, column_type, definition_of
from kubewright.api.schema import schema_of
from kubewright.crd._descriptions import Descriptions, describer

__all__ = ["crd_of", "crds_of"]

APPROVAL: Final = "api-approved.kubernetes.io"
_VERSION: Final = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")


def crds_of(*kinds: type[Object], descriptions: Descriptions = True) -> list[apiextensions.CustomResourceDefinition]:
    """Returns one definition per kind, sorted by name. Classes of the same kind are its versions."""
    families: dict[str, list[type[Object]]] = {}
    for kind in kinds:
        families.setdefault(_name(kind), []).append(kind)
    return [crd_of(*family, descriptions=descriptions) for _, family in sorted(families.items())]


def crd_of(*versions: type[Object], descriptions: Descriptions = True) -> apiextensions.CustomResourceDefinition:
    """Returns the definition of one kind, from the classes of its versions.

    With several versions, exactly one has `storage=True` in `@resource`, and names and scope must be equal. Short names
    and categories can be set on one version only. Without `descriptions`, the schema has no docstrings; `"short"` keeps
    their first sentences.
    """
    if not versions:
        raise TypeError("crd_of needs the class of a kind")
    storage = _storage(versions)
    info, definition = info_of(storage), definition_of(storage)
    for version in versions:
        _check_agreement(storage, version)
    short_names, categories = _declared(versions, "short_names"), _declared(versions, "categories")
    names = {"kind": info.kind, "listKind": definition.list_kind, "plural": info.plural, "singular": info.singular}
    spec: dict[str, Any] = {
        "group": info.group,
        "names": names | _filled(shortNames=short_names, categories=categories),
        "scope": "Namespaced" if info.namespaced else "Cluster",
        "versions": [
            _version(version, stored=version is storage, descriptions=descriptions)
            for version in sorted(versions, key=_precedence)
        ],
    }
    if conversion := _conversion(versions):
        spec["conversion"] = conversion
    metadata = {"name": _name(storage)} | _filled(
        labels=_merged(versions, "labels"), annotations=_annotations(versions)
    )
    return from_dict(apiextensions.CustomResourceDefinition, {"metadata": metadata, "spec": spec})


def _name(kind: type[Object]) -> str:
    info = info_of(kind)
    return f"{info.plural}.{info.group}"


def _version(kind: type[Object], *, stored: bool, descriptions: Descriptions) -> dict[str, Any]:
    info, definition = info_of(kind), definition_of(kind)
    schema = schema_of(kind, describe=describer(descriptions))
    definition.check(kind)
    made: dict[str, Any] = {
        "name": info.version,
        "served": definition.served,
        "storage": stored,
        "schema": {"openAPIV3Schema": schema},
    }
    if definition.deprecated:
        made["deprecated"] = True
        if isinstance(definition.deprecated, str):
            made["deprecationWarning"] = definition.deprecated
    columns = [
        {"name": title, "type": column_type(kind, title, column), "jsonPath": column.path}
        | _filled(format=column.format, priority=column.priority, description=column.description)
        for title, column in definition.columns.items()
    ]
    return made | _filled(
        additionalPrinterColumns=columns,
        selectableFields=[{"jsonPath": path} for path in definition.selectable_fields],
        subresources=_subresources(kind, definition),
    )


def _subresources(kind: type[Object], definition: Definition) -> dict[str, Any]:
    there = info_of(kind).subresources
    made: dict[str, Any] = {}
    if "status" in there:
        made["status"] = {}
    if "scale" in there:
        scale = definition.scale
        if scale is None:  # scale_subresource=True: the default paths, if the kind has them
            scale = Scale()
            definition.check_scale(kind, scale)
        made["scale"] = {"specReplicasPath": scale.spec, "statusReplicasPath": scale.status} | _filled(
            labelSelectorPath=scale.selector
        )
    return made


def _storage(versions: tuple[type[Object], ...]) -> type[Object]:
    if len(versions) == 1:
        if definition_of(versions[0]).storage is False:
            raise ValueError(f"{info_of(versions[0])} is not stored: add the version with storage=True")
        return versions[0]
    stored = [version for version in versions if definition_of(version).storage]
    if len(stored) != 1:
        names = ", ".join(str(info_of(version)) for version in versions)
        raise ValueError(
            f"{len(stored)} of the versions {names} have storage=True in @resource; exactly one must have it"
        )
    return stored[0]


def _check_agreement(storage: type[Object], version: type[Object]) -> None:
    one, other = info_of(storage), info_of(version)
    first, second = definition_of(storage), definition_of(version)
    if version is not storage and one.version == other.version:
        raise ValueError(f"two classes are {other}")
    for what, expected, found in (
        ("group", one.group, other.group),
        ("kind", one.kind, other.kind),
        ("plural", one.plural, other.plural),
        ("singular", one.singular, other.singular),
        ("scope", one.namespaced, other.namespaced),
        ("list_kind", first.list_kind, second.list_kind),
    ):
        if expected != found:
            raise ValueError(f"the versions of a kind must have the same {what}: {one} and {other} differ")


def _declared(versions: tuple[type[Object], ...], what: str) -> list[str]:
    """Returns names of the kind, which one version must declare. Others can repeat them."""
    declared = {
        str(info_of(version)): names for version in versions if (names := getattr(definition_of(version), what))
    }
    if len(set(declared.values())) > 1:
        found = ", ".join(f"{list(names)} in {version}" for version, names in declared.items())
        raise ValueError(f"the versions of a kind must have the same {what}, or none: found {found}")
    return list(next(iter(declared.values()), ()))


def _conversion(versions: tuple[type[Object], ...]) -> dict[str, Any] | None:
    """Returns the conversion of a kind; None for a kind with one version and no declared conversion."""
    declared = [found for version in versions if (found := definition_of(version).conversion) is not None]
    if len(set(declared)) > 1:
        raise ValueError(f"the versions of {info_of(versions[0]).kind} have different conversions; declare one")
    if not declared:
        return {"strategy": "None"} if len(versions) > 1 else None
    webhook = declared[0]
    client: dict[str, Any] = {"url": webhook.url}
    if webhook.service is not None:
        namespace, name = webhook.service.split("/")
        client = {"service": {"namespace": namespace, "name": name, "path": webhook.path, "port": webhook.port}}
    if webhook.ca_bundle is not None:
        client["caBundle"] = b64encode(webhook.ca_bundle).decode()
    versions_of_review = list(webhook.review_versions)
    return {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": versions_of_review},
    }


def _annotations(versions: tuple[type[Object], ...]) -> dict[str, str]:
    annotations = _merged(versions, "annotations")
    approvals = sorted({text for version in versions if (text := definition_of(version).api_approved)})
    if len(approvals) > 1:
        raise ValueError(
            f"the versions of {info_of(versions[0]).kind} have different approvals: {', '.join(approvals)}"
        )
    if approvals:
        annotations[APPROVAL] = approvals[0]
    group = info_of(versions[0]).group
    if APPROVAL not in annotations and re.search(r"(^|\.)(k8s\.io|kubernetes\.io)$", group):
        raise ValueError(
            f"the group {group} is protected by Kubernetes: @resource needs api_approved= with the URL of the approval,"
            ' or "unapproved, <reason>"'
        )
    return annotations


def _merged(versions: tuple[type[Object], ...], what: str) -> dict[str, str]:
    merged: dict[str, str] = {}
    for version in versions:
        for name, value in getattr(definition_of(version), what).items():
            if merged.setdefault(name, value) != value:
                raise ValueError(f"the versions of {info_of(version).kind} disagree on the value of {name} in {what}")
    return dict(sorted(merged.items()))


def _precedence(kind: type[Object]) -> tuple[Any, ...]:
    """Returns the sort key of a version in Kubernetes' order: v2, v1, v1beta1, v1alpha1, then others by name."""
    name = info_of(kind).version
    match = _VERSION.fullmatch(name)
    if match is None:
        return (1, name)
    stage = {None: 0, "beta": 1, "alpha": 2}[match[2]]
    return (0, stage, -int(match[1]), -int(match[3] or 0))


def _filled(**members: Any) -> dict[str, Any]:
    """Returns the members that are not empty."""
    return {name: value for name, value in members.items() if value}
