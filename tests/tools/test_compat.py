"""Runs on other versions of Kubernetes: names of releases, rows of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubewright.testing import SetupError
from tools.compat import ROOT, TESTS, release_of, row


def test_a_full_version_is_used_as_it_is() -> None:
    assert release_of("1.35.4") == "1.35.4"


@pytest.mark.parametrize("version", ["latest", "1", "v1.35", "1.35.x"])
def test_rejects_what_is_not_a_version(version: str) -> None:
    with pytest.raises(SetupError, match="not a version of Kubernetes"):
        release_of(version)


def go(folder: Path, answer: str) -> None:
    (folder / "go").write_text(f'#!/bin/sh\nif [ "$1" = env ]; then echo go1.26.0; exit 0; fi\n{answer}\n')
    (folder / "go").chmod(0o755)


def test_asks_the_proxy_for_the_newest_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(tmp_path, '[ "$6" = k8s.io/kubernetes@v1.35 ] || [ "$5" = k8s.io/kubernetes@v1.35 ] && echo v1.35.4')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert release_of("1.35") == "1.35.4"


def test_reports_a_version_that_the_proxy_does_not_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(tmp_path, "echo 'no matching versions for query' >&2; exit 1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(SetupError, match=r"no release of Kubernetes 1\.99: no matching versions"):
        release_of("1.99")


def test_a_row_counts_what_passed_failed_and_was_skipped(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text('<testsuites><testsuite tests="10" failures="1" errors="1" skipped="2"/></testsuites>')
    assert row("1.35.4", report) == "| 1.35.4 | 6 | 2 | 2 |"


def test_the_folders_of_tests_exist() -> None:
    assert [one for one in TESTS if not (ROOT / one).is_dir()] == []
