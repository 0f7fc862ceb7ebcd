"""Copies of files and folders between this machine and a container."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from kubewright.client import Client
from kubewright.client.streams import CommandFailed
from tests.client.streams.conftest import PodServer


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some files."""
    made = tmp_path / "mine"
    (made / "below" / "deep").mkdir(parents=True)
    (made / "one.txt").write_bytes(b"one")
    (made / "below" / "two").write_bytes(bytes(range(256)) * 9000)
    (made / "below" / "deep" / "empty").write_bytes(b"")
    return made


async def test_copies_a_file_to_a_container(client: Client, pod_server: PodServer, folder: Path) -> None:
    await client.copy_to(folder / "one.txt", "web", str(pod_server.folder / "renamed.txt"))
    assert (pod_server.folder / "renamed.txt").read_bytes() == b"one"


async def test_copies_a_folder_there_and_back(
    client: Client, pod_server: PodServer, folder: Path, tmp_path: Path
) -> None:
    await client.copy_to(folder, "web", str(pod_server.folder / "theirs"))
    assert tree(pod_server.folder / "theirs") == tree(folder)
    await client.copy_from("web", str(pod_server.folder / "theirs"), tmp_path / "back")
    assert tree(tmp_path / "back") == tree(folder)


async def test_copies_a_file_from_a_relative_path(client: Client, pod_server: PodServer, tmp_path: Path) -> None:
    (pod_server.folder / "-odd name").write_bytes(b"odd")
    await client.copy_from("web", "-odd name", tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == b"odd"


async def test_missing_file_raises_with_the_output_of_tar(client: Client, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as failure:
        await client.copy_from("web", "/no/such/file", tmp_path / "x")
    assert b"no" in failure.value.result.stderr
    assert not (tmp_path / "x").exists()


async def test_folder_that_cannot_be_written_raises(client: Client, folder: Path) -> None:
    with pytest.raises(CommandFailed):
        await client.copy_to(folder, "web", "/no/such/folder/x")


@pytest.mark.parametrize("name", ["../escaped", "/absolute"])
async def test_refuses_paths_that_leave_the_target(
    client: Client, pod_server: PodServer, tmp_path: Path, name: str
) -> None:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    (pod_server.folder / "evil.tar").write_bytes(archive.getvalue())
    fake = pod_server.folder / "tar"
    fake.write_text(f"#!/bin/sh\ncat {pod_server.folder}/evil.tar\n")
    fake.chmod(0o755)
    target = tmp_path / "deep" / "target"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.client.streams.conftest.PATH", f"{pod_server.folder}:/usr/bin:/bin")
        with pytest.raises((tarfile.TarError, ValueError)):
            await client.copy_from("web", "evil", target)
    assert not (tmp_path / "escaped").exists()
    assert list((tmp_path / "deep").iterdir()) == []


async def test_refuses_more_than_the_limit(client: Client, pod_server: PodServer, tmp_path: Path) -> None:
    (pod_server.folder / "large").write_bytes(bytes(100_000))
    with pytest.raises(ValueError, match="raise max_bytes"):
        await client.copy_from("web", "large", tmp_path / "x", max_bytes=50_000)


async def test_rejects_a_remote_path_without_a_name(client: Client, folder: Path) -> None:
    with pytest.raises(ValueError, match="full path"):
        await client.copy_to(folder, "web", "/")
