"""Updates a bundle in a folder. The user's edits of the ClusterServiceVersion stay.

The last generated form is kept in `.generated/`, next to the manifests and outside of the bundle's image. Differences
from it are the user's edits. A file that the merge does not change is not written, so that its comments and layout stay
as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubewright.manifests import Drift, File, Project, Written, yaml_file
from kubewright.olm._files import SCORECARD, bundle_files, csv_file, csv_path, dockerfile
from kubewright.olm._image_folder import ImageFolder, check_image_folder, read_if_present
from kubewright.olm._listing import Listing
from kubewright.olm._merge import Conflict, Keep, Merged, merge
from kubewright.olm._read import Bundle, BundleError
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["GENERATED", "Update", "prepare", "remembered", "remembered_image"]

GENERATED: Final = ".generated"


@dataclass(frozen=True)
class Update:
    """The new content of a bundle. It cannot be written while it has conflicts."""

    output: ImageFolder
    csv: str
    """The path of the ClusterServiceVersion, which the user may edit."""
    conflicts: Sequence[Conflict]
    lost: Sequence[str]

    def write(self, *, replace_foreign: bool = False) -> Written:
        """Writes the files. Raises `BundleError` for conflicts, `ForeignFile` for a file that was not generated."""
        if self.conflicts:
            raise BundleError("; ".join(str(one) for one in self.conflicts))
        return self.output.write(replace_foreign=replace_foreign or [self.csv])

    def compare(self) -> list[Drift]:
        """Returns how the folder and the Dockerfile differ."""
        return self.output.compare()


def prepare(
    folder: Path,
    project: Project,
    listing: Listing,
    samples: Sequence[Mapping[str, Any]] = (),
    *,
    keep: Keep | None = None,
) -> Update:
    """Returns a project's bundle, merged with the content of the folder. Writes nothing.

    Raises ValueError for features that OLM does not support, and `BundleError` if the ClusterServiceVersion cannot be
    merged.
    """
    check_image_folder(folder)
    generated = bundle_files(project, listing, samples)
    path = csv_path(project)
    kept = yaml_file(f"{GENERATED}/{path.partition('/')[2]}", _csv(generated[0].text, path))
    _refuse_another(folder, path)
    mine = read_if_present(folder / path)
    if mine is None:
        return _update(folder, project, listing, [*generated, kept], Merged({}))
    edited, now = _csv(mine, path), _csv(generated[0].text, path)
    merged = merge(_before(folder, project), edited, now, keep=keep)
    # If the merge changes nothing, the file stays as it is, including comments.
    csv = File(path, mine) if merged.content == edited else csv_file(project, merged.content)
    return _update(folder, project, listing, [csv, *generated[1:], kept], merged)


def remembered_image(folder: Path, project: Project) -> str:
    """Returns the image of the bundle in a folder, if it is of the same version; otherwise an empty string."""
    before = _before(folder, project)
    if (before.get("spec") or {}).get("version") != project.version:
        return ""
    return str((before["metadata"].get("annotations") or {}).get("containerImage") or "")


def remembered(folder: Path, project: Project) -> dict[str, Any]:
    """Returns the options of the bundle in a folder as arguments of `Listing`, which become the defaults.

    These are the channels, the icon and the scorecard's image; for the same version also the upgrade path and the
    oldest Kubernetes.
    """
    if not folder.is_dir():
        return {}
    bundle = Bundle.read(folder)
    before = _before(folder, project)
    spec = before.get("spec") or {}
    found: dict[str, Any] = {"channels": bundle.channels, "default_channel": bundle.default_channel}
    if icons := spec.get("icon"):
        found["icon"] = (icons[0]["mediatype"], icons[0]["base64data"])
    found["scorecard_image"] = _scorecard_image(folder)
    if spec.get("version") == project.version:
        found |= {"replaces": spec.get("replaces"), "skips": spec.get("skips")}
        found["min_kube_version"] = spec.get("minKubeVersion")
        found["skip_range"] = (before["metadata"].get("annotations") or {}).get("olm.skipRange")
    return {name: value for name, value in found.items() if value}


def _scorecard_image(folder: Path) -> str:
    """Returns the image of the scorecard's first test; an empty string if there is none."""
    found = re.search(r"^ +image: (\S+)$", read_if_present(folder / SCORECARD) or "", re.MULTILINE)
    return found[1] if found else ""


def _before(folder: Path, project: Project) -> dict[str, Any]:
    """Returns the last generated form."""
    path = f"{GENERATED}/{Path(csv_path(project)).name}"
    return _csv(read_if_present(folder / path), path)


def _update(folder: Path, project: Project, listing: Listing, files: list[File], merged: Merged) -> Update:
    return Update(
        output=ImageFolder(folder, files, dockerfile(project, listing, folder.name)),
        csv=csv_path(project),
        conflicts=merged.conflicts,
        lost=[path.removeprefix(".") for path in merged.lost],
    )


def _refuse_another(folder: Path, path: str) -> None:
    """Raises `BundleError` for a ClusterServiceVersion of another name: a bundle has one."""
    for other in sorted((folder / "manifests").glob("*.clusterserviceversion.yaml")):
        if other.name != Path(path).name:
            raise BundleError(
                f"{other} already exists, of another operator or of an earlier name: rename it to {Path(path).name}"
                " to keep its edits, or remove it"
            )


def _csv(text: str | None, path: str) -> dict[str, Any]:
    """Returns a ClusterServiceVersion as JSON; empty if there is none."""
    if text is None:
        return {}
    try:
        documents = load_yaml_documents(text)
    except InvalidYAML as error:
        raise BundleError(f"{path} cannot be read as YAML, so it cannot be merged: {error}") from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise BundleError(f"{path} is not one object, so it cannot be merged: fix it, or remove it")
    return documents[0]
