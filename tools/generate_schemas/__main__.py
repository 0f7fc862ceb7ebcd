"""The command line: `python -m tools.generate_schemas [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kubewright.testing import KUBERNETES_VERSION
from kubewright.testing.binaries import download_module
from tools.generate_schemas._documents import Documents
from tools.generate_schemas._gotypes import GoTypes
from tools.generate_schemas._pack import pack, unpack

ROOT: Final = Path(__file__).resolve().parents[2]
FILE: Final = ROOT / "src" / "kubewright" / "cluster" / "schema" / "builtin.bin"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file, or with `--check` compares it. Returns 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m tools.generate_schemas", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file would change")
    check: bool = parser.parse_args(arguments).check
    documents = Documents.load(download_module("k8s.io/kubernetes", f"v{KUBERNETES_VERSION}"))
    content = pack(documents, load_types())
    if not check:
        FILE.write_bytes(content)
        print(f"{len(documents.definitions)} definitions, {len(content)} bytes")
    elif not FILE.exists() or unpack(FILE.read_bytes()) != unpack(content):
        print(
            f"{FILE.relative_to(ROOT)} differs from the file generated from Kubernetes {KUBERNETES_VERSION}",
            file=sys.stderr,
        )
        print("to rewrite it, run: python -m tools.generate_schemas", file=sys.stderr)
        return 1
    return 0


def load_types() -> GoTypes:
    """Returns the Go types of every group version. Kubernetes 1.x has modules of version 0.x."""
    version = "v0." + KUBERNETES_VERSION.partition(".")[2]
    types = GoTypes()
    api = download_module("k8s.io/api", version)
    for folder in sorted(api.glob("*/v*")):
        types.add(folder, f"io.k8s.api.{folder.parent.name}.{folder.name}")
    machinery = download_module("k8s.io/apimachinery", version)
    types.add(machinery / "pkg/apis/meta/v1", "io.k8s.apimachinery.pkg.apis.meta.v1")
    types.add(machinery / "pkg/api/resource", "io.k8s.apimachinery.pkg.api.resource")
    types.add(machinery / "pkg/util/intstr", "io.k8s.apimachinery.pkg.util.intstr")
    types.add(machinery / "pkg/runtime", "io.k8s.apimachinery.pkg.runtime")
    types.add(machinery / "pkg/version", "io.k8s.apimachinery.pkg.version")
    extensions = download_module("k8s.io/apiextensions-apiserver", version)
    types.add(extensions / "pkg/apis/apiextensions/v1", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1")
    aggregator = download_module("k8s.io/kube-aggregator", version)
    types.add(aggregator / "pkg/apis/apiregistration/v1", "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1")
    return types


if __name__ == "__main__":
    sys.exit(main())
