"""The authenticator, with real files and real plugins. Its TLS is tested in test_tls.py."""

# ruff: noqa: ASYNC240 - a test may wait for its own small files

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kubewright.client import ClientConfig, ConfigError, Credentials, ExecPlugin, Impersonation
from kubewright.client.credentials import Authenticator, Identity
from kubewright.clock import VirtualClock


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


def config(**fields: Any) -> ClientConfig:
    return ClientConfig(server="https://127.0.0.1:6443", **fields)


class TestHeaders:
    async def headers(self, **fields: Any) -> tuple[tuple[str, str], ...]:
        return (await Authenticator(config(**fields), VirtualClock()).identity()).headers

    async def test_anonymous(self) -> None:
        assert await self.headers() == ()

    async def test_a_token(self) -> None:
        assert await self.headers(credentials=Credentials(token="abc")) == (("Authorization", "Bearer abc"),)

    async def test_a_password(self) -> None:
        expected = "Basic " + base64.b64encode("jürgen:pa:ss".encode()).decode()
        credentials = Credentials(username="jürgen", password="pa:ss")
        assert await self.headers(credentials=credentials) == (("Authorization", expected),)

    async def test_impersonation_with_several_groups_and_escaped_keys(self) -> None:
        impersonate = Impersonation(
            user="jane", uid="7", groups=("a", "b"), extra=(("acme.com/100%", ("x", "y")), ("scopes", ("z",)))
        )
        assert await self.headers(credentials=Credentials(token="abc"), impersonate=impersonate) == (
            ("Authorization", "Bearer abc"),
            ("Impersonate-User", "jane"),
            ("Impersonate-Uid", "7"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Group", "b"),
            ("Impersonate-Extra-acme.com%2F100%25", "x"),
            ("Impersonate-Extra-acme.com%2F100%25", "y"),
            ("Impersonate-Extra-scopes", "z"),
        )

    async def test_a_line_break_cannot_smuggle_a_header(self) -> None:
        with pytest.raises(ConfigError, match="the token of user 'me' contains a control character") as caught:
            await self.headers(credentials=Credentials(token="s3cret\r\nX: y", user="me"))
        assert "s3cret" not in str(caught.value)
        with pytest.raises(ConfigError, match="a group to impersonate contains a control character"):
            await self.headers(impersonate=Impersonation(user="jane", groups=("a\nb",)))

    async def test_no_secret_shows_in_a_repr(self, clock: VirtualClock) -> None:
        identity = await Authenticator(config(credentials=Credentials(token="s3cret")), clock).identity()
        assert "s3cret" not in repr(identity)

    async def test_static_credentials_are_read_once(self, clock: VirtualClock) -> None:
        authenticator = Authenticator(config(credentials=Credentials(token="abc")), clock)
        identity = await authenticator.identity()
        await clock.advance(1e9)
        assert await authenticator.identity() is identity
        assert await authenticator.rejected(identity) is False

    async def test_plain_http_has_no_context(self, clock: VirtualClock) -> None:
        plain = ClientConfig(server="http://127.0.0.1", credentials=Credentials(token="abc"))
        assert (await Authenticator(plain, clock).identity()).ssl is True


class TestTokenFile:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        file = tmp_path / "token"
        file.write_text("first\n")
        return file

    @pytest.fixture
    def authenticator(self, file: Path, clock: VirtualClock) -> Authenticator:
        return Authenticator(config(credentials=Credentials(token_file=str(file), token="ignored")), clock)

    async def bearer(self, authenticator: Authenticator) -> str:
        return dict((await authenticator.identity()).headers)["Authorization"].removeprefix("Bearer ")

    @pytest.mark.promise("Configuration and credentials", "A token file is read again.")
    async def test_it_is_read_again_every_ten_seconds(
        self, file: Path, authenticator: Authenticator, clock: VirtualClock
    ) -> None:
        first = await authenticator.identity()
        assert await self.bearer(authenticator) == "first"
        file.write_text("second")
        await clock.advance(9)
        assert await authenticator.identity() is first
        await clock.advance(1)
        assert await self.bearer(authenticator) == "second"
        assert (await authenticator.identity()).ssl is first.ssl

    async def test_rejected_token_is_read_again_immediately(self, file: Path, authenticator: Authenticator) -> None:
        first = await authenticator.identity()
        assert await authenticator.rejected(first) is False
        file.write_text("second")
        assert await authenticator.rejected(first) is True
        assert await self.bearer(authenticator) == "second"
        assert await authenticator.rejected(first) is True, "it was renewed already"

    async def test_the_last_one_stays_while_the_file_is_gone(
        self, file: Path, authenticator: Authenticator, clock: VirtualClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        first = await authenticator.identity()
        file.unlink()
        await clock.advance(10)
        assert await authenticator.identity() is first
        assert f"the token file {file} cannot be read: No such file or directory; the last known" in caplog.text
        await clock.advance(10)
        assert await authenticator.identity() is first
        assert len(caplog.records) == 1, "it is logged once"
        file.write_text("  \n")
        await clock.advance(10)
        assert await authenticator.identity() is first
        assert "is empty; the last known token stays in use" in caplog.text
        assert "first" not in caplog.text

    async def test_token_of_the_configuration_is_used_until_the_file_can_be_read(
        self, tmp_path: Path, clock: VirtualClock
    ) -> None:
        late = tmp_path / "late"
        authenticator = Authenticator(config(credentials=Credentials(token_file=str(late), token="early")), clock)
        assert await self.bearer(authenticator) == "early"
        late.write_text("late")
        await clock.advance(10)
        assert await self.bearer(authenticator) == "late"

    async def test_a_missing_or_broken_file_is_an_error_at_first(self, tmp_path: Path, clock: VirtualClock) -> None:
        file = tmp_path / "none"
        authenticator = Authenticator(config(credentials=Credentials(token_file=str(file))), clock)
        with pytest.raises(ConfigError, match="none cannot be read: No such file or directory"):
            await authenticator.identity()
        file.write_bytes(b"\xff\xfe")
        with pytest.raises(ConfigError, match="none is not text"):
            await authenticator.identity()
        file.write_text("abc")
        assert await self.bearer(authenticator) == "abc"


class Issuer:
    """An exec plugin that counts its runs, and whose next answers a test decides."""

    def __init__(self, folder: Path) -> None:
        self._runs, self._answer, self._script = folder / "runs", folder / "answer", folder / "issuer.py"
        self._runs.write_bytes(b"")
        self._script.write_text(
            "import sys\n"
            f"with open({str(self._runs)!r}, 'ab') as runs: runs.write(b'.')\n"
            f"with open({str(self._answer)!r}) as answer: sys.stdout.write(answer.read())\n"
        )
        self.config = config(
            credentials=Credentials(
                user="jane",
                exec=ExecPlugin(command=sys.executable, args=(str(self._script),), interactive_mode="Never"),
            )
        )

    def answers(self, **status: Any) -> None:
        document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        self._answer.write_text(json.dumps(document))

    def fails(self) -> None:
        self._answer.unlink()

    @property
    def runs(self) -> int:
        return self._runs.stat().st_size


class TestExec:
    @pytest.fixture
    def issuer(self, tmp_path: Path) -> Issuer:
        return Issuer(tmp_path)

    @pytest.fixture
    async def authenticator(self, issuer: Issuer, clock: VirtualClock) -> AsyncIterator[Authenticator]:
        authenticator = Authenticator(issuer.config, clock)
        yield authenticator
        await authenticator.close()

    async def bearer(self, authenticator: Authenticator) -> str:
        return dict((await authenticator.identity()).headers)["Authorization"]

    async def test_without_an_expiry_it_runs_once(
        self, issuer: Issuer, authenticator: Authenticator, clock: VirtualClock
    ) -> None:
        issuer.answers(token="abc")
        assert await self.bearer(authenticator) == "Bearer abc"
        await clock.advance(1e6)
        assert await self.bearer(authenticator) == "Bearer abc"
        assert issuer.runs == 1

    @pytest.mark.promise(
        "Configuration and credentials",
        "Exec plugins: arguments, cluster info, interactive mode, expiry.",
    )
    async def test_it_runs_again_shortly_before_its_credential_expires(
        self, issuer: Issuer, authenticator: Authenticator, clock: VirtualClock
    ) -> None:
        issuer.answers(token="first", expirationTimestamp="2030-01-01T01:00:00Z")
        first = await authenticator.identity()
        await clock.advance(3569)
        assert await authenticator.identity() is first
        issuer.answers(token="second", expirationTimestamp="2030-01-01T02:00:00Z")
        await clock.advance(1)
        assert await self.bearer(authenticator) == "Bearer second"
        assert (await authenticator.identity()).ssl is first.ssl
        assert issuer.runs == 2

    async def test_a_failure_before_the_expiry_fails_no_request(
        self,
        issuer: Issuer,
        authenticator: Authenticator,
        clock: VirtualClock,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        issuer.answers(token="first", expirationTimestamp="2030-01-01T01:00:00Z")
        await authenticator.identity()
        issuer.fails()
        await clock.advance(3570)
        with caplog.at_level(logging.WARNING):
            assert await self.bearer(authenticator) == "Bearer first"
        assert "the credential of its last run stays in use until it expires" in caplog.text
        await clock.advance(2)
        await authenticator.identity()
        assert issuer.runs == 2, "it is not tried again for every request"
        await clock.advance(28)
        with pytest.raises(ConfigError, match="of user 'jane' failed with exit status 1; its output: Traceback"):
            await authenticator.identity()

    async def test_concurrent_callers_share_one_run(self, issuer: Issuer, authenticator: Authenticator) -> None:
        issuer.answers(token="abc")
        callers = [asyncio.ensure_future(authenticator.identity()) for _ in range(5)]
        await asyncio.sleep(0)
        callers[0].cancel()
        identities = await asyncio.gather(*callers, return_exceptions=True)
        assert isinstance(identities[0], asyncio.CancelledError)
        assert isinstance(identities[1], Identity)
        assert all(identity is identities[1] for identity in identities[1:])
        assert issuer.runs == 1

    async def test_a_rejected_credential_is_renewed(self, issuer: Issuer, authenticator: Authenticator) -> None:
        issuer.answers(token="first")
        first = await authenticator.identity()
        issuer.answers(token="second")
        assert await asyncio.gather(*(authenticator.rejected(first) for _ in range(3))) == [True, True, True]
        assert await self.bearer(authenticator) == "Bearer second"
        assert await authenticator.rejected(first) is True, "a late answer to the old credential does not cost a run"
        assert issuer.runs == 2

    async def test_plugin_that_repeats_a_rejected_credential_does_not_run_for_every_request(
        self, issuer: Issuer, authenticator: Authenticator, clock: VirtualClock
    ) -> None:
        issuer.answers(token="abc")
        identity = await authenticator.identity()
        assert await authenticator.rejected(identity) is False
        assert await authenticator.rejected(identity) is False
        assert issuer.runs == 2
        await clock.advance(10)
        issuer.answers(token="better")
        assert await authenticator.rejected(identity) is True

    async def test_a_broken_certificate_of_a_plugin(self, issuer: Issuer, authenticator: Authenticator) -> None:
        issuer.answers(clientCertificateData="x", clientKeyData="s3cret")
        with pytest.raises(ConfigError, match=r"of user 'jane' \(from its exec plugin\) are not valid PEM") as caught:
            await authenticator.identity()
        assert "s3cret" not in str(caught.value)

    async def test_unusable_credential_of_a_plugin_is_not_kept(
        self, issuer: Issuer, authenticator: Authenticator
    ) -> None:
        issuer.answers(token="abc\n")
        with pytest.raises(ConfigError, match="the token of user 'jane' contains a control character"):
            await authenticator.identity()
        issuer.answers(token="abc")
        assert await self.bearer(authenticator) == "Bearer abc"

    async def test_token_in_the_configuration_takes_precedence_over_a_plugin(
        self, issuer: Issuer, clock: VirtualClock
    ) -> None:
        plugin = issuer.config.credentials.exec
        authenticator = Authenticator(config(credentials=Credentials(token="fixed", exec=plugin)), clock)
        assert await self.bearer(authenticator) == "Bearer fixed"
        assert issuer.runs == 0

    async def test_closing_ends_a_run(self, tmp_path: Path, clock: VirtualClock) -> None:
        os.mkfifo(tmp_path / "started")
        code = f"import os; open({str(tmp_path / 'started')!r}, 'w').write('x'); os.read(os.pipe()[0], 1)"
        plugin = ExecPlugin(command=sys.executable, args=("-c", code), interactive_mode="Never")
        authenticator = Authenticator(config(credentials=Credentials(exec=plugin)), clock)
        caller = asyncio.ensure_future(authenticator.identity())
        await asyncio.to_thread((tmp_path / "started").read_text)
        await authenticator.close()
        with pytest.raises(asyncio.CancelledError):
            await caller
