"""Logs, exec, attach, port-forward and copies through both API servers, with our client and with kubectl."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kubewright.api import core
from kubewright.client import ApiError, BadRequest, BlockingClient, Client, NotFound
from kubewright.cluster import Cluster
from tests.kubelet.conftest import Processes, echo_server, pod

pytestmark = pytest.mark.clusters


class TestClient:
    @pytest.mark.promise("Streams of pods", "Exec, attach, logs and port-forward work through the API server.")
    async def test_runs_commands(self, client: Client, processes: Processes, namespace: str) -> None:
        result = await client.exec("web", ["sh", "-c", "cat; echo $CONTAINER >&2; exit 3"], stdin=b"to stdin")
        assert (result.exit_code, result.stdout) == (3, b"to stdin")
        assert result.stderr.decode().strip() == f"{namespace}/web/app"

    async def test_reports_a_program_that_does_not_exist(self, client: Client, processes: Processes) -> None:
        with pytest.raises(ApiError, match="no-such-program"):
            await client.exec("web", ["no-such-program"])

    async def test_attaches(self, client: Client, processes: Processes) -> None:
        async with client.attach("web", stdin=True) as session:
            await session.write(b"hello")
            await session.close_stdin()
            assert b"".join([output.data async for output in session]) == b"attached\nhello"

    async def test_reads_and_follows_logs(self, client: Client, processes: Processes) -> None:
        processes.log.write("stdout", b"one\ntwo\n")
        assert [line async for line in client.logs("web")] == ["one", "two"]
        assert [line async for line in client.logs("web", tail_lines=1)] == ["two"]
        following = client.logs("web", follow=True, tail_lines=0)
        first = asyncio.ensure_future(anext(aiter(following)))
        while not first.done():  # until the server follows
            processes.log.write("stderr", b"three\n")
            await asyncio.sleep(0.01)  # real: nothing announces that the server follows
        assert await first == "three"
        processes.log.close()
        assert {line async for line in following} <= {"three"}

    async def test_reports_logs_that_do_not_exist(self, client: Client, processes: Processes) -> None:
        with pytest.raises(BadRequest, match='previous terminated container "app" in pod "web" not found'):
            _ = [line async for line in client.logs("web", previous=True)]

    async def test_forwards_ports(self, client: Client, processes: Processes) -> None:
        async with echo_server() as port, client.port_forward("web", port) as forward:
            for number in range(3):
                reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
                writer.write(f"number {number}".encode())
                writer.write_eof()
                assert await reader.read() == f"{number} rebmun".encode()
                writer.close()

    async def test_copies_files(self, client: Client, processes: Processes, tmp_path: Path) -> None:
        (tmp_path / "source").write_bytes(bytes(range(256)) * 1000)
        await client.copy_to(tmp_path / "source", "web", "copied")
        await client.copy_from("web", "copied", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == (tmp_path / "source").read_bytes()

    async def test_rejects_unknown_pods_and_containers(self, client: Client, processes: Processes) -> None:
        with pytest.raises(NotFound, match='pods "other" not found'):
            await client.exec("other", ["true"])
        with pytest.raises(BadRequest, match="container other is not valid for pod web"):
            await client.exec("web", ["true"], container="other")

    async def test_rejects_a_pod_without_a_node(self, client: Client, processes: Processes) -> None:
        await client.create(pod("homeless", None))
        with pytest.raises(BadRequest, match="pod homeless does not have a host assigned"):
            await client.exec("homeless", ["true"])
        assert [line async for line in client.logs("homeless")] == []
        await client.delete(core.Pod, "homeless", grace_period_seconds=0)

    async def test_asks_for_a_container_if_there_are_several(
        self, client: Client, processes: Processes, namespace: str
    ) -> None:
        await client.create(pod("two", f"node-{namespace}", "one", "other"))
        with pytest.raises(BadRequest, match=r"must be specified for pod two, choose one of: \[one other\]"):
            await client.exec("two", ["true"])
        assert (await client.exec("two", ["true"], container="other")).exit_code == 0
        await client.delete(core.Pod, "two", grace_period_seconds=0)

    async def test_reports_a_node_that_does_not_answer(self, client: Client, namespace: str) -> None:
        await client.create(pod("lost", "no-such-node"))
        with pytest.raises(ApiError):
            await client.exec("lost", ["true"])
        await client.delete(core.Pod, "lost", grace_period_seconds=0)

    async def test_request_without_an_upgrade_is_rejected(
        self, client: Client, processes: Processes, namespace: str
    ) -> None:
        with pytest.raises(BadRequest, match="Upgrade request required"):
            await client.request("GET", f"/api/v1/namespaces/{namespace}/pods/web/exec", query={"command": "true"})


class TestBlockingClient:
    """The same streams for scripts without an event loop."""

    @pytest.fixture
    async def blocking(self, cluster: Cluster, namespace: str) -> AsyncIterator[BlockingClient]:
        """A client that reaches the cluster by its port."""
        await cluster.serve()
        made = BlockingClient.connect(kubeconfig=cluster.kubeconfig(), namespace=namespace)
        yield made
        await asyncio.to_thread(made.close)

    @pytest.mark.promise("Streams of pods", "A blocking client has sessions with stdin, a terminal and an exit code.")
    async def test_session_writes_reads_and_has_an_exit_code(
        self, blocking: BlockingClient, processes: Processes
    ) -> None:
        def script() -> tuple[bytes, int | None]:
            command = ["sh", "-c", "read line; echo got $line >&2; exit 7"]
            with blocking.exec_session("web", command, stdin=True) as session:
                session.write(b"this\n")
                output = session.read()
                assert output is not None
                assert output.stream == "stderr"
                assert session.read() is None
                return output.data, session.exit_code

        assert await asyncio.to_thread(script) == (b"got this\n", 7)

    async def test_session_has_a_terminal_that_is_resized(self, blocking: BlockingClient, processes: Processes) -> None:
        def script() -> bytes:
            with blocking.exec_session("web", ["sh"], stdin=True, tty=True) as session:
                session.resize(columns=91, rows=37)
                # The resize and the input have different channels: asks until the size has arrived.
                session.write(b'until stty size | grep "37 91"; do :; done; exit\n')
                return b"".join(output.data for output in session)

        output = await asyncio.to_thread(script)
        # The shell's prompt may come after the echo of the input. The echo has the size in quotes.
        assert re.search(rb"^(?:# )?37 91\r$", output, re.MULTILINE), output

    async def test_session_ends_when_it_is_left(self, blocking: BlockingClient, processes: Processes) -> None:
        def script() -> None:
            with blocking.exec_session("web", ["sleep", "1000"]) as session:
                assert session.exit_code is None

        await asyncio.to_thread(script)

    async def test_result_needs_stdin_as_bytes(self, blocking: BlockingClient, processes: Processes) -> None:
        with pytest.raises(ValueError, match=r"stdin=True needs a session.*with client\.exec_session"):
            await asyncio.to_thread(blocking.exec, "web", ["cat"], stdin=True)

    async def test_attaches(self, blocking: BlockingClient, processes: Processes) -> None:
        def script() -> bytes:
            with blocking.attach("web", stdin=True) as session:
                session.write(b"hello")
                session.close_stdin()
                output = b"".join(each.data for each in session)
                assert session.exit_code == 0
                assert session.wait() == 0
                return output

        assert await asyncio.to_thread(script) == b"attached\nhello"

    async def test_forwards_ports(self, blocking: BlockingClient, processes: Processes) -> None:
        def script(port: int) -> bytes:
            with blocking.port_forward("web", port) as forward:
                assert not forward.closed
                with forward.connect() as connection:
                    connection.sendall(b"number")
                    connection.shutdown(socket.SHUT_WR)
                    return connection.recv(100)

        async with echo_server() as port:
            assert await asyncio.to_thread(script, port) == b"rebmun"

    async def test_reports_an_unknown_pod(self, blocking: BlockingClient, processes: Processes) -> None:
        def script() -> None:
            with blocking.attach("other"):
                raise AssertionError("entered")

        with pytest.raises(NotFound, match='pods "other" not found'):
            await asyncio.to_thread(script)
