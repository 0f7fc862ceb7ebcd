"""Recorded data about built-in resources equals that of the real server."""

from __future__ import annotations

import msgspec

from kubewright.cluster.data import read_data
from kubewright.cluster.machinery import go_type_of, reader_of
from kubewright.cluster.registry import builtin_types
from kubewright.columns import builtin_columns_data, builtin_printer
from kubewright.testing import ControlPlane
from tools.generate_cluster.__main__ import api_services, printer_columns, resources


def test_recorded_columns_equal_those_of_the_real_server(control_plane: ControlPlane) -> None:
    assert builtin_columns_data() == printer_columns(control_plane), "run: python -m tools.generate_cluster"


def test_prints_every_kind_that_has_columns() -> None:
    """Other kinds would be shown with name and age alone. Of these three, the server has no objects."""
    assert {each for each in builtin_columns_data() if builtin_printer(*each.rsplit("/", 1)) is None} == {
        "flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        "v1/componentstatuses",
    }


def test_recorded_priorities_equal_those_of_the_real_server(control_plane: ControlPlane) -> None:
    kept = msgspec.json.decode(read_data("api_services.json"))
    assert kept == api_services(control_plane), "run: python -m tools.generate_cluster"


def test_recorded_discovery_equals_that_of_the_real_server(control_plane: ControlPlane) -> None:
    kept, found = msgspec.json.decode(read_data("resources.json")), resources(control_plane)
    for facts in (kept, found):
        facts["version"].pop("goVersion")  # depends on the build
        facts["version"].pop("platform")
    assert kept == found, "run: python -m tools.generate_cluster"


def test_decodes_every_built_in_kind() -> None:
    for type_ in builtin_types():
        struct = go_type_of(type_.api_version, type_.kind)
        assert struct is not None, type_
        made = reader_of(struct)({"metadata": {"name": "a"}}, "", None)
        assert made["metadata"] == {"name": "a"}, type_
        assert reader_of(struct)(made, "", []) == made, type_  # decoding is idempotent
