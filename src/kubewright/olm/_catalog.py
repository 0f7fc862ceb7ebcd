"""`Catalog`: a file-based catalog of bundles, as `opm serve` serves it to OLM.

A bundle is either referenced by its image, which OLM unpacks, or embedded in the catalog. Embedding needs no image;
`run` does it with a folder.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubewright.api import to_yaml
from kubewright.manifests import MARK, File, text_file
from kubewright.olm._graph import Entry, check_channel
from kubewright.olm._image_folder import ImageFolder
from kubewright.olm._read import Bundle, BundleError
from kubewright.olm._versions import is_semver, precedence

__all__ = ["CATALOG_DOCKERFILE", "OPM_IMAGE", "Catalog", "catalog_dockerfile"]

CATALOG_DOCKERFILE: Final = "catalog.Dockerfile"
OPM_IMAGE: Final = "operator-framework/opm:latest"
"""The short name: the node decides about the registry, unless the user names another image."""
_METADATA: Final = (
    "annotations",
    "apiServiceDefinitions",
    "crdDescriptions",
    "description",
    "displayName",
    "installModes",
    "keywords",
    "labels",
    "links",
    "maintainers",
    "maturity",
    "minKubeVersion",
    "nativeAPIs",
    "provider",
)

ImageOf = Callable[[Bundle], str]


@dataclass(frozen=True)
class Catalog:
    """One package: its channels, and its versions in order of precedence."""

    package: str
    default_channel: str
    channels: Mapping[str, Sequence[Entry]]
    documents: Sequence[Mapping[str, Any]]
    """The catalog: `olm.package`, then `olm.channel`, then `olm.bundle`."""
    warnings: Sequence[str] = ()

    @classmethod
    def of(cls, bundles: Iterable[Bundle], image_of: ImageOf | None = None) -> Catalog:
        """Returns the catalog of some versions of a package. Without `image_of`, bundles are embedded.

        Raises `BundleError` if they are not of one package, or if a channel has no upgrade path: no newest version or
        several, a cycle, or a version without an upgrade.
        """
        found = _sorted(list(bundles))
        newest = found[-1]
        channels: dict[str, list[Entry]] = {}
        for bundle in found:
            for channel in bundle.channels:
                channels.setdefault(channel, []).append(_entry(bundle))
        said = [one for channel, entries in sorted(channels.items()) for one in check_channel(channel, entries)]
        if errors := [text for level, text in said if level == "error"]:
            raise BundleError("\n".join(errors))
        if newest.default_channel not in channels:
            raise BundleError(f"{newest.folder}: the default channel {newest.default_channel!r} has no version")
        documents = [
            _package(newest),
            *(_channel(newest.package, name, entries) for name, entries in sorted(channels.items())),
            *(_bundle(one, image_of(one) if image_of else "") for one in found),
        ]
        return cls(newest.package, newest.default_channel, channels, documents, [text for _, text in said])

    def text(self) -> str:
        """Returns the catalog as YAML."""
        return f"# {MARK}\n---\n{to_yaml(*self.documents)}"

    def file(self) -> File:
        """Returns the catalog in a folder named after its package, as in catalogs of several packages."""
        return File(f"{self.package}/catalog.yaml", self.text())

    def image_folder(self, folder: Path) -> ImageFolder:
        """Returns the catalog in `folder` and its Dockerfile beside it."""
        return ImageFolder(folder, [self.file()], catalog_dockerfile(folder.name))


def catalog_dockerfile(folder: str) -> File:
    """Returns the Dockerfile of the catalog in `folder`, which includes the server."""
    return text_file(
        CATALOG_DOCKERFILE,
        f"ARG OPM_IMAGE={OPM_IMAGE}\n"
        "FROM ${OPM_IMAGE}\n\n"
        'ENTRYPOINT ["/bin/opm"]\n'
        'CMD ["serve", "/configs", "--cache-dir=/tmp/cache"]\n\n'
        f"ADD {folder} /configs\n"
        "# Read once here, so that the server starts at once and refuses nothing later.\n"
        'RUN ["/bin/opm", "serve", "/configs", "--cache-dir=/tmp/cache", "--cache-only"]\n\n'
        "LABEL operators.operatorframework.io.index.configs.v1=/configs\n",
    )


def _sorted(bundles: list[Bundle]) -> list[Bundle]:
    if not bundles:
        raise BundleError("a catalog needs at least one bundle")
    for one in bundles:
        if not one.name or not one.package or not one.channels or not is_semver(one.version):
            raise BundleError(
                f"{one.folder} has no name, no package, no channels or no version: see `kubewright bundle"
                f" --validate-only {one.folder}`"
            )
    packages = sorted({one.package for one in bundles})
    if len(packages) > 1:
        raise BundleError(f"the bundles belong to several packages: {', '.join(packages)}; generate a catalog for each")
    ordered = sorted(bundles, key=lambda one: precedence(one.version))
    for earlier, later in itertools.pairwise(ordered):
        if precedence(earlier.version) == precedence(later.version) or earlier.name == later.name:
            raise BundleError(f"{earlier.folder} and {later.folder} are both version {later.version} of {packages[0]}")
    return ordered


def _entry(bundle: Bundle) -> Entry:
    texts = (bundle.csv.get("metadata") or {}).get("annotations") or {}
    return Entry(
        name=bundle.name,
        replaces=bundle.spec.get("replaces") or "",
        skips=tuple(bundle.spec.get("skips") or ()),
        skip_range=texts.get("olm.skipRange") or "",
    )


def _package(newest: Bundle) -> dict[str, Any]:
    package = {"schema": "olm.package", "name": newest.package, "defaultChannel": newest.default_channel}
    if description := newest.spec.get("description"):
        package["description"] = description
    if icons := newest.spec.get("icon"):
        package["icon"] = icons[0]
    return package


def _channel(package: str, name: str, entries: Sequence[Entry]) -> dict[str, Any]:
    listed = []
    for one in entries:
        entry: dict[str, Any] = {"name": one.name}
        entry |= {key: value for key, value in (("replaces", one.replaces), ("skipRange", one.skip_range)) if value}
        if one.skips:
            entry["skips"] = list(one.skips)
        listed.append(entry)
    return {"schema": "olm.channel", "package": package, "name": name, "entries": listed}


def _bundle(bundle: Bundle, image: str) -> dict[str, Any]:
    related = list(bundle.spec.get("relatedImages") or [])
    if image:
        related.append({"name": "", "image": image})
    described = {
        "schema": "olm.bundle",
        "name": bundle.name,
        "package": bundle.package,
        "properties": [*_properties(bundle), *(_metadata(bundle) if image else _objects(bundle))],
        "relatedImages": related,
    }
    return {**described, "image": image} if image else described


def _properties(bundle: Bundle) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    definitions = bundle.spec.get("customresourcedefinitions") or {}
    for part, kind in (("owned", "olm.gvk"), ("required", "olm.gvk.required")):
        for one in definitions.get(part) or []:
            group = (one.get("name") or "").partition(".")[2]
            value = {"group": group, "kind": one.get("kind"), "version": one.get("version")}
            made.append({"type": kind, "value": value})
    made.append({"type": "olm.package", "value": {"packageName": bundle.package, "version": bundle.version}})
    return [*made, *(_required(one) for one in bundle.dependencies), *bundle.properties]


def _required(dependency: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a dependency in the format of catalogs."""
    kind, value = dependency.get("type"), dependency.get("value")
    if kind == "olm.package" and isinstance(value, Mapping):
        value = {"packageName": value.get("packageName"), "versionRange": value.get("version")}
    return {"type": f"{kind}.required" if kind in ("olm.gvk", "olm.package") else kind, "value": value}


def _metadata(bundle: Bundle) -> list[dict[str, Any]]:
    """Returns the metadata that a catalog shows of a version, from its ClusterServiceVersion."""
    metadata, spec = bundle.csv.get("metadata") or {}, bundle.spec
    shown = {
        "annotations": metadata.get("annotations"),
        "labels": metadata.get("labels"),
        "crdDescriptions": spec.get("customresourcedefinitions"),
        "apiServiceDefinitions": spec.get("apiservicedefinitions"),
        **{name: spec.get(name) for name in _METADATA if name in spec and name not in ("annotations", "labels")},
    }
    return [{"type": "olm.csv.metadata", "value": {name: value for name, value in shown.items() if value}}]


def _objects(bundle: Bundle) -> list[dict[str, Any]]:
    """Returns the whole bundle, object by object."""
    made = []
    for _, document in sorted(bundle.manifests.items()):
        packed = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        made.append({"type": "olm.bundle.object", "value": {"data": base64.b64encode(packed).decode()}})
    return made
