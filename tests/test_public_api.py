"""The public Python API is the recorded one."""

from __future__ import annotations

import pytest

from tools.public_api import RECORD, differences, public_api


@pytest.mark.promise("Packaging", "The public Python API is recorded, and does not change unnoticed.")
def test_public_api_is_the_recorded_one() -> None:
    changes = differences(RECORD.read_text(encoding="utf-8").splitlines(), [*public_api()])
    assert not changes, "\n".join(changes)


def test_record_has_signatures_of_functions_methods_and_constructors() -> None:
    recorded = RECORD.read_text(encoding="utf-8")
    for line in (
        "kubewright.Operator: kubewright.operator.Operator",
        "kubewright.api.validate(",
        "kubewright.controller.Result.__init__(",
        "async kubewright.client.Client.get(",
        "class kubewright.client.NotFound(ApiError)",
    ):
        assert f"\n{line}" in f"\n{recorded}", line


def test_record_does_not_depend_on_the_machine() -> None:
    assert " at 0x" not in RECORD.read_text(encoding="utf-8")


def test_names_what_was_removed_and_asks_for_the_changelog() -> None:
    *changed, advice = differences(["a()", "b(x)"], ["a()", "b(x, y)"])
    assert changed == ["-b(x)", "+b(x, y)"]
    assert "changelog" in advice


def test_an_added_name_only_has_to_be_recorded() -> None:
    *changed, advice = differences(["a()"], ["a()", "b()"])
    assert changed == ["+b()"]
    assert "changelog" not in advice
    assert "python -m tools.public_api --update" in advice


def test_equal_apis_have_no_differences() -> None:
    assert differences(["a()"], ["a()"]) == []
