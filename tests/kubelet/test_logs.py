"""The log of a container: lines, parts, rotation, selection, followers, and a full disk."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kubewright.kubelet import ContainerLog, LogOptions

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


async def text(log: ContainerLog, options: LogOptions | None = None) -> str:
    return b"".join([part async for part in log.read(options or LogOptions())]).decode()


@pytest.fixture
def log(tmp_path: Path) -> ContainerLog:
    """A log with three lines, a second apart."""
    made = ContainerLog(tmp_path / "0.log")
    for number, (stream, line) in enumerate((("stdout", "one"), ("stderr", "two"), ("stdout", "three"))):
        made.write(stream, f"{line}\n".encode(), START + timedelta(seconds=number))  # type: ignore[arg-type]
    return made


async def test_stores_lines_in_the_format_of_kubelets(log: ContainerLog, tmp_path: Path) -> None:
    assert (tmp_path / "0.log").read_text().splitlines() == [
        "2026-01-02T03:04:05.678901000Z stdout F one",
        "2026-01-02T03:04:06.678901000Z stderr F two",
        "2026-01-02T03:04:07.678901000Z stdout F three",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (LogOptions(), "one\ntwo\nthree\n"),
        (LogOptions(tail_lines=2), "two\nthree\n"),
        (LogOptions(tail_lines=0), ""),
        (LogOptions(limit_bytes=6), "one\ntw"),
        (LogOptions(since=START + timedelta(seconds=1)), "two\nthree\n"),
        (LogOptions(stream="stderr"), "two\n"),
        (LogOptions(tail_lines=1, stream="stderr"), "two\n"),
        (LogOptions(timestamps=True, tail_lines=1), "2026-01-02T03:04:07.678901000Z three\n"),
    ],
)
async def test_selects(log: ContainerLog, options: LogOptions, expected: str) -> None:
    assert await text(log, options) == expected


async def test_line_is_stored_when_it_is_complete_or_the_container_ends(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "0.log")
    log.write("stdout", b"half")
    assert await text(log) == ""
    log.write("stdout", b" and half\nrest")
    assert await text(log) == "half and half\n"
    log.close()
    assert await text(log) == "half and half\nrest\n"


@pytest.mark.parametrize("size", [16_383, 16_384, 16_385, 40_000])
async def test_long_lines_are_stored_in_parts_and_read_whole(tmp_path: Path, size: int) -> None:
    log = ContainerLog(tmp_path / "0.log")
    for begin in range(0, size, 10_000):
        log.write("stdout", b"x" * min(10_000, size - begin))
    log.write("stdout", b"\nnext\n")
    assert await text(log) == f"{'x' * size}\nnext\n"
    assert max(map(len, (tmp_path / "0.log").read_bytes().split(b"\n"))) < 16_500


async def test_rotates_and_reads_old_files_first(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "0.log", max_bytes=500, max_old_files=2)
    for number in range(100):
        log.write("stdout", f"line {number}\n".encode())
    lines = (await text(log)).splitlines()
    assert lines == [f"line {number}" for number in range(100 - len(lines), 100)]
    assert 15 < len(lines) < 40
    assert sum(os.stat(entry).st_size for entry in os.scandir(tmp_path)) <= 1500


async def test_removed_log_leaves_no_file(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "0.log", max_bytes=500, max_old_files=2)
    for number in range(100):
        log.write("stdout", f"line {number}\n".encode())
    log.close()
    reading = log.read(LogOptions(limit_bytes=100))
    await anext(reading)
    log.remove()
    assert os.listdir(tmp_path) == []
    assert [part async for part in reading]  # from the file that it has open
    assert await text(log) == ""


async def test_followers_see_new_lines_across_rotations_until_the_end(tmp_path: Path) -> None:
    log = ContainerLog(tmp_path / "0.log", max_bytes=500, max_old_files=2)
    log.write("stdout", b"first\n")
    following = [log.read(LogOptions(follow=True, tail_lines=1)) for _ in range(3)]
    assert [await anext(each) for each in following] == [b"first\n"] * 3

    async def rest(lines: AsyncIterator[bytes]) -> list[bytes]:
        return [line async for line in lines]

    reading = [asyncio.ensure_future(rest(each)) for each in following]
    for number in range(60):
        log.write("stdout", f"line {number}\n".encode())
        await asyncio.sleep(0)
    log.close()
    expected = [f"line {number}\n".encode() for number in range(60)]
    assert await asyncio.gather(*reading) == [expected] * 3


async def test_full_disk_loses_lines_and_reports_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    log = ContainerLog(tmp_path / "0.log")

    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.write("stdout", b"lost\nlost\n")
    log.write("stdout", b"kept\n")
    assert await text(log) == "kept\n"
    assert [record.message for record in caplog.records] == [
        f"cannot write the container log {tmp_path}/0.log: [Errno 28] No space left on device; "
        "records are dropped until a write succeeds"
    ]
