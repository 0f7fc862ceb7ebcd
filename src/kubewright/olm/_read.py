"""`Bundle.read`: reads a bundle from a folder. `validate` reports files that cannot be read."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubewright.olm._problems import Problem, problem
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["Bundle", "BundleError"]

ANNOTATION = "operators.operatorframework.io.bundle"


class BundleError(Exception):
    """A folder is not a bundle, or the bundle cannot be used. The message gives the reason and the fix."""


@dataclass(frozen=True)
class Bundle:
    """The files of a bundle, not validated yet."""

    folder: Path
    manifests: Mapping[str, Mapping[str, Any]]
    """The object in each file of `manifests/`, by path below the folder."""
    annotations: Mapping[str, Any]
    """The content of `metadata/annotations.yaml`."""
    properties: list[dict[str, Any]] = field(default_factory=list)
    """The content of `metadata/properties.yaml`."""
    dependencies: list[dict[str, Any]] = field(default_factory=list)
    """The content of `metadata/dependencies.yaml`."""
    packed_size: int = 0
    """The compressed size, as OLM stores it."""
    unreadable: list[Problem] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path) -> Bundle:
        """Reads the files below a folder. Raises `BundleError` only if the folder does not exist."""
        if not folder.is_dir():
            raise BundleError(f"{folder} is not a folder; a bundle is a folder with manifests/ and metadata/ in it")
        found: list[Problem] = []
        manifests: dict[str, Mapping[str, Any]] = {}
        for path in _manifest_files(folder, found):
            if (document := _document(folder, path, found)) is not None:
                manifests[path] = document
        metadata = {
            name: _metadata(folder, f"metadata/{name}.yaml", found)
            for name in ("annotations", "properties", "dependencies")
        }
        return cls(
            folder=folder,
            manifests=manifests,
            annotations=_mapping(metadata["annotations"].get("annotations")),
            properties=_list(metadata["properties"].get("properties")),
            dependencies=_list(metadata["dependencies"].get("dependencies")),
            # A folder that is not a bundle may be very large.
            packed_size=sum(_packed(path) for path in folder.rglob("*") if path.is_file()) if manifests else 0,
            unreadable=found,
        )

    def of_kind(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Returns the objects of a kind, with their files."""
        return ((path, document) for path, document in self.manifests.items() if document.get("kind") == kind)

    @property
    def csv_path(self) -> str:
        """The file of the ClusterServiceVersion; empty if there is none."""
        return next((path for path, _ in self.of_kind("ClusterServiceVersion")), "")

    @property
    def csv(self) -> Mapping[str, Any]:
        """The ClusterServiceVersion; empty if there is none."""
        return self.manifests.get(self.csv_path, {})

    @property
    def name(self) -> str:
        """The name of the ClusterServiceVersion, such as `foo.v1.0.0`."""
        return str(_mapping(self.csv.get("metadata")).get("name") or "")

    @property
    def spec(self) -> Mapping[str, Any]:
        """The spec of the ClusterServiceVersion."""
        return _mapping(self.csv.get("spec"))

    @property
    def version(self) -> str:
        """The version, without the package."""
        return str(self.spec.get("version") or "")

    @property
    def package(self) -> str:
        """The package of this version."""
        return str(self.annotations.get(f"{ANNOTATION}.package.v1") or "")

    @property
    def channels(self) -> list[str]:
        """The channels of this version."""
        text = str(self.annotations.get(f"{ANNOTATION}.channels.v1") or "")
        return [name.strip() for name in text.split(",") if name.strip()]

    @property
    def default_channel(self) -> str:
        """The channel for users who do not choose one; empty if it is not set and there are several."""
        channel = str(self.annotations.get(f"{ANNOTATION}.channel.default.v1") or "").strip()
        return channel or (self.channels[0] if len(self.channels) == 1 else "")


def _manifest_files(folder: Path, found: list[Problem]) -> Iterator[str]:
    place = folder / "manifests"
    if not place.is_dir():
        found.append(
            problem("error", "", "manifests/ does not exist", "run `kubewright bundle`, or name another folder")
        )
        return
    for path in sorted(place.iterdir()):
        below = path.relative_to(folder).as_posix()
        if path.is_dir():
            found.append(problem("error", below, "it is a folder", "OLM reads only files directly in manifests/"))
        elif path.name.startswith("."):
            found.append(problem("error", below, "it is a hidden file", "remove it: OLM rejects hidden files"))
        else:
            yield below


def _document(folder: Path, path: str, found: list[Problem]) -> Mapping[str, Any] | None:
    documents = _documents(folder, path, found)
    if documents is None:
        return None
    if not documents or not isinstance(documents[0], Mapping) or not documents[0].get("kind"):
        found.append(problem("error", path, "it is not a Kubernetes object", "add apiVersion and kind, or remove it"))
        return None
    if len(documents) > 1:
        found.append(
            problem(
                "warning",
                path,
                f"only the first of its {len(documents)} documents is read",
                "put each into its own file",
            )
        )
    return dict(documents[0])


def _metadata(folder: Path, path: str, found: list[Problem]) -> Mapping[str, Any]:
    if not (folder / path).is_file():
        return {}
    documents = _documents(folder, path, found) or [{}]
    return _mapping(documents[0])


def _documents(folder: Path, path: str, found: list[Problem]) -> list[Any] | None:
    try:
        return load_yaml_documents((folder / path).read_bytes())
    except (InvalidYAML, OSError) as error:
        where = " ".join(str(error).split())
        found.append(problem("error", path, f"it cannot be read as YAML: {where}", "fix the file"))
        return None


def _packed(path: Path) -> int:
    return len(base64.b64encode(gzip.compress(path.read_bytes(), mtime=0)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [dict(one) for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
