"""A bundle in a folder, generated anew: the user's edits of the ClusterServiceVersion stay.

The form that was generated last is kept in `.generated/`, beside the manifests and out of the bundle's image. What
differs from it in the ClusterServiceVersion is the user's. A file that the merge does not change is not written, so
that its comments and its layout stay, too.
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
    """A bundle as it will be. With conflicts it cannot be written."""

    output: ImageFolder
    csv: str
    """The path of the file that belongs to the user as well."""
    conflicts: Sequence[Conflict]
    lost: Sequence[str]

    def write(self, *, replace_foreign: bool = False) -> Written:
        """Let the folder hold these files. Raises `BundleError` for conflicts, `ForeignFile` for a file of others."""
        if self.conflicts:
            raise BundleError("; ".join(str(one) for one in self.conflicts))
        return self.output.write(replace_foreign=replace_foreign or [self.csv])

    def compare(self) -> list[Drift]:
        """How the folder, and the file beside it, differ from that."""
        return self.output.compare()


def prepare(
    folder: Path,
    project: Project,
    listing: Listing,
    samples: Sequence[Mapping[str, Any]] = (),
    *,
    keep: Keep | None = None,
) -> Update:
    """A project's bundle, merged with what is in the folder. Nothing is written.

    Raises ValueError for what OLM cannot do, and `BundleError` when the ClusterServiceVersion there cannot be merged.
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
    # Where the merge changes nothing the file stays as it is, its comments included.
    csv = File(path, mine) if merged.content == edited else csv_file(project, merged.content)
    return _update(folder, project, listing, [csv, *generated[1:], kept], merged)


def remembered_image(folder: Path, project: Project) -> str:
    """The image that the bundle in a folder was made with, if it is of the same version; "" otherwise."""
    before = _before(folder, project)
    if (before.get("spec") or {}).get("version") != project.version:
        return ""
    return str((before["metadata"].get("annotations") or {}).get("containerImage") or "")


def remembered(folder: Path, project: Project) -> dict[str, Any]:
    """What the bundle in a folder was made with, as arguments of `Listing`, so that it need not be said each time.

    The channels, the picture and the scorecard's image; and of the same version also what it replaces, and the oldest
    Kubernetes.
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
    """The image of the scorecard's first test; "" where there is none."""
    found = re.search(r"^ +image: (\S+)$", read_if_present(folder / SCORECARD) or "", re.MULTILINE)
    return found[1] if found else ""


def _before(folder: Path, project: Project) -> dict[str, Any]:
    """What was generated last."""
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
    """A bundle has one ClusterServiceVersion. One of another name is of an operator that was called otherwise."""
    for other in sorted((folder / "manifests").glob("*.clusterserviceversion.yaml")):
        if other.name != Path(path).name:
            raise BundleError(
                f"{other} is there already, of another operator or of an earlier name: rename it to {Path(path).name},"
                " if its edits are to stay, or remove it"
            )


def _csv(text: str | None, path: str) -> dict[str, Any]:
    """A ClusterServiceVersion as JSON; empty when there is none."""
    if text is None:
        return {}
    try:
        documents = load_yaml_documents(text)
    except InvalidYAML as error:
        raise BundleError(f"{path} cannot be read as YAML, so it cannot be merged: {error}") from error
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise BundleError(f"{path} is not one object, so it cannot be merged: mend it, or remove it")
    return documents[0]
