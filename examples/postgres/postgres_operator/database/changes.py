"""`Changes`: what `synchronize` has done, for events and the log. It contains no passwords."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Changes:
    """What was done, and what was refused.

    Attributes:
        done: one phrase for each change, such as `created role "app"`.
        failures: one sentence for each part that the server refused.
    """

    done: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.done)

    def __str__(self) -> str:
        return ", ".join(self.done) or "nothing to do"
