"""Examples: the project's samples, or minimal valid objects."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kubewright as kw
from kubewright.api import from_dict
from kubewright.api.schema import violations
from kubewright.crd import validate
from kubewright.olm import ExampleError, read_samples

# private: a property test over schemas, without a kind for each
from kubewright.olm._examples import example_of, minimal
from tests.olm.projects import GROUP, Book, Shelf


class Inner(kw.Model):
    needed: str
    other: int | None = None


class Spec(kw.Model):
    at_least: Annotated[int, kw.Range(5, 9)]
    text: Annotated[str, kw.Length(9, 12)]
    host: Annotated[str, kw.Pattern(r"^[a-z]+\.com$")]
    when: datetime
    ways: Annotated[list[Inner], kw.Items(2)]
    inner: Inner
    choice: Literal["b", "a"]
    flag: bool
    given: int = 4
    left_out: str | None = None


@kw.resource(f"{GROUP}/v1")
class Demanding(kw.Resource[Spec, None]):
    """A kind with many constraints."""


@pytest.mark.promise("Packages for OLM", "Each served version of a kind is owned and has a valid example.")
def test_a_minimal_object_is_valid_and_has_the_defaults() -> None:
    made = minimal(Demanding)
    validate(from_dict(Demanding, made))
    assert made["metadata"] == {"name": "demanding-sample"}
    spec = made["spec"]
    assert (spec["atLeast"], spec["choice"], spec["given"]) == (5, "b", 4)
    assert spec["ways"] == [{"needed": "example"}] * 2
    assert "leftOut" not in spec


@settings(max_examples=50, deadline=None)
@given(st.integers(-50, 50), st.integers(0, 50), st.integers(0, 30), st.integers(0, 30))
def test_minimal_numbers_and_strings_are_valid(least: int, more: int, shortest: int, longer: int) -> None:
    number = {"type": "integer", "minimum": least, "maximum": least + more}
    below = {"type": "number", "maximum": least}
    text = {"type": "string", "minLength": shortest, "maxLength": shortest + longer}
    for schema in (number, below, text):
        assert violations(schema, example_of(schema)) == []


def test_reads_samples_in_order_without_other_kinds(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text(f"apiVersion: {GROUP}/v1\nkind: Book\nmetadata: {{name: b}}\nspec: {{}}\n")
    (tmp_path / "a.yaml").write_text(
        f"apiVersion: {GROUP}/v1\nkind: Book\nmetadata: {{name: a}}\nspec: {{count: 2}}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n---\n"
    )
    (tmp_path / "README.md").write_text("not YAML: [")
    found = read_samples([tmp_path], [Book, Shelf])
    assert [one["metadata"]["name"] for one in found] == ["a", "b"]


@pytest.mark.promise("Packages for OLM", "Each served version of a kind is owned and has a valid example.")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: [", "book.yaml cannot be read as YAML"),
        (f"apiVersion: {GROUP}/v1\nkind: Book\nmetadata: {{name: a}}\nspec: {{count: many}}\n", "spec.count"),
        (
            f"apiVersion: {GROUP}/v1\nkind: Shelf\nmetadata: {{name: a}}\nspec: {{name: abc, tier: huge}}\n",
            "spec.tier",
        ),
    ],
)
def test_reports_an_invalid_sample_with_its_file_and_field(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "book.yaml"
    file.write_text(text)
    with pytest.raises(ExampleError) as caught:
        read_samples([file], [Book, Shelf])
    assert str(file) in str(caught.value)
    assert message in str(caught.value)
