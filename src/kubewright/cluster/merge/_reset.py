"""Fields that a write to a resource or its status never changes, and therefore never owns."""

from __future__ import annotations

from typing import Final

from kubewright.cluster.merge._trees import EMPTY, Tree, tree_of

__all__ = ["RESET_ALL_BUT_STATUS", "RESET_STATUS", "reset_fields"]

RESET_STATUS: Final = tree_of(("f:status",))
"""Fields that a write to the main resource ignores, for a kind with a status subresource."""

RESET_ALL_BUT_STATUS: Final = tree_of(("f:metadata",), ("f:spec",))
"""Fields that a write to the status of a custom resource ignores."""

_SPEC: Final = tree_of(("f:spec",))
_REQUESTS: Final = "certificates.k8s.io"
# Most status subresources accept metadata; these do not.
_METADATA_TOO: Final = frozenset(
    (
        "APIService",
        "DeviceTaintRule",
        "FlowSchema",
        "PodGroup",
        "PriorityLevelConfiguration",
        "ResourceClaim",
        "ResourcePoolStatusRequest",
        "ServiceCIDR",
        "StorageVersion",
        "StorageVersionMigration",
        "ValidatingAdmissionPolicy",
        "VolumeAttachment",
    )
)
_OWN: Final[dict[tuple[str, str, str], Tree]] = {
    ("apps", "Deployment", "status"): tree_of(("f:spec",), ("f:metadata", "f:labels")),
    ("", "Pod", "status"): tree_of(
        ("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")
    ),
    ("", "Namespace", "finalize"): RESET_STATUS,
    (_REQUESTS, "CertificateSigningRequest", ""): tree_of(("f:spec",), ("f:status",)),
    (_REQUESTS, "CertificateSigningRequest", "status"): tree_of(("f:spec",), ("f:status", "f:conditions")),
    (_REQUESTS, "CertificateSigningRequest", "approval"): tree_of(("f:spec",), ("f:status", "f:certificate")),
}


def reset_fields(
    api_version: str, kind: str, subresource: str = "", *, has_status: bool, custom: bool = False
) -> dict[str, Tree]:
    """Returns the `reset` of a FieldManager. `has_status`: whether the kind has a status subresource."""
    group = api_version.rpartition("/")[0]
    if custom:
        tree = RESET_ALL_BUT_STATUS if subresource == "status" else RESET_STATUS if has_status else EMPTY
    elif (group, kind, subresource) in _OWN:
        tree = _OWN[group, kind, subresource]
    elif subresource == "status":
        tree = RESET_ALL_BUT_STATUS if kind in _METADATA_TOO else _SPEC
    else:
        tree = RESET_STATUS if has_status and not subresource else EMPTY
    return {api_version: tree} if tree else {}
