"""`Listing`: what a package says about itself, beyond what its operator does."""

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
"""Rules in CEL, which definitions carry, are for good since this version."""
SCORECARD_IMAGE: Final = "operator-framework/scorecard-test:v1.41.1"
"""By its short name: which registry it comes from is for the node, or for whoever names another image, to say."""

_PICTURES: Final = {
    ".gif": "image/gif",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_CHANNEL: Final = re.compile(r"[a-zA-Z0-9]([-a-zA-Z0-9._]*[a-zA-Z0-9])?")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+([-+].*)?")
_VERSIONED: Final = re.compile(r".+\.v?\d.*")  # prometheusoperator.0.56.3 was published, too


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What users of a catalog see, and how they get from version to version. A wrong value raises ValueError.

    What users see can also be edited in the ClusterServiceVersion, where it survives the next generation.

    Args:
        channels: those that the version is released in; `stable` unless given.
        default_channel: the one that users get who name none; the first of the channels unless given.
        description: what the operator does, in Markdown; the texts of its kinds unless given.
        keywords: what it is found by; the names of its kinds unless given.
        maintainers: names, and the mail address of each.
        provider: who offers it.
        links: names, and the address of each.
        icon: a picture, as its media type and its bytes in base64; `icon_of` reads a file.
        min_kube_version: the oldest Kubernetes that it works with.
        replaces: the ClusterServiceVersion that this one follows, such as `foo.v1.0.0`.
        skips: those that an upgrade passes over.
        skip_range: a range of versions from which an upgrade comes here at once, such as `>=1.0.0 <1.2.0`.
        scorecard_image: the image of the tests that the scorecard runs.
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
            raise ValueError(f"default channel {self.default_channel!r} is none of the channels {', '.join(channels)}")
        for name in (*((self.replaces,) if self.replaces else ()), *self.skips):
            if not is_name(name):
                raise ValueError(f"{name!r} is no name of a ClusterServiceVersion: {NAME_RULE}")
        if self.replaces and not _VERSIONED.fullmatch(self.replaces):
            raise ValueError(f"replaces {self.replaces!r} names no version: say which one, such as foo.v1.0.0")
        if self.skip_range and not is_range(self.skip_range):
            raise ValueError(f"skip_range {self.skip_range!r} is no range of versions, such as '>=1.0.0 <1.2.0'")
        if not _VERSION.fullmatch(self.min_kube_version):
            raise ValueError(f"min_kube_version {self.min_kube_version!r} must be a whole version, such as 1.29.0")

    @classmethod
    def from_pyproject(cls, file: Path, **given: Any) -> Listing:
        """A listing with the description, the keywords, the authors and the links of a `pyproject.toml`.

        What is given comes first. A file that is not there says nothing; one that is no TOML raises ValueError.
        """
        import tomllib

        try:
            project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
        except FileNotFoundError:
            project = {}
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"{file} is no TOML: {error}") from error
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
    """The picture in a file, for `Listing.icon`. Raises ValueError for a file that no catalog shows."""
    media = _PICTURES.get(file.suffix.lower())
    if media is None:
        raise ValueError(f"{file} is no picture that catalogs show: use {', '.join(sorted(_PICTURES))}")
    return media, base64.b64encode(file.read_bytes()).decode()
