"""Bodies that are not JSON are refused with the message of Go's decoder."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.cluster.machinery import syntax_problem
from tests.cluster.conftest import Raw


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b'{"a":', "unexpected end of JSON input"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        (b"1 2", "invalid character '2' after top-level value"),
        (b"nul", "invalid character ' ' in literal null (expecting 'l')"),
        (b"-a", "invalid character 'a' in numeric literal"),
        (b"1.", "invalid character ' ' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b'"\\q"', "invalid character 'q' in string escape code"),
        (b'"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b"\x00", "invalid character '\\x00' looking for beginning of value"),
        (b"\xc3\xa9", "invalid character '\u00c3' looking for beginning of value"),
        (b"", "unexpected end of JSON input"),
    ],
)
def test_names_the_character_as_go_does(body: bytes, problem: str) -> None:
    assert syntax_problem(body) == problem


@given(st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.lists))
def test_finds_no_problem_in_json(value: object) -> None:
    assert syntax_problem(json.dumps(value).encode()) == ""


def test_deep_bodies_need_no_recursion() -> None:
    assert syntax_problem(b"[" * 100_000) == "unexpected end of JSON input"


@pytest.mark.promise("The embedded cluster", "A body that is not JSON is refused with the message of a real cluster.")
async def test_malformed_patch_is_refused_as_by_the_real_server(raw: Raw) -> None:
    path = "/api/v1/namespaces/default"
    refused = await raw("PATCH", path, b'{"metadata":', type="application/merge-patch+json")
    assert (refused.status, refused.body["message"]) == (400, "error decoding patch: unexpected end of JSON input")
