"""The public names of Kubewright that were renamed, by version of the scaffold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["RENAMES", "Renames", "renames_since"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Renames:
    """The names that one version of the scaffold uses and the version before it did not."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Modules, classes, functions and constants, by full path: `"kubewright.Owned": "kubewright.Owns"`.

    A name that can be imported from several modules has a line for each. A class attribute is written with its class:
    `"kubewright.Result.LATER"`. The module may change as well.
    """
    keywords: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Keyword arguments, by the full path of the function or class as it is called now."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Methods and attributes of objects. Types are not known, so every attribute of that name is rewritten, in files
    that import Kubewright. Add only names that users are unlikely to have themselves."""
    method_keywords: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Keyword arguments of methods, by the method's name as it is called now. The same restriction applies."""


RENAMES: Final[Mapping[int, Renames]] = {
    3: Renames(
        names={
            "kubewright.Contested": "kubewright.WriteConflict",
            "kubewright.Owned": "kubewright.Owns",
            "kubewright.cache.Intake": "kubewright.cache.SnapshotDecoder",
            "kubewright.console.Shelf": "kubewright.console.ObjectCache",
            "kubewright.console.Sight": "kubewright.console.Visibility",
            "kubewright.console.attach": "kubewright.console.attach_console",
            "kubewright.controller.Contested": "kubewright.controller.WriteConflict",
            "kubewright.controller.Owned": "kubewright.controller.Owns",
            "kubewright.events.Told": "kubewright.events.EventRecord",
            "kubewright.operator.NotAtRest": "kubewright.operator.NotIdempotent",
            "kubewright.webhook.Served": "kubewright.webhook.WebhookDeployment",
            "kubewright.webhook.ThrowAwayCertificate": "kubewright.webhook.EphemeralCertificate",
            "kubewright.webhook.certificates.FOLDER": "kubewright.webhook.certificates.CERTIFICATE_FOLDER",
            "kubewright.webhook.certificates.Place": "kubewright.webhook.certificates.CertificatePaths",
            "kubewright.webhook.certificates.Terms": "kubewright.webhook.certificates.CertificatePolicy",
            "kubewright.webhook.certificates.WAYS": "kubewright.webhook.certificates.CERTIFICATE_SOURCES",
            "kubewright.webhook.certificates.Way": "kubewright.webhook.certificates.CertificateSourceName",
        },
        keywords={
            "kubewright.console.Limits": {"send_seconds": "write_seconds"},
            "kubewright.webhook.certificates.CertificateFiles": {"of": "purpose"},
            "kubewright.webhook.certificates.SelfManaged": {"terms": "policy"},
        },
        attributes={"check_at_rest": "check_idempotent"},
    ),
}


def renames_since(version: int) -> Iterator[Renames]:
    """Yields the tables of all versions after `version`, oldest first."""
    return (RENAMES[newer] for newer in sorted(RENAMES) if newer > version)
