"""Packages for the Operator Lifecycle Manager (OLM): bundles, catalogs, and bundles in a cluster.

A bundle is one version of an operator as OLM installs it: a ClusterServiceVersion, which says all that OLM needs to
know, the definitions, and a few files about them. It is made from the same `Project` as all that is deployed otherwise.

- `bundle_files(project, listing, samples)` are the files of a bundle; the same project always gives the same bytes.
  `Listing` is what a catalog shows, and how users get from version to version; `read_samples` reads the examples.
- `prepare(folder, project, listing, samples)` merges them with the bundle that is in a folder: what the user has edited
  in the ClusterServiceVersion stays. What both have changed is a `Conflict`, and is left to the user. The `Update` that
  it gives can be written, or compared with the folder.
- `Bundle.read(folder)` reads a bundle; `validate(bundle, suites)` says what is wrong with one, `Problem` by `Problem`,
  each with the file, the field and what to do: as operator-framework's own validation and its scorecard do.
- `Catalog.of(bundles)` is a file-based catalog of a package, whose upgrade graph is checked.
- `await run(client, Installation(...), say)` has OLM install a bundle and waits for it; `remove` takes it away again.

A folder or a file that is no bundle raises `BundleError`; what OLM does not install raises `NotInstalled`.
"""

from __future__ import annotations

from kubewright.olm._catalog import Catalog, catalog_dockerfile
from kubewright.olm._csv import cluster_service_version, csv_name
from kubewright.olm._examples import ExampleError, read_samples
from kubewright.olm._files import bundle_files
from kubewright.olm._image_folder import ImageFolder, check_image_folder
from kubewright.olm._kinds import CatalogSource, ClusterServiceVersion, InstallPlan, OperatorGroup, Subscription
from kubewright.olm._listing import Listing, icon_of
from kubewright.olm._merge import Conflict, Keep, Merged, merge
from kubewright.olm._objects import Installation
from kubewright.olm._problems import Problem
from kubewright.olm._pull import PullError, pull_bundle
from kubewright.olm._read import Bundle, BundleError
from kubewright.olm._run import NotInstalled, remove, run
from kubewright.olm._update import Update, prepare, remembered, remembered_image
from kubewright.olm._validate import DEFAULT_SUITES, SUITES, Report, Suite, validate
from kubewright.olm._versions import is_semver

__all__ = [
    "DEFAULT_SUITES",
    "SUITES",
    "Bundle",
    "BundleError",
    "Catalog",
    "CatalogSource",
    "ClusterServiceVersion",
    "Conflict",
    "ExampleError",
    "ImageFolder",
    "InstallPlan",
    "Installation",
    "Keep",
    "Listing",
    "Merged",
    "NotInstalled",
    "OperatorGroup",
    "Problem",
    "PullError",
    "Report",
    "Subscription",
    "Suite",
    "Update",
    "bundle_files",
    "catalog_dockerfile",
    "check_image_folder",
    "cluster_service_version",
    "csv_name",
    "icon_of",
    "is_semver",
    "merge",
    "prepare",
    "pull_bundle",
    "read_samples",
    "remembered",
    "remembered_image",
    "remove",
    "run",
    "validate",
]
