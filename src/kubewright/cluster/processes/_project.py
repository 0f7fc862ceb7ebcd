"""`project_images`: the image of a project runs the project's operator from its source."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import kubewright
from kubewright.cluster.processes._images import Image, Images

__all__ = ["project_images"]

_ALL_ADDRESSES: Final = "0.0.0.0"  # noqa: S104  # what manifests of operators name
_SETTINGS: Final = (
    "KUBEWRIGHT_*_BIND",
    "KUBEWRIGHT_GRACE",
    "KUBEWRIGHT_LEASE_NAMESPACE",
    "KUBEWRIGHT_NAMESPACES",
    "KUBEWRIGHT_PAUSE_ANNOTATION",
    "KUBEWRIGHT_WEBHOOK_*",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
)
"""Variables of `kubewright run`. Those of the node, such as KUBEWRIGHT_SERVICE_ACCOUNT, are not among them."""


def project_images(image: str, target: str, folder: Path) -> Images:
    """Returns the mapping of an operator's image to its source in a folder: with any tag, and of any registry.

    The registry is often named later, as in `kubewright deploy --image registry.example.com/guestbook:1.0.0`.
    `target` is the argument of `kubewright run`. The operator listens on the address of its pod instead of on all
    addresses, so that several replicas can run.
    """
    folder = folder.resolve()
    name = image.partition("@")[0]
    before, slash, last = name.rpartition("/")
    last = last.partition(":")[0]
    entry = Image(
        command=[sys.executable, "-m", "kubewright", "run", target],
        entrypoint=["kubewright", "run", target],
        allow_args=True,
        allow_environment=_SETTINGS,
        environment={"PYTHONUNBUFFERED": "1"},
        rewrite={_ALL_ADDRESSES: "$(POD_IP)"},
        directory=str(folder),
        keep=[str(folder), sys.prefix, sys.base_prefix, str(Path(kubewright.__file__).parents[1])],
    )
    return Images({f"{before}{slash}{last}": entry, f"*/{last}": entry})
