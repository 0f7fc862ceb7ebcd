"""A kind whose pattern is slow for an engine that backtracks."""

from __future__ import annotations

from typing import Annotated

import kubewright as kw
from tests.attacks.payloads import BACKTRACKING


class SlowSpec(kw.Model):
    text: Annotated[str, kw.Pattern(BACKTRACKING)] = "a"


@kw.resource("attacks.example.com/v1")
class Slow(kw.Resource[SlowSpec, None]):
    """Has a text that only linear-time engines can check."""
