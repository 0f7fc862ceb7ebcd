"""PEM is parsed like Go's `encoding/pem`, in linear time."""

from __future__ import annotations

import base64

from hypothesis import given
from hypothesis import strategies as st

from kubewright.cluster.certificates import certificate_problem, pem_blocks, request_problem

BLOCK = b"-----BEGIN A-----\naGVs\nbG8=\n-----END A-----\n"


def test_yields_each_block_and_skips_everything_else() -> None:
    broken = b"-----BEGIN A-----\n!!!\n-----END A-----\n"
    data = b"text\n" + BLOCK + b"text\r\n-----BEGIN B\n" + broken + BLOCK.replace(b"\n", b"\r\n")
    assert [(block.type, block.content) for block in pem_blocks(data)] == [("A", b"hello")] * 2


def test_recognizes_headers() -> None:
    (block,) = pem_blocks(b"-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\nB: c\n\naGVsbG8=\n-----END A-----")
    assert (block.has_headers, block.content) == (True, b"hello")


def test_ignores_a_block_with_another_end() -> None:
    assert list(pem_blocks(b"-----BEGIN A-----\naGVsbG8=\n-----END B-----\n")) == []


def test_many_beginnings_without_an_end_take_linear_time() -> None:
    data = b"-----BEGIN A-----\n" * 150_000 + b"-----END B-----\n"
    assert list(pem_blocks(data)) == []


@given(st.lists(st.sampled_from([b"-----BEGIN A-----", b"-----END A-----", b"\n", b"-", b"aGVs", b":", b"\xff"])))
def test_accepts_any_bytes(parts: list[bytes]) -> None:
    encoded = base64.b64encode(b"".join(parts)).decode()
    assert request_problem(encoded)
    certificate_problem(encoded)


@given(st.binary(max_size=200))
def test_rejects_any_content_that_is_not_a_request(content: bytes) -> None:
    pem = (
        b"-----BEGIN CERTIFICATE REQUEST-----\n" + base64.b64encode(content) + b"\n-----END CERTIFICATE REQUEST-----\n"
    )
    assert request_problem(base64.b64encode(pem).decode())
