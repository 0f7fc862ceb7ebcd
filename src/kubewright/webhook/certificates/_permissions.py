"""The permissions of a self-managed certificate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kubewright.rbac import CLUSTER, OWN, Permission

__all__ = ["certificate_permissions"]

_VERBS: Final = ("get", "list", "patch", "watch")
_ADMISSION: Final = "admissionregistration.k8s.io"
_WHY: Final = "webhook certificate"


def certificate_permissions(
    secret: str,
    *,
    mutating: Sequence[str] = (),
    validating: Sequence[str] = (),
    definitions: Iterable[str] = (),
) -> list[Permission]:
    """Returns the permissions on one Secret in the operator's namespace and on the objects with the CA bundle.

    RBAC cannot limit `create` to a name.
    """
    found = [Permission(resource="secrets", verb="create", where=OWN, why=_WHY, rare=True)]
    found += [Permission(resource="secrets", verb=verb, name=secret, where=OWN, why=_WHY, rare=True) for verb in _VERBS]
    for group, plural, names in (
        (_ADMISSION, "mutatingwebhookconfigurations", mutating),
        (_ADMISSION, "validatingwebhookconfigurations", validating),
        ("apiextensions.k8s.io", "customresourcedefinitions", sorted(definitions)),
    ):
        found += [
            Permission(group=group, resource=plural, verb=verb, name=name, where=CLUSTER, why=_WHY, rare=True)
            for name in names
            for verb in _VERBS
        ]
    return found
