"""`Session`: a command in a container, or the main process of one, with its streams."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Sequence
from types import TracebackType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from kubewright.client._errors import ApiError, Status
from kubewright.streaming import Channel, ChannelSocket, WebSocketError

__all__ = ["CommandFailed", "Exec", "ExecResult", "Output", "Session", "SessionContext"]

Opening: TypeAlias = Callable[[], Awaitable[tuple[ChannelSocket, str]]]
"""Opens the channels. Also returns the request, for error messages."""


_MAX_STATUS_BYTES: Final = 64 * 1024


class Output(NamedTuple):
    """A piece of what the process wrote."""

    stream: Literal["stdout", "stderr"]
    data: bytes


class CommandFailed(Exception):
    """A command in a container ended with an exit code other than 0. `result` has its output."""

    def __init__(self, command: Sequence[str], pod: str, result: ExecResult) -> None:
        super().__init__(f"{command[0]!r} in pod {pod} ended with exit code {result.exit_code}")
        self.result = result


class ExecResult(msgspec.Struct, frozen=True, kw_only=True):
    """The exit code and the output of a command that has ended."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class _StatusCause(msgspec.Struct):
    reason: str = ""
    message: str = ""


class _StatusDetails(msgspec.Struct):
    causes: list[_StatusCause] = msgspec.field(default_factory=list)


class _ExitStatus(msgspec.Struct):
    status: str = ""
    reason: str = ""
    message: str = ""
    details: _StatusDetails | None = None
    code: int = 0


class Session:
    """The streams of a process: iterate for its output, `write` to its stdin, `wait` for its end.

        async with client.exec("web", ["sh"], stdin=True) as session:
            await session.write(b"date; exit 3\\n")
            async for output in session:
                print(output.stream, output.data)
            assert session.exit_code == 3

    Leaving the context closes the connection; a process that ignores its closed streams runs on in the container.
    Raises `ApiError` if the server reports a failure other than an exit code, ConnectionError if the connection breaks.
    """

    def __init__(self, channels: ChannelSocket, request: str) -> None:
        self.exit_code: int | None = None
        """The exit code, once the process has ended."""
        self._channels = channels
        self._request = request
        self._status = bytearray()

    async def __aiter__(self) -> AsyncIterator[Output]:
        """Yields output until the process ends."""
        while (output := await self.read()) is not None:
            yield output

    async def read(self) -> Output | None:
        """Returns the next piece of output; None at the end of the process, when `exit_code` is set."""
        while self.exit_code is None:
            message = await self._channels.receive()
            if message is None:
                self._end()
                break
            channel, data = message
            if channel is Channel.STDOUT and data:
                return Output("stdout", data)
            if channel is Channel.STDERR and data:
                return Output("stderr", data)
            if channel is Channel.ERROR:
                self._status += data
                if len(self._status) > _MAX_STATUS_BYTES:
                    raise WebSocketError("the server sent a status that is too large")
        return None

    async def write(self, data: bytes) -> None:
        """Sends bytes to stdin, no faster than the process reads."""
        await self._channels.send(Channel.STDIN, data)

    async def close_stdin(self) -> None:
        """Ends stdin. Raises `ApiError` if the server is older than 1.30, which cannot."""
        self.check_stdin_can_end()
        await self._channels.close_channel(Channel.STDIN)

    def check_stdin_can_end(self) -> None:
        """Raises `ApiError` if the server cannot end stdin."""
        if not self._channels.can_close:
            message = "this server cannot end stdin: it needs Kubernetes 1.30 or later (v5.channel.k8s.io)"
            raise ApiError(Status(reason="NotSupported", message=message), self._request)

    async def resize(self, columns: int, rows: int) -> None:
        """Sends the size of the terminal to a process with a tty."""
        await self._channels.resize(columns, rows)

    async def wait(self) -> int:
        """Discards output until the process ends, and returns its exit code."""
        while await self.read() is not None:
            pass
        assert self.exit_code is not None
        return self.exit_code

    def _end(self) -> None:
        """Sets the exit code from the status that the server sent last."""
        if not self._status:
            raise WebSocketError("the connection closed before the server reported how the process ended")
        try:
            status = msgspec.json.decode(bytes(self._status), type=_ExitStatus)
        except (msgspec.DecodeError, RecursionError):
            raise WebSocketError("the server reported the end of the process in an unknown form") from None
        if status.status == "Success":
            self.exit_code = 0
            return
        causes = status.details.causes if status.details is not None else []
        code = next((cause.message for cause in causes if cause.reason == "ExitCode"), "")
        if status.reason == "NonZeroExitCode" and code.isascii() and code.isdigit():
            self.exit_code = int(code)
            return
        raise ApiError(Status(code=status.code, reason=status.reason, message=status.message), self._request)


class SessionContext:
    """The result of `Client.attach`: enter it for a `Session`."""

    def __init__(self, opening: Opening) -> None:
        self._opening = opening
        self._channels: ChannelSocket | None = None

    async def __aenter__(self) -> Session:
        self._channels, request = await self._opening()
        return Session(self._channels, request)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._channels is not None:
            await self._channels.close()


class Exec(SessionContext):
    """The result of `Client.exec`: await it for an `ExecResult`, or enter it for a `Session`."""

    def __init__(
        self,
        opening: Opening,
        *,
        command: Sequence[str],
        pod: str,
        stdin: bytes | bool,
        check: bool,
        max_output_bytes: int,
    ) -> None:
        super().__init__(opening)
        self._command = command
        self._pod = pod
        self._stdin = stdin
        self._check = check
        self._max_output_bytes = max_output_bytes
        self._feeding: asyncio.Task[None] | None = None

    def __await__(self) -> Generator[Any, None, ExecResult]:
        return self._run().__await__()

    async def __aenter__(self) -> Session:
        session = await super().__aenter__()
        if isinstance(self._stdin, bytes):
            session.check_stdin_can_end()
            # Beside reading: a command that writes while it reads would block both.
            self._feeding = asyncio.get_running_loop().create_task(_feed(session, self._stdin))
        return session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._feeding is not None:
            self._feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._feeding
        await super().__aexit__(kind, error, trace)

    async def _run(self) -> ExecResult:
        if self._stdin is True:
            raise ValueError(
                "stdin=True needs a session: use `async with client.exec(...)`, or pass bytes as stdin; "
                "a BlockingClient has `with client.exec_session(...)`"
            )
        async with self as session:
            written = {"stdout": bytearray(), "stderr": bytearray()}
            async for output in session:
                written[output.stream] += output.data
                if sum(map(len, written.values())) > self._max_output_bytes:
                    raise ApiError(
                        Status(
                            reason="ResponseTooLarge",
                            message=f"the output exceeds {self._max_output_bytes} bytes: raise max_output_bytes, "
                            "or read it in pieces with `async with client.exec(...)`",
                        ),
                        self._pod,
                    )
            assert session.exit_code is not None
        stdout, stderr = bytes(written["stdout"]), bytes(written["stderr"])
        result = ExecResult(exit_code=session.exit_code, stdout=stdout, stderr=stderr)
        if self._check and result.exit_code:
            raise CommandFailed(self._command, self._pod, result)
        return result


async def _feed(session: Session, data: bytes) -> None:
    with contextlib.suppress(ConnectionError):  # the command may end before it has read everything
        await session.write(data)
        await session.close_stdin()
