"""`Listing`: the description of a package for catalogs."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubewright.olm._graph import is_range
from kubewright.olm._names import NAME_RULE, is_name

__all__ = ["OLDEST_KUBERNETES", "Listing", "icon_of"]

OLDEST_KUBERNETES: Final = "1.29.0"
"""The first version in which CEL rules of definitions are stable."""
SCORECARD_IMAGE: Final = "operator-framework/scorecard-test:v1.41.1"
"""The short name: the node decides about the registry, unless the user names another image."""

_PICTURES: Final = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_CHANNEL: Final = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9._]*[a-zA-Z0-9])?")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+([-+].*)?")
_VERSIONED: Final = re.compile(r".+\.v?\d.*")  # prometheusoperator.0.56.3 was published as well


@dataclass(frozen=True, kw_only=True)
class Listing:
    """The description of a package in catalogs, and its upgrade path. An invalid value raises ValueError.

    The fields that users see can also be edited in the ClusterServiceVersion, where edits are kept.

    Args:
        channels: the channels of the version. Default: `stable`.
        default_channel: the default channel of the package. Default: the first channel.
        description: what the operator does, in Markdown. Default: the descriptions of its kinds.
        keywords: search terms. Default: the names of its kinds.
        maintainers: names, with their email addresses.
        provider: the provider of the operator.
        links: names, with their URLs.
        icon: the media type and the base64 content of an image; `icon_of` reads a file.
        min_kube_version: the oldest supported Kubernetes.
        replaces: the ClusterServiceVersion that this one replaces, such as `foo.v1.0.0`.
        skips: versions that an upgrade skips.
        skip_range: a range of versions that upgrade directly to this one, such as `>=1.0.0 <1.2.0`.
        scorecard_image: the image of the scorecard's tests.
    """

    channels: Sequence[str] = ()
    default_channel: str = ""
    description: str = ""
    keywords: Sequence[str] = ()
    maintainers: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    icon: tuple[str, str] | None = None
    min_kube_version: str = OLDEST_KUBERNETES
    replaces: str = ""
    skips: Sequence[str] = ()
    skip_range: str = ""
    scorecard_image: str = SCORECARD_IMAGE

    def __post_init__(self) -> None:
        channels = tuple(self.channels) or ("stable",)
        object.__setattr__(self, "channels", channels)
        object.__setattr__(self, "default_channel", self.default_channel or channels[0])
        object.__setattr__(self, "scorecard_image", self.scorecard_image or SCORECARD_IMAGE)
        for channel in channels:
            if not _CHANNEL.fullmatch(channel):
                raise ValueError(f"channel {channel!r} must be letters, digits, '-', '.' and '_', such as stable-v1")
        if self.default_channel not in channels:
            raise ValueError(
                f"default channel {self.default_channel!r} is not one of the channels {', '.join(channels)}"
            )
        for name in (*((self.replaces,) if self.replaces else ()), *self.skips):
            if not is_name(name):
                raise ValueError(f"{name!r} is not a name of a ClusterServiceVersion: {NAME_RULE}")
        if self.replaces and not _VERSIONED.fullmatch(self.replaces):
            raise ValueError(f"replaces {self.replaces!r} has no version: name one, such as foo.v1.0.0")
        if self.skip_range and not is_range(self.skip_range):
            raise ValueError(f"skip_range {self.skip_range!r} is not a range of versions, such as '>=1.0.0 <1.2.0'")
        if not _VERSION.fullmatch(self.min_kube_version):
            raise ValueError(f"min_kube_version {self.min_kube_version!r} must be a full version, such as 1.29.0")

    @classmethod
    def from_pyproject(cls, file: Path, **given: Any) -> Listing:
        """Returns a listing with the description, keywords, authors and links of a `pyproject.toml`.

        Arguments take precedence. A missing file is ignored; a file that is not TOML raises ValueError.
        """
        import tomllib

        try:
            project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
        except FileNotFoundError:
            project = {}
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{file} is not TOML: {error}") from error
        people = [one for name in ("maintainers", "authors") for one in project.get(name, ()) if isinstance(one, dict)]
        named = {one["name"]: one["email"] for one in people if "name" in one and "email" in one}
        found = {
            "description": project.get("description", ""),
            "keywords": project.get("keywords", ()),
            "maintainers": dict(sorted(named.items())),
            "provider": next((one["name"] for one in people if "name" in one), ""),
            "links": project.get("urls", {}),
        }
        return cls(**{**found, **given})


def icon_of(file: Path) -> tuple[str, str]:
    """Returns the image in a file, for `Listing.icon`. Raises ValueError for a type that catalogs do not show."""
    media = _PICTURES.get(file.suffix.lower())
    if media is None:
        raise ValueError(f"{file} is not an image that catalogs show: use {', '.join(sorted(_PICTURES))}")
    return media, base64.b64encode(file.read_bytes()).decode()
