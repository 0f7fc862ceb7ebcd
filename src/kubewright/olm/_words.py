"""Names of fields and kinds for people."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["first_sentence", "title_of"]

# Word boundaries: `containerPort`, `podIPs`, `sample-controller`.
_BOUNDARY: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z](?!\b))|[-_.\s]+")


def title_of(name: str) -> str:
    """Returns `containerPort` as `Container Port`, `sample-controller` as `Sample Controller`."""
    words = [word for word in _BOUNDARY.split(name) if word]
    return " ".join(word[0].upper() + word[1:] for word in words)


def first_sentence(text: str) -> str:
    """Returns the first sentence of a docstring, on one line."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    match = re.match(r".*?[.!?](?=\s|$)", paragraph)
    return match.group() if match else paragraph
