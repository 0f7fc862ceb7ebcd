"""Commands in containers: output, exit codes, stdin, terminals, and failures."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubewright.client import ApiError, BlockingClient, Client, NotFound
from kubewright.client.streams import CommandFailed, Output
from tests.client.streams.conftest import PodServer
from tests.patience import until

SCRIPT = "echo out; echo err >&2; exit 3"


@pytest.mark.promise("Streams of pods", "`client.exec` returns the exit code, stdout and stderr of a command.")
async def test_returns_the_exit_code_and_the_output(client: Client, pod_server: PodServer) -> None:
    result = await client.exec("web", ["sh", "-c", SCRIPT], container="app")
    assert (result.exit_code, result.stdout, result.stderr) == (3, b"out\n", b"err\n")
    ((name, query),) = pod_server.asked
    assert name == "exec"
    assert query == {
        "command": ["sh", "-c", SCRIPT],
        "container": ["app"],
        "stdout": ["true"],
        "stderr": ["true"],
    }


async def test_success_is_exit_code_0(client: Client) -> None:
    assert (await client.exec("web", ["true"], check=True)).exit_code == 0


async def test_check_raises_for_another_exit_code(client: Client) -> None:
    with pytest.raises(CommandFailed, match="'sh' in pod web ended with exit code 3") as failure:
        await client.exec("web", ["sh", "-c", SCRIPT], check=True)
    assert failure.value.result.stderr == b"err\n"


async def test_killed_process_has_the_code_of_its_signal(client: Client) -> None:
    assert (await client.exec("web", ["sh", "-c", "kill -9 $$"])).exit_code == 137


async def test_sends_stdin_while_it_reads_output(client: Client) -> None:
    data = bytes(range(256)) * 40_000
    result = await client.exec("web", ["cat"], stdin=data, max_output_bytes=2**24)
    assert result.stdout == data


async def test_command_may_end_before_it_has_read_its_stdin(client: Client) -> None:
    result = await client.exec("web", ["sh", "-c", "exit 4"], stdin=b"x" * 5_000_000)
    assert result.exit_code == 4


async def test_session_reads_writes_and_ends(client: Client) -> None:
    async with client.exec("web", ["sh"], stdin=True) as session:
        await session.write(b"echo one\n")
        assert await session.read() == Output("stdout", b"one\n")
        await session.write(b"echo two >&2; exit 5\n")
        assert [output async for output in session] == [Output("stderr", b"two\n")]
        assert session.exit_code == 5
        assert await session.wait() == 5


async def test_closing_stdin_ends_a_command_that_reads_it(client: Client) -> None:
    async with client.exec("web", ["wc", "-c"], stdin=True) as session:
        await session.write(b"12345")
        await session.close_stdin()
        assert [output.data.strip() async for output in session] == [b"5"]


async def test_leaving_a_session_kills_the_command(client: Client) -> None:
    async with client.exec("web", ["sh", "-c", "echo $$; sleep 1000"]) as session:
        started = await session.read()
        assert started is not None
    pid = int(started.data)
    await until(lambda: not Path(f"/proc/{pid}").exists())


async def test_terminal_has_a_size_and_joins_the_outputs(client: Client) -> None:
    async with client.exec("web", ["sh"], stdin=True, tty=True) as session:
        await session.resize(97, 31)
        await session.write(b"stty size; echo err >&2; tty; exit 6\n")
        text = b"".join([output.data async for output in session]).decode()
        assert session.exit_code == 6
    assert "31 97" in text
    assert "err" in text
    assert "/dev/pts/" in text


async def test_program_that_does_not_exist_is_an_error(client: Client) -> None:
    with pytest.raises(ConnectionError):
        await client.exec("web", ["no-such-program"])


async def test_server_that_refuses_raises_its_error(client: Client) -> None:
    with pytest.raises(NotFound, match="not found"):
        await client.exec("other", ["true"])


async def test_server_without_a_known_protocol_raises_its_reason(client: Client, pod_server: PodServer) -> None:
    pod_server.protocols = ("v9.channel.k8s.io",)
    with pytest.raises(ApiError, match=r"v9\.channel\.k8s\.io"):
        await client.exec("web", ["true"])


async def test_server_that_cannot_end_stdin_is_named(client: Client, pod_server: PodServer) -> None:
    pod_server.protocols = ("v4.channel.k8s.io",)
    assert (await client.exec("web", ["echo", "4"])).stdout == b"4\n"
    with pytest.raises(ApiError, match="cannot end stdin"):
        await client.exec("web", ["cat"], stdin=b"x")


async def test_too_much_output_raises(client: Client) -> None:
    with pytest.raises(ApiError, match="raise max_output_bytes"):
        await client.exec("web", ["head", "-c", "20000", "/dev/zero"], max_output_bytes=10_000)


async def test_rejects_a_command_in_one_string(client: Client) -> None:
    with pytest.raises(TypeError, match="list of strings"):
        client.exec("web", "ls /")


async def test_rejects_an_awaited_session(client: Client) -> None:
    with pytest.raises(ValueError, match="async with"):
        await client.exec("web", ["cat"], stdin=True)


async def test_many_sessions_run_at_the_same_time(client: Client) -> None:
    results = await asyncio.gather(*(client.exec("web", ["echo", str(number)]) for number in range(20)))
    assert [result.stdout for result in results] == [f"{number}\n".encode() for number in range(20)]


async def test_blocking_client_runs_commands(client: Client) -> None:
    config = client.config
    assert config is not None

    def run() -> bytes:
        with BlockingClient(Client(config, namespace="default")) as blocking:
            return blocking.exec("web", ["echo", "hi"]).stdout

    assert await asyncio.to_thread(run) == b"hi\n"
