"""The name of a container image, parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Image"]

# The reference grammar of container images, without the rules for separators. Only the registry, which precedes a
# slash, may have capitals.
_REFERENCE: Final = re.compile(
    r"(?P<repository>(?:[a-zA-Z0-9][a-zA-Z0-9._-]*(?::[0-9]+)?/)?[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?:@(?P<digest>[a-z0-9]+:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Image:
    """`repository:tag@digest` with an optional tag and digest. A port belongs to the repository."""

    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Image:
        """Parses a name. Raises ValueError."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not the name of an image, such as registry.example.com/team/foo:1.0.0")
        return cls(match["repository"], match["tag"] or "", match["digest"] or "")

    def warning(self) -> str | None:
        """Returns a warning about the name, or None."""
        if self.tag != "latest" or self.digest:
            return None
        return (
            f"the image {self} has the tag latest: nodes keep the version that they have pulled, and the running"
            " version is unknown; use a tag for each build"
        )

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{f'@{self.digest}' if self.digest else ''}"
