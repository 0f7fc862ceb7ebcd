"""The ways in which a certificate comes to the webhook server, by the names that settings and manifests give them."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ["FOLDER", "WAYS", "Way"]

Way: TypeAlias = Literal["self-managed", "cert-manager", "olm", "files"]
"""Where the certificate comes from."""

WAYS: Final[tuple[Way, ...]] = get_args(Way)

FOLDER: Final = "/var/run/kubewright/webhook"
"""Where manifests mount the Secret with a certificate that is not self-managed."""
