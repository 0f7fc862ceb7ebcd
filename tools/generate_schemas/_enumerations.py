"""The values of enumerations, from the Go code that a server builds its documents with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

__all__ = ["add_enumerations"]

_FUNCTION: Final = re.compile(r"^func schema_(\w+)\(")
_PROPERTY: Final = re.compile(r'^\t{5}"([^"]+)": \{$')
_ENUM: Final = re.compile(r"^(\t+)Enum:\s+\[\]interface\{\}\{(.*)\},$")
_OF_THE_PROPERTY: Final = 7  # tabs; deeper ones are of the elements of a list or map


def add_enumerations(definitions: dict[str, dict[str, Any]], code: Path) -> None:
    """Add `enum` to the properties of the definitions that have one."""
    names = {_function(name): name for name in definitions}
    definition: dict[str, Any] | None = None
    prop = ""
    with code.open() as lines:
        for line in lines:
            if match := _FUNCTION.match(line):
                definition = definitions.get(names.get(match[1], ""))
            elif match := _PROPERTY.match(line):
                prop = match[1]
            elif definition is not None and (match := _ENUM.match(line)):
                schema = definition["properties"][prop]
                if len(match[1]) > _OF_THE_PROPERTY:
                    schema = schema.get("items") or schema["additionalProperties"]
                schema["enum"] = json.loads(f"[{match[2]}]")


def _function(definition: str) -> str:
    """`io.k8s.api.core.v1.Pod` is described by `schema_k8sio_api_core_v1_Pod`."""
    if definition.startswith("io.k8s.api."):
        return "k8sio_" + definition.removeprefix("io.k8s.").replace(".", "_")
    return "pkg_" + definition.partition(".pkg.")[2].replace(".", "_")
