"""Warnings for volumes that put two values at the same path. Messages are those of kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from kubewright.cluster.machinery._resources import JSONObject

__all__ = ["overlapping_paths"]

_CERTIFICATE: Final = {
    "certificateChainPath": "PodCertificate chain",
    "keyPath": "PodCertificate key",
    "credentialBundlePath": "PodCertificate credential bundle",
}


class _File(NamedTuple):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f'"{self.path}" ({self.source})' if self.source else f'"{self.path}"'

    def overlaps(self, other: _File) -> bool:
        mine, theirs = f"{self.path}/", f"{other.path}/"
        return mine.startswith(theirs) or theirs.startswith(mine)


def overlapping_paths(volumes: Iterable[JSONObject]) -> Iterator[str]:
    """Returns the warnings for the volumes of a pod."""
    for volume in volumes:
        name = f'volume "{volume.get("name", "")}"'
        for field, kind, key in (
            ("configMap", "ConfigMap", "name"),
            ("secret", "Secret", "secretName"),
            ("downwardAPI", "DownwardAPI", ""),
        ):
            source = volume.get(field) or {}
            shown = f'{kind} "{source.get(key, "")}"' if key else kind
            for overlap in _overlaps(_File(item.get("path", "")) for item in source.get("items") or ()):
                yield f"{name} ({shown}): overlapping paths: {overlap}"
        sources = (volume.get("projected") or {}).get("sources") or ()
        for source in sources:
            if not source:
                yield f"{name} (Projected) has no sources provided"
        for overlap in _overlaps(file for source in sources for file in _projected(source)):
            yield f"{name} (Projected): overlapping paths: {overlap}"


def _projected(source: JSONObject) -> Iterator[_File]:
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        given = source.get(field) or {}
        for item in given.get("items") or ():
            yield _File(item.get("path", ""), f'{kind} "{given.get("name", "")}"')
    for item in (source.get("downwardAPI") or {}).get("items") or ():
        yield _File(item.get("path", ""), "DownwardAPI")
    if (token := source.get("serviceAccountToken")) is not None:
        yield _File(token.get("path", ""), "ServiceAccountToken")
    if (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle.get("name", bundle.get("signerName", ""))
        yield _File(bundle.get("path", ""), f'ClusterTrustBundle "{name}"')
    certificate = source.get("podCertificate") or {}
    for field, kind in _CERTIFICATE.items():
        if certificate.get(field):
            yield _File(certificate[field], kind)


def _overlaps(files: Iterable[_File]) -> Iterator[str]:
    seen: list[_File] = []
    for file in files:
        here = file._replace(path=file.path.rstrip("/"))
        for other in seen:
            if here.path and other.path and here.overlaps(other):
                yield f"{here} with {other}"
        seen.append(here)
