"""Event records, cut to the limits of the server."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubewright.api.core.v1 import ObjectReference
from kubewright.events import EventRecord

# private: property tests of names and lengths alone
from kubewright.events._record import LONGEST_NOTE, check_component, fitted, name_for


@settings(deadline=None)
@given(st.text(max_size=2_000), st.integers(1, 1_500))
def test_strings_are_cut_between_characters(text: str, most: int) -> None:
    cut = fitted(text, most)
    assert len(cut.encode("utf-8", "replace")) <= most
    assert text.startswith(cut) or "\ufffd" in cut or any("\ud800" <= c <= "\udfff" for c in text)
    if len(text.encode("utf-8", "replace")) <= most:
        assert cut == text


def test_bytes_count_and_not_characters() -> None:
    assert len(fitted("ü" * 1_000, LONGEST_NOTE)) == 512


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(0, 2**64 - 1))
def test_event_has_a_valid_name_for_any_object(name: str, number: int) -> None:
    made = name_for(ObjectReference(name=name), number)
    assert len(made) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", made)
    assert ".." not in made
    assert ".-" not in made
    assert "-." not in made


def test_the_name_of_the_object_is_in_the_events_name() -> None:
    assert name_for(ObjectReference(name="web-0"), 10) == "web-0.000000000000000a"
    assert name_for(ObjectReference(name="system:admin"), 10) == "unnamed.000000000000000a"


@pytest.mark.parametrize("component", ["sample-controller", "example.com/sample_controller.v1"])
def test_a_component_is_a_qualified_name(component: str) -> None:
    assert check_component(component) == component


@pytest.mark.parametrize("component", ["my controller", "-a", "a" * 64])
def test_rejects_an_invalid_component(component: str) -> None:
    with pytest.raises(ValueError, match="is not a valid component of events"):
        check_component(component)


def test_credentials_are_redacted() -> None:
    record = EventRecord.of(
        ObjectReference(name="web"),
        "Failed",
        "Bearer abcdefgh12345 was refused",
        "Warning",
        "Log in",
        datetime.now(UTC),
    )
    assert record.message == "Bearer (withheld) was refused"


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (ValueError("Bearer abcdefgh12345"), "Bearer (withheld)"),
        (ValueError(), "ValueError"),
        ("caf\udce9", "caf\\udce9"),
    ],
)
def test_error_is_recorded_as_an_encodable_string(message: Any, text: str) -> None:
    word: Any = "Caf\udce9"
    record = EventRecord.of(ObjectReference(name="web"), word, message, "Warning", word, datetime.now(UTC))
    assert (record.reason, record.message, record.action) == ("Caf\\udce9", text, "Caf\\udce9")
