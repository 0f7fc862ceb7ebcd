"""The ClusterServiceVersion of a project, as plain JSON. The same project always gives the same result."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubewright.api import Object, info_of, to_dict
from kubewright.crd import crds_of
from kubewright.manifests import Project, webhook_definitions
from kubewright.olm._descriptors import spec_descriptors, status_descriptors
from kubewright.olm._examples import examples_json
from kubewright.olm._install import install_modes, install_strategy
from kubewright.olm._listing import Listing
from kubewright.olm._words import first_sentence, title_of

__all__ = ["CSV_API", "cluster_service_version", "csv_name"]

CSV_API: Final = "operators.coreos.com/v1alpha1"


def csv_name(package: str, version: str) -> str:
    """Returns the name of a version of a package: `foo.v1.0.0`, in lowercase and with `-` for `+`, as names require."""
    return f"{package}.v{version.lower().replace('+', '-')}"


def cluster_service_version(
    project: Project, listing: Listing, samples: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Returns the ClusterServiceVersion. Its examples are `samples`, objects of the project's kinds."""
    kinds = list(project.kinds or ())
    annotations = {
        "alm-examples": examples_json(kinds, samples),
        "capabilities": "Basic Install",
        "containerImage": project.image,
    }
    if listing.skip_range:
        annotations["olm.skipRange"] = listing.skip_range
    metadata = {
        "name": csv_name(project.name, project.version),
        "namespace": "placeholder",  # OLM uses the namespace of its Subscription
        "annotations": annotations,
        "labels": project.labels,
    }
    return {
        "apiVersion": CSV_API,
        "kind": "ClusterServiceVersion",
        "metadata": metadata,
        "spec": {**_for_users(project, listing, kinds), **_for_olm(project, listing)},
    }


def _for_users(project: Project, listing: Listing, kinds: Sequence[type[Object]]) -> dict[str, Any]:
    """Returns the fields that catalogs show to users."""
    fields: dict[str, Any] = {
        "displayName": title_of(project.name),
        "description": _description(listing, kinds),
        "keywords": list(listing.keywords) or sorted({info_of(kind).singular for kind in kinds}),
        "maturity": "alpha" if re.match(r"0\.|.*-", project.version) else "stable",
        "maintainers": [{"name": name, "email": email} for name, email in listing.maintainers.items()],
        "links": [{"name": name, "url": url} for name, url in sorted(listing.links.items())],
    }
    if listing.provider:
        fields["provider"] = {"name": listing.provider}
    if listing.icon:
        fields["icon"] = [{"mediatype": listing.icon[0], "base64data": listing.icon[1]}]
    return {name: value for name, value in fields.items() if value}


def _for_olm(project: Project, listing: Listing) -> dict[str, Any]:
    """Returns the fields that OLM acts on."""
    fields: dict[str, Any] = {
        "version": project.version,
        "minKubeVersion": listing.min_kube_version,
        "installModes": install_modes(project),
        "install": install_strategy(project),
        "customresourcedefinitions": {"owned": _owned(project)},
        "webhookdefinitions": webhook_definitions(project),
        "relatedImages": _related_images(project),
        "replaces": listing.replaces,
        "skips": list(listing.skips),
    }
    if not fields["customresourcedefinitions"]["owned"]:
        del fields["customresourcedefinitions"]
    return {name: value for name, value in fields.items() if value}


def _related_images(project: Project) -> list[dict[str, str]]:
    """Returns the images of all containers, which a mirror of the catalog copies."""
    others = [(one.name, one.image) for one in (*project.containers, *project.init_containers)]
    named = [("manager", project.image), *others]
    return [{"name": name, "image": image} for name, image in named if image]


def _description(listing: Listing, kinds: Sequence[type[Object]]) -> str:
    listed = []
    for kind in kinds:
        info = info_of(kind)
        listed.append(f"* **{info.kind}** ({info.api_version}): {_doc(kind)}".removesuffix(": "))
    return "\n\n".join(part for part in (listing.description.strip(), "\n".join(listed)) if part)


def _doc(kind: type[Object]) -> str:
    return first_sentence(inspect.cleandoc(kind.__doc__ or ""))


def _owned(project: Project) -> list[dict[str, Any]]:
    """Returns each served version of each kind, with its fields and the kinds that are created for it."""
    classes = {(info_of(kind).group, info_of(kind).kind, info_of(kind).version): kind for kind in project.kinds or ()}
    owned = []
    for definition in crds_of(*classes.values(), descriptions=True):
        described: dict[str, Any] = to_dict(definition)
        spec, names = described["spec"], described["spec"]["names"]
        for version in spec["versions"]:
            if not version["served"]:
                continue
            kind = classes[spec["group"], names["kind"], version["name"]]
            entry = {
                "name": described["metadata"]["name"],
                "version": version["name"],
                "kind": names["kind"],
                "displayName": title_of(names["kind"]),
                "description": _doc(kind) or f"{title_of(names['kind'])}.",
                "resources": _resources(project, names["kind"], spec["group"]),
                **_described(version),
            }
            owned.append({name: value for name, value in entry.items() if value})
    return owned


def _described(version: Mapping[str, Any]) -> dict[str, Any]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    scale = (version.get("subresources") or {}).get("scale") or {}
    fields = schema.get("properties") or {}
    return {
        "specDescriptors": spec_descriptors(
            fields.get("spec") or {}, replicas=scale.get("specReplicasPath", "").removeprefix(".spec.")
        ),
        "statusDescriptors": status_descriptors(fields.get("status") or {}),
    }


def _resources(project: Project, kind: str, group: str) -> list[dict[str, str]]:
    """Returns the kinds that the operator creates or watches for a kind; custom kinds with their definition's name."""
    found = {}
    for registration in project.operator.registrations():
        if (registration.info.kind, registration.info.group) != (kind, group):
            continue
        for other in [*(one.kind for one in registration.owns), *(one.kind for one in registration.watches)]:
            info = info_of(other)
            name = f"{info.plural}.{info.group}" if hasattr(other, "__definition__") else ""
            found[info.kind, info.version] = {"kind": info.kind, "name": name, "version": info.version}
    return [one for _, one in sorted(found.items())]
