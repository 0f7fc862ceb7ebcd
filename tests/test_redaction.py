"""Texts from outside, in messages, logs and terminals."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubewright.api import DecodeError, core, decode
from kubewright.client import ApiError
from kubewright.client.wire import WarningLog, error_from
from kubewright.redaction import one_line, visible

HOSTILE = "no\x1b[2J\x1b]0;owned\x07 such\r\nERROR forged line\u2028x\u202ey\x9b1mz"


@given(st.text())
def test_one_line_is_one_line_that_a_terminal_only_shows(text: str) -> None:
    made = one_line(text)
    assert len(made.splitlines()) <= 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in made)


@given(st.text())
def test_visible_keeps_line_feeds_and_escapes_all_else(text: str) -> None:
    assert not any((ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160 for char in visible(text))


def test_errors_of_a_server_are_one_line_without_control_characters() -> None:
    error = error_from(
        404, {}, b'{"kind":"Status","message":"a\\u001b[31m\\nforged","reason":"NotFound"}', request="GET x"
    )
    assert str(error) == "GET x: a\\x1b[31m forged"
    assert error.status.message == "a\x1b[31m\nforged"
    assert isinstance(error, ApiError)


def test_warnings_of_a_server_are_logged_on_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        WarningLog().log([f'299 - "{HOSTILE}"'], "GET x")
    (message,) = [record.getMessage() for record in caplog.records]
    assert message == one_line(message)


def test_names_of_objects_that_do_not_fit_are_escaped() -> None:
    with pytest.raises(DecodeError) as caught:
        decode(core.Pod, b'{"metadata":{"name":"a\\u001b[2J\\nb"},"spec":3}')
    assert str(caught.value) == "Pod a\\x1b[2J b: spec: expected `object`, got `int`"


def test_own_patterns_match_hostile_strings_in_linear_time() -> None:
    """In a child with little processor time: each of these took minutes."""
    program = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (20, 20))\n"
        "from kubewright.redaction import one_line, redact\n"
        "from kubewright.api.wire import shallow\n"
        # private: the pattern alone; a request has shorter headers
        "from kubewright.cluster.output._format import _PARAMETER\n"
        "one_line(' ' * 1_000_000 + '!\\x00')\n"
        "redact('-eyJaaaaaaaa.aaaaaaaa' * 5_000)\n"
        "shallow(b'\\\\\\\"' * 200_000)\n"
        "_PARAMETER.findall(' ' * 200_000)\n"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
