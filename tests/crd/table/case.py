"""A row of the table."""

from dataclasses import dataclass, field
from typing import Any

import kubewright as kw
from tests.crd.conftest import ABSENT, kind_of


@dataclass
class Bad:
    """A value that is refused, and the fields that the server blames."""

    value: Any
    paths: list[str]
    here: list[str] | None = None  # what `validate` blames, where the server's guess is a bad one


@dataclass
class Case:
    name: str
    hint: Any
    good: list[Any]
    bad: list[Bad]
    default: Any = ABSENT
    schema: dict[str, Any] | None = None
    server_only: bool = False  # CEL rules, which `validate` does not check
    since: int = 0  # the minor version of Kubernetes that introduced it, if some tested version lacks it
    kind: type[kw.Object] = field(init=False)

    def __post_init__(self) -> None:
        self.kind = kind_of(self.hint, self.default)


TABLE: list[Case] = []


def case(
    name: str,
    hint: Any,
    *,
    good: list[Any],
    bad: list[Any],
    default: Any = ABSENT,
    schema: dict[str, Any] | None = None,
    server_only: bool = False,
    since: int = 0,
) -> None:
    """Adds a row. Default for a bad value that is not a `Bad`: the server rejects `spec.value`."""
    refused = [found if isinstance(found, Bad) else Bad(found, ["spec.value"]) for found in bad]
    TABLE.append(Case(name, hint, good, refused, default, schema, server_only, since))
