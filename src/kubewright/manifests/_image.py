"""The name of a container image, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Image"]

# As the reference grammar of container images has it, without the rules for what stands between slashes. Only a
# registry, which a slash follows, may have capitals.
_REFERENCE: Final = re.compile(
    r"(?P<repository>(?:[a-zA-Z0-9][a-zA-Z0-9._-]*(?::[0-9]+)?/)?[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*)"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?:@(?P<digest>[a-z0-9]+:[0-9a-fA-F]{32,}))?",
    re.ASCII,
)


@dataclass(frozen=True)
class Image:
    """`repository:tag@digest`, where the tag and the digest may be absent. A port belongs to the repository."""

    repository: str
    tag: str = ""
    digest: str = ""

    @classmethod
    def parse(cls, text: str) -> Image:
        """Take a name apart. Raises ValueError."""
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no name of an image, such as registry.example.com/team/foo:1.0.0")
        return cls(match["repository"], match["tag"] or "", match["digest"] or "")

    def warning(self) -> str | None:
        """Why this name will hurt later, in a sentence; None when it will not."""
        if self.tag != "latest" or self.digest:
            return None
        return (
            f"the image {self} has no tag of its own: nodes keep whatever they pulled as latest, and nobody can tell"
            " which version runs; use a tag for each build"
        )

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        return f"{self.repository}{tag}{f'@{self.digest}' if self.digest else ''}"
