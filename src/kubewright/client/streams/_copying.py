"""Copies of files between this machine and a container, by `tar` in the container, as kubectl does."""

from __future__ import annotations

import asyncio
import contextlib
import os
import posixpath
import tarfile
import tempfile
from pathlib import Path
from typing import IO, Final

from kubewright.client.streams._session import CommandFailed, Exec, ExecResult, Session
from kubewright.clock import Clock

__all__ = ["download_command", "receive_files", "send_files", "upload_command"]

_READ_BYTES: Final = 256 * 1024
_SPOOLED_BYTES: Final = 4 * 2**20
_MAX_STDERR_BYTES: Final = 64 * 1024


def upload_command(remote: str) -> list[str]:
    """Returns the command that unpacks an archive of `send_files`."""
    return ["tar", "-xmf", "-", "-C", posixpath.dirname(remote.rstrip("/")) or "."]


def download_command(remote: str) -> list[str]:
    """Returns the command whose output `receive_files` unpacks."""
    folder, name = posixpath.split(remote.rstrip("/"))
    return ["tar", "-cf", "-", "-C", folder or ("/" if remote.startswith("/") else "."), "--", name or "."]


async def send_files(exec_: Exec, local: Path, remote: str, *, pod: str, clock: Clock) -> None:
    """Copies a file or folder to the path `remote` in the container."""
    name = posixpath.basename(remote.rstrip("/"))
    if not name:
        raise ValueError(f"{remote!r} does not name the file or folder to create: pass a full path")
    with clock.hold(f"copying {local} to pod {pod}"), tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as archive:
        await asyncio.to_thread(_pack, local, name, archive)
        archive.seek(0)
        async with exec_ as session:
            session.check_stdin_can_end()
            feeding = asyncio.ensure_future(_feed(session, archive))
            try:
                result = await _ended(session)
            finally:
                feeding.cancel()
                await asyncio.gather(feeding, return_exceptions=True)
    if result.exit_code:
        raise CommandFailed(upload_command(remote), pod, result)


async def receive_files(exec_: Exec, remote: str, local: Path, *, pod: str, max_bytes: int, clock: Clock) -> None:
    """Copies a file or folder of the container to the path `local`.

    Refuses archives with absolute paths, paths that leave `local`, device files and links that point outside, whatever
    the container sends. Raises ValueError for more than `max_bytes`.
    """
    stderr = bytearray()
    with clock.hold(f"copying {remote} of pod {pod}"), tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as archive:
        size = 0
        async with exec_ as session:
            async for output in session:
                if output.stream == "stderr":
                    stderr += output.data[: _MAX_STDERR_BYTES - len(stderr)]
                    continue
                size += len(output.data)
                if size > max_bytes:
                    raise ValueError(f"{remote} in pod {pod} exceeds {max_bytes} bytes: raise max_bytes")
                await asyncio.to_thread(archive.write, output.data)
            assert session.exit_code is not None
        if session.exit_code:
            result = ExecResult(exit_code=session.exit_code, stdout=b"", stderr=bytes(stderr))
            raise CommandFailed(download_command(remote), pod, result)
        archive.seek(0)
        await asyncio.to_thread(_unpack, archive, posixpath.basename(remote.rstrip("/")) or ".", local)


async def _feed(session: Session, archive: IO[bytes]) -> None:
    with contextlib.suppress(ConnectionError):  # `tar` failed before it has read everything
        while data := await asyncio.to_thread(archive.read, _READ_BYTES):
            await session.write(data)
        await session.close_stdin()


async def _ended(session: Session) -> ExecResult:
    written = {"stdout": bytearray(), "stderr": bytearray()}
    async for output in session:
        kept = written[output.stream]
        kept += output.data[: _MAX_STDERR_BYTES - len(kept)]
    assert session.exit_code is not None
    return ExecResult(exit_code=session.exit_code, stdout=bytes(written["stdout"]), stderr=bytes(written["stderr"]))


def _pack(local: Path, name: str, archive: IO[bytes]) -> None:
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.add(local, arcname=name, filter=_without_owner)


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _unpack(archive: IO[bytes], name: str, local: Path) -> None:
    """Unpacks beside the target first, so that a refused archive leaves nothing behind."""
    local.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=local.parent, prefix=".kubewright-copy-") as folder:
        with tarfile.open(fileobj=archive, mode="r:") as tar:
            tar.extractall(folder, filter="data")
        source = Path(folder) / name
        if not source.exists() and not source.is_symlink():
            raise ValueError(f"the archive does not contain {name!r}")
        if source.is_dir() and local.is_dir():
            for child in list(source.iterdir()):
                os.replace(child, local / child.name)
        else:
            os.replace(source, local)
