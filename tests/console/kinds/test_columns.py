"""Printer columns: the same cells as the server's, with timestamps instead of ages."""

from __future__ import annotations

from typing import Any

import pytest

from kubewright.console.kinds import custom_printer, printer_of


def one(json_path: str, type_: str = "string") -> dict[str, Any]:
    return {"name": "It", "type": type_, "jsonPath": json_path}


FOO = {
    "metadata": {"name": "a", "creationTimestamp": "2030-01-01T00:00:00Z"},
    "spec": {"size": 3, "ratio": 0.5, "on": True, "names": ["x", "y"], "when": "2029-01-01T00:00:00Z"},
    "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]},
}


@pytest.mark.promise(
    "Access to the console and its cost",
    "Printer columns are computed from the definition, with timestamps instead of ages.",
)
@pytest.mark.parametrize(
    ("path", "type_", "value"),
    [
        (".spec.size", "integer", 3),
        (".spec.ratio", "number", 0.5),
        (".spec.on", "boolean", True),
        (".spec.names", "string", '["x","y"]'),
        (".spec.names[1]", "string", "y"),
        ('.status.conditions[?(@.type=="Old")].status', "string", "False"),
        (".spec.when", "date", "2029-01-01T00:00:00Z"),
        (".spec.missing", "string", None),
        (".spec.names", "integer", None),
        (".spec.size", "date", None),
    ],
)
def test_definition_column_shows_value_of_json_path(path: str, type_: str, value: object) -> None:
    printer = custom_printer([one(path, type_)])
    assert [column.type for column in printer.columns] == [type_]
    assert printer.cells(FOO) == {"c0": value}


def test_definition_without_columns_shows_creation_timestamp() -> None:
    printer = custom_printer([])
    assert [(column.name, column.type) for column in printer.columns] == [("Age", "date")]
    assert printer.cells(FOO) == {"c0": "2030-01-01T00:00:00Z"}


def test_column_with_priority_is_wide() -> None:
    [usual, wide] = custom_printer([one(".a"), one(".b") | {"priority": 1}]).columns
    assert not usual.wide
    assert wide.wide


@pytest.mark.parametrize("obj", [{}, {"metadata": None}, {"metadata": {"name": "a"}, "spec": "text"}, {"spec": []}])
def test_malformed_object_has_empty_cells(obj: dict[str, Any]) -> None:
    assert custom_printer([one(".spec.size")]).cells(obj) == {"c0": None}


@pytest.mark.promise(
    "Access to the console and its cost",
    "Printer columns are computed from the definition, with timestamps instead of ages.",
)
def test_built_in_kinds_have_the_servers_columns() -> None:
    printer = printer_of("deployments.apps", "apps/v1")
    assert [column.name for column in printer.columns if not column.wide] == ["Ready", "Up-to-date", "Available", "Age"]
    template = {"spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    cells = printer.cells(
        {
            "metadata": {"name": "web", "creationTimestamp": "2030-01-01T00:00:00Z"},
            "spec": {"replicas": 2, "template": template, "selector": {"matchLabels": {"a": "b"}}},
            "status": {"readyReplicas": 1},
        }
    )
    assert [*cells.values()] == ["1/2", 0, 0, "2030-01-01T00:00:00Z", "web", "nginx", "a=b"]


def test_malformed_built_in_object_has_empty_cells() -> None:
    printer = printer_of("pods", "v1")
    assert set(printer.cells({"metadata": {"name": "a"}, "spec": 3}).values()) == {None}


def test_kind_without_columns_shows_age() -> None:
    assert [column.name for column in printer_of("widgets.example.com", "example.com/v1").columns] == ["Age"]
