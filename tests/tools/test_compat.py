"""Runs on other versions of Kubernetes: names of releases, rows of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.testing import KUBERNETES_VERSION, SetupError
from tools.compat import RELEASES, ROOT, TESTS, parsed, release_of, row


def test_a_full_version_is_used_as_it_is() -> None:
    assert release_of("1.35.4") == "1.35.4"


@pytest.mark.parametrize("version", ["latest", "1", "v1.35", "1.35.x"])
def test_rejects_what_is_not_a_version(version: str) -> None:
    with pytest.raises(SetupError, match="not a version of Kubernetes"):
        release_of(version)


@pytest.mark.parametrize("minor", RELEASES)
def test_a_minor_version_is_its_recorded_release(minor: str) -> None:
    assert release_of(minor).rpartition(".")[0] == minor


def test_asks_for_a_release_of_a_version_that_is_not_recorded() -> None:
    with pytest.raises(
        SetupError, match=r"no release of Kubernetes 1\.99 is recorded; name one, such as 1\.99\.0, or use 1\.34"
    ):
        release_of("1.99")


def test_the_pinned_version_is_recorded() -> None:
    assert KUBERNETES_VERSION in RELEASES.values()


def test_passes_arguments_after_a_double_dash_to_pytest() -> None:
    assert parsed(["1.34", "1.35", "--", "tests/client", "-x"]) == (["1.34", "1.35"], ["tests/client", "-x"])
    assert parsed(["1.35"]) == (["1.35"], [])


def test_a_row_counts_what_passed_failed_and_was_skipped(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="10" failures="1" errors="1" skipped="2"/></testsuites>')
    assert row("1.35.4", report) == "| 1.35.4 | 6 | 2 | 2 |"


def test_the_folders_of_tests_exist() -> None:
    assert [one for one in TESTS if not (ROOT / one).is_dir()] == []
