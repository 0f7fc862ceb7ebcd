"""The bundle of the Memcached example: as the program says, and valid for us and for operator-framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.cli import run
from kubewright.olm import SUITES, Bundle, validate
from tests.olm.validator import BUILD_SECONDS, theirs

MEMCACHED = Path(__file__).parents[2] / "examples" / "memcached"


def test_it_is_what_the_program_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(MEMCACHED)
    ended = run(["bundle", "memcached.py", "--samples", "example-memcached.yaml", "--check"])
    assert ended == 0, capsys.readouterr().out


@pytest.mark.promise("Packages for OLM", "The Memcached example's bundle passes both validators.")
def test_we_find_nothing_wrong_with_it() -> None:
    report = validate(MEMCACHED / "bundle", [suite for suite in SUITES if suite != "operatorhub"])
    assert list(report.problems) == []


@pytest.mark.promise("Packages for OLM", "The Memcached example's bundle passes both validators.")
@pytest.mark.control_plane
@pytest.mark.timeout(BUILD_SECONDS)
def test_operator_framework_finds_nothing_wrong_with_it() -> None:
    verdict = theirs([MEMCACHED / "bundle"])[MEMCACHED / "bundle"]
    assert (verdict.errors, verdict.warnings) == ([], [])
    assert theirs([MEMCACHED / "bundle"], "practices")[MEMCACHED / "bundle"].errors == []


def test_every_field_is_described() -> None:
    [owned] = Bundle.read(MEMCACHED / "bundle").spec["customresourcedefinitions"]["owned"]
    assert {one["path"] for one in owned["specDescriptors"]} == {"containerPort", "size"}
    assert {one["path"] for one in owned["statusDescriptors"]} == {"conditions", "nodes"}
