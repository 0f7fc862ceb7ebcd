"""Kubeconfigs that others can read, or that verify no server: one warning for each file."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kubewright.client import load_config

CLUSTERS = """
current-context: one
clusters:
- {name: safe, cluster: {server: "https://127.0.0.1:1"}}
- {name: unsafe, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}
contexts:
- {name: one, context: {cluster: safe}}
- {name: two, context: {cluster: unsafe}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "kube config"
    made.touch(0o600)
    made.write_text(CLUSTERS)
    return made


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_warns_once_of_a_file_that_others_can_read(file: Path, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    file.chmod(mode)
    for _ in range(3):
        load_config(kubeconfig=file)
    [warning] = warnings(caplog)
    assert f"kubeconfig {file} is readable by other users (mode {mode:04o})" in warning
    assert warning.endswith(f"run: chmod 600 '{file}'")


def test_warns_once_of_a_server_that_is_not_verified(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        load_config(kubeconfig=file, context="two")
    [warning] = warnings(caplog)
    assert f"kubeconfig {file}: cluster 'unsafe': the certificate of the server is not verified" in warning
    assert "set certificate-authority-data instead" in warning


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_does_not_warn_of_a_private_file(file: Path, mode: int, caplog: pytest.LogCaptureFixture) -> None:
    file.chmod(mode)
    load_config(kubeconfig=file)
    assert warnings(caplog) == []
