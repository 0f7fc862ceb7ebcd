"""One environment, with a variable of each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubewright.api.cel import Environment, compile_expression, types

VARIABLES: dict[str, tuple[types.Type, Any]] = {
    "number": (types.INT, 7),
    "share": (types.DOUBLE, 0.5),
    "text": (types.STRING, "kubernetes"),
    "flag": (types.BOOL, True),
    "numbers": (types.list_of(types.INT), [3, 1, 2]),
    "texts": (types.list_of(types.STRING), ["b", "a"]),
    "ages": (types.map_of(types.STRING, types.INT), {"eve": 30, "bob": 25}),
    "anything": (types.DYN, {"kind": "Pod", "ports": [80, "http"], "none": None}),
}
ENVIRONMENT = Environment({name: type_ for name, (type_, _) in VARIABLES.items()})
VALUES = {name: value for name, (_, value) in VARIABLES.items()}


@pytest.fixture
def evaluate() -> Callable[[str], Any]:
    """The value of an expression."""

    def evaluate(text: str) -> Any:
        return compile_expression(text, ENVIRONMENT).run(VALUES)[0]

    return evaluate
