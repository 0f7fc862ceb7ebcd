"""Log files that only their owner can read, and whose size is bounded."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from kubewright.rotating_file import RotatingFile

LOGGER = logging.getLogger("kubewright.tests")


def test_only_the_owner_can_read_the_file(tmp_path: Path) -> None:
    existing = tmp_path / "audit.log"
    existing.write_text("before\n")
    existing.chmod(0o644)
    file = RotatingFile(existing, what="audit log", logger=LOGGER)
    file.write(b"after\n")
    file.close()
    assert stat.S_IMODE(existing.stat().st_mode) == 0o600
    assert existing.read_text() == "before\nafter\n"


def test_rotates_and_removes_old_files(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = RotatingFile(path, what="audit log", logger=LOGGER, max_bytes=20, max_old_files=2)
    for number in range(9):
        file.write(b"line %d....\n" % number)  # 11 bytes: one in each file
    file.close()
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "audit.log": "line 8....\n",
        "audit.log.1": "line 7....\n",
        "audit.log.2": "line 6....\n",
    }
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()} == {0o600}


def test_does_not_follow_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "audit.log").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError):
        RotatingFile(tmp_path / "audit.log", what="audit log", logger=LOGGER)


def test_logs_only_the_first_of_several_failed_writes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = RotatingFile(tmp_path / "audit.log", what="audit log", logger=LOGGER, max_bytes=10, max_old_files=1)
    file.write(b"first\n")
    (tmp_path / "audit.log.1").mkdir()  # in the way of the rotation
    (tmp_path / "audit.log.1" / "x").touch()
    for _ in range(3):
        file.write(b"another line\n")
    file.close()
    [record] = caplog.records
    assert record.getMessage().startswith(f"cannot write the audit log {tmp_path / 'audit.log'}: ")
