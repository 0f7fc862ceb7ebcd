"""Examples of a package's kinds: the samples of the project, and minimal valid objects for kinds without one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kubewright.api import DecodeError, Object, from_dict, info_of
from kubewright.crd import ValidationError, schema_of, validate
from kubewright.regex import EngineMissing, InvalidPattern, text_matches
from kubewright.yaml import InvalidYAML, load_yaml_documents

__all__ = ["ExampleError", "example_of", "examples_json", "minimal", "read_samples"]

_FORMATS: Final = {
    "date": "2030-01-01",
    "date-time": "2030-01-01T00:00:00Z",
    "duration": "1m",
    "email": "user@example.com",
    "cidr": "10.0.0.0/24",
    "ipv4": "10.0.0.1",
    "ipv6": "fd00::1",
    "hostname": "example.com",
    "uri": "https://example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "byte": "",
}
# Values that may match a pattern, tried in order.
_CANDIDATES: Final = (
    "example",
    "example.com",
    "example/example:1.0.0",
    "1",
    "1Gi",
    "10.0.0.0/24",
    "10.0.0.1",
    "1m",
    "a",
    "A",
)


class ExampleError(ValueError):
    """A sample cannot be read, or is invalid."""


def read_samples(paths: Iterable[Path], kinds: Sequence[type[Object]]) -> list[dict[str, Any]]:
    """Returns the objects of these kinds in files, and in the YAML files of folders, sorted by file name.

    Objects of other kinds are left out. Raises `ExampleError` for a file that is not YAML, and for an invalid object.
    """
    wanted = {(info_of(kind).api_version, info_of(kind).kind): kind for kind in kinds}
    found: list[dict[str, Any]] = []
    for file in _files(paths):
        try:
            documents = load_yaml_documents(file.read_bytes())
        except (InvalidYAML, OSError) as error:
            raise ExampleError(f"{file} cannot be read as YAML: {error}") from error
        for document in documents:
            if not isinstance(document, Mapping):
                continue
            kind = wanted.get((str(document.get("apiVersion")), str(document.get("kind"))))
            if kind is not None:
                found.append(_checked(file, kind, dict(document)))
    return found


def _files(paths: Iterable[Path]) -> Iterable[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(one for one in path.iterdir() if one.suffix in (".yaml", ".yml"))
        else:
            yield path


def _checked(file: Path, kind: type[Object], document: dict[str, Any]) -> dict[str, Any]:
    try:
        validate(from_dict(kind, document))
    except (ValidationError, DecodeError) as error:
        raise ExampleError(f"{file}: {error}") from error
    return document


def examples_json(kinds: Sequence[type[Object]], samples: Sequence[Mapping[str, Any]]) -> str:
    """Returns the value of `alm-examples`: the samples, and a minimal object for each kind without one."""
    there = {(one["apiVersion"], one["kind"]) for one in samples}
    made = [minimal(kind) for kind in kinds if (info_of(kind).api_version, info_of(kind).kind) not in there]
    shown = sorted(
        [*samples, *made], key=lambda one: (one["kind"], one["apiVersion"], one.get("metadata", {}).get("name", ""))
    )
    return json.dumps(shown, indent=2, sort_keys=True, ensure_ascii=False)


def minimal(kind: type[Object]) -> dict[str, Any]:
    """Returns an object with required fields and defaults.

    It is valid according to the schema; a CEL rule or a pattern may still reject it.
    """
    info = info_of(kind)
    schema = schema_of(kind)
    shown = {"apiVersion": info.api_version, "kind": info.kind, "metadata": {"name": f"{info.singular}-sample"}}
    for name, field in (schema.get("properties") or {}).items():
        if name in ("apiVersion", "kind", "metadata", "status"):
            continue
        if name == "spec" or name in schema.get("required", ()):
            shown[name] = example_of(field)
    return shown


def example_of(schema: Mapping[str, Any]) -> Any:
    if "example" in schema:
        return schema["example"]
    if "default" in schema:
        return schema["default"] if schema["default"] != {} else _by_type(schema)
    if schema.get("enum"):
        return schema["enum"][0]
    return _by_type(schema)


def _by_type(schema: Mapping[str, Any]) -> Any:
    match schema.get("type"):
        case "object":
            needed = schema.get("required", ())
            fields = schema.get("properties") or {}
            return {name: example_of(field) for name, field in fields.items() if name in needed or "default" in field}
        case "array":
            return [example_of(schema.get("items", {}))] * schema.get("minItems", 0)
        case "boolean":
            return False
        case "integer" | "number" as kind:
            return _number(schema, whole=kind == "integer")
        case "string":
            return _text(schema)
    return 1 if schema.get("x-kubernetes-int-or-string") else {}


def _number(schema: Mapping[str, Any], *, whole: bool) -> float:
    least: float | None = schema.get("minimum")
    most: float | None = schema.get("maximum")
    step: float = schema.get("multipleOf") or (1 if whole else 0.5)
    if least is not None:
        return least + step if schema.get("exclusiveMinimum") else _rounded_up(least, schema.get("multipleOf"))
    if most is not None and most < step:
        return most - step if schema.get("exclusiveMaximum") else most
    return step


def _rounded_up(value: float, step: float | None) -> float:
    return value if not step else -(-value // step) * step


def _text(schema: Mapping[str, Any]) -> str:
    if (known := _FORMATS.get(schema.get("format", ""))) is not None:
        return known
    least: int = schema.get("minLength", 0)
    most: int = schema.get("maxLength", 1 << 20)
    fitting = [text + "a" * (least - len(text)) for text in _CANDIDATES]
    fitting = [text for text in fitting if len(text) <= most] or ["a" * least]
    pattern = schema.get("pattern")
    if pattern is None:
        return fitting[0]
    try:
        return next((text for text in fitting if text_matches(pattern, text)), fitting[0])
    except (InvalidPattern, EngineMissing):
        return fitting[0]
