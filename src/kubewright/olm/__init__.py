"""Packages operators for the Operator Lifecycle Manager (OLM): bundles, catalogs, and their installation.

A bundle is one version of an operator for OLM: a ClusterServiceVersion that describes it, the definitions, and a few
files about them. It is generated from the same `Project` as every other deployment.

- `bundle_files(project, listing, samples)` returns the files of a bundle. The same project always gives the same bytes.
  `Listing` is what a catalog shows, and the upgrade path. `read_samples` reads the examples.
- `prepare(folder, project, listing, samples)` merges them with the bundle in a folder. The user's edits of the
  ClusterServiceVersion stay; a value that both sides changed is a `Conflict` for the user to solve. The `Update` can be
  written, or compared with the folder.
- `Bundle.read(folder)` reads a bundle. `validate(bundle, suites)` returns its problems with file, field and fix, like
  operator-framework's validation and scorecard.
- `Catalog.of(bundles)` is a file-based catalog of a package, whose upgrade graph is checked.
- `await run(client, Installation(...), report)` installs a bundle with OLM and waits for it; `remove` deletes it.

A folder or file that is not a bundle raises `BundleError`. A bundle that OLM does not install raises `NotInstalled`.
"""

from __future__ import annotations

from kubewright.olm._catalog import Catalog, catalog_dockerfile
from kubewright.olm._csv import cluster_service_version, csv_name
from kubewright.olm._examples import ExampleError, read_samples
from kubewright.olm._files import bundle_files
from kubewright.olm._image_folder import ImageFolder, check_image_folder
from kubewright.olm._kinds import (
    CatalogSource,
    ClusterServiceVersion,
    InstallPlan,
    OperatorGroup,
    OperatorGroupSpec,
    Subscription,
)
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
    "OperatorGroupSpec",
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
