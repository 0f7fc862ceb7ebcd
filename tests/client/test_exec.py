"""Exec plugins, as real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kubewright.client import TLS, ClientConfig, ConfigError, Credentials, ExecPlugin
from kubewright.client.credentials import ExecCredential, run_plugin
from kubewright.clock import Clock, SystemClock
from tests.patience import until
from tests.unheld_clock import UnheldClock

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def credential(status: Mapping[str, Any] | None, *, version: str = V1, kind: str = "ExecCredential") -> str:
    return json.dumps({"apiVersion": version, "kind": kind, "status": status})


class Plugins:
    """Writes plugins in Python and runs them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def plugin(self, code: str, **fields: Any) -> ExecPlugin:
        script = self.folder / "plugin.py"
        script.write_text(f"import json, os, sys\n{code}\n")
        return ExecPlugin(**{"command": sys.executable, "args": (str(script), "one two", "$HOME"), **fields})

    def printing(self, output: str, **fields: Any) -> ExecPlugin:
        return self.plugin(f"sys.stdout.write({output!r})", **fields)

    async def run(
        self,
        plugin: ExecPlugin,
        config: ClientConfig | None = None,
        clock: Clock | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        timeout: float = 60,
        terminal: bool = False,
    ) -> ExecCredential:
        config = config or ClientConfig(server="https://kind:6443", credentials=Credentials(user="admin", exec=plugin))
        environ = os.environ if environ is None else environ
        clock = clock or SystemClock()
        return await run_plugin(plugin, config, clock, environ=environ, timeout=timeout, terminal=terminal)

    async def seen(self, plugin_fields: Mapping[str, Any], config: ClientConfig | None = None, **run: Any) -> Any:
        """What a plugin with these fields gets to see: it hands it out as its token."""
        code = (
            "seen = {'args': sys.argv[1:], 'stdin': sys.stdin.read() if not sys.stdin.isatty() else None,"
            " 'env': dict(os.environ), 'info': json.loads(os.environ['KUBERNETES_EXEC_INFO'])}\n"
            "print(json.dumps({'apiVersion': seen['info']['apiVersion'], 'kind': 'ExecCredential',"
            " 'status': {'token': json.dumps(seen)}}))"
        )
        found = await self.run(self.plugin(code, **plugin_fields), config, **run)
        return json.loads(found.token or "")


@pytest.fixture
def plugins(tmp_path: Path) -> Plugins:
    return Plugins(tmp_path)


class TestWhatAPluginGets:
    async def test_arguments_are_passed_as_they_are_and_standard_input_is_empty(self, plugins: Plugins) -> None:
        seen = await plugins.seen({})
        assert seen["args"] == ["one two", "$HOME"]
        assert seen["stdin"] == ""

    async def test_its_variables_come_on_top_of_the_environment(self, plugins: Plugins) -> None:
        seen = await plugins.seen({"env": (("A", "mine"), ("B", "b"))}, environ={"A": "outer", "C": "c"})
        assert {name: seen["env"].get(name) for name in "ABC"} == {"A": "mine", "B": "b", "C": "c"}

    @pytest.mark.parametrize("version", [V1, V1BETA1])
    async def test_the_info_names_the_version_and_whether_there_is_a_terminal(
        self, plugins: Plugins, version: str
    ) -> None:
        seen = await plugins.seen({"api_version": version})
        assert seen["info"] == {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}

    @pytest.mark.promise(
        "Configuration and credentials",
        "Exec plugins: arguments, cluster info, interactive mode, expiry.",
    )
    async def test_cluster_info_for_a_plugin_that_asks(self, plugins: Plugins, tmp_path: Path) -> None:
        authority = tmp_path / "ca.pem"
        authority.write_bytes(b"PEM")
        config = ClientConfig(
            server="https://kind:6443",
            tls=TLS(ca_file=str(authority), server_name="kubernetes"),
            proxy="http://proxy:3128",
        )
        seen = await plugins.seen({"provide_cluster_info": True, "cluster_config": b'{"audience":"me"}'}, config)
        assert seen["info"]["spec"]["cluster"] == {
            "server": "https://kind:6443",
            "tls-server-name": "kubernetes",
            "certificate-authority-data": "UEVN",
            "proxy-url": "http://proxy:3128",
            "config": {"audience": "me"},
        }

    async def test_cluster_info_needs_the_authority(self, plugins: Plugins) -> None:
        config = ClientConfig(server="https://kind", tls=TLS(ca_file="/nowhere/ca.pem"))
        with pytest.raises(ConfigError, match=r"the certificate authority /nowhere/ca\.pem cannot be read"):
            await plugins.seen({"provide_cluster_info": True}, config)


class TestInteractiveMode:
    @pytest.mark.promise(
        "Configuration and credentials",
        "Exec plugins: arguments, cluster info, interactive mode, expiry.",
    )
    async def test_always_needs_a_terminal(self, plugins: Plugins) -> None:
        with pytest.raises(ConfigError) as caught:
            await plugins.run(plugins.printing("", interactive_mode="Always"))
        assert str(caught.value) == (
            f"the exec plugin {sys.executable!r} of user 'admin' needs a terminal (interactiveMode: Always), "
            "and standard input is not one"
        )

    @pytest.mark.parametrize(("mode", "given"), [("Never", False), ("IfAvailable", True), ("Always", True)])
    async def test_a_terminal_is_only_given_where_allowed(self, plugins: Plugins, mode: str, given: bool) -> None:
        seen = await plugins.seen({"interactive_mode": mode}, terminal=True)
        assert seen["info"]["spec"]["interactive"] is given

    async def test_a_plugin_on_the_terminal_keeps_standard_error(
        self, plugins: Plugins, capfd: pytest.CaptureFixture[str]
    ) -> None:
        plugin = plugins.plugin("sys.exit('password?')")
        with pytest.raises(ConfigError, match=r"failed with exit status 1; its own message is above$"):
            await plugins.run(plugin, terminal=True)
        assert capfd.readouterr().err == "password?\n"


class TestOutput:
    @pytest.mark.promise(
        "Configuration and credentials",
        "Exec plugins: arguments, cluster info, interactive mode, expiry.",
    )
    async def test_token_certificate_and_expiry(self, plugins: Plugins) -> None:
        status = {
            "token": "abc",
            "clientCertificateData": "CERT",
            "clientKeyData": "KEY",
            "expirationTimestamp": "2030-01-01T10:00:00+02:00",
            "unknown": 1,
        }
        assert await plugins.run(plugins.printing(credential(status))) == ExecCredential(
            token="abc", certificate=b"CERT", key=b"KEY", expires=datetime(2030, 1, 1, 8, tzinfo=UTC)
        )

    async def test_the_older_version(self, plugins: Plugins) -> None:
        output = credential({"token": "abc", "expirationTimestamp": None}, version=V1BETA1)
        found = await plugins.run(plugins.printing(output, api_version=V1BETA1))
        assert found == ExecCredential(token="abc")

    @pytest.mark.promise(
        "Configuration and credentials",
        "A plugin that is absent, hangs, prints garbage or fails is named.",
    )
    @pytest.mark.parametrize(
        ("output", "message"),
        [
            ("", "did not print an ExecCredential as JSON; run it manually to see why"),
            ("s3cret", "did not print an ExecCredential as JSON; run it manually to see why"),
            (
                '"s3cret"',
                "did not print an ExecCredential as JSON (Expected `object`, got `str`); run it manually to see why",
            ),
            (
                credential({"token": ["s3cret"]}),
                "did not print an ExecCredential as JSON (Expected `str | null`, got `array` - at `$.status.token`); "
                "run it manually to see why",
            ),
            (
                credential({"token": "s3cret", "expirationTimestamp": "tomorrow"}),
                "did not print an ExecCredential as JSON (Invalid RFC3339 encoded datetime - at "
                "`$.status.expirationTimestamp`); run it manually to see why",
            ),
            (
                "{}",
                f"printed an object without a kind of no apiVersion, expected an ExecCredential of {V1}; "
                "set that apiVersion in its exec entry",
            ),
            (
                credential({"token": "s3cret"}, version=V1BETA1),
                f"printed ExecCredential of {V1BETA1}, expected an ExecCredential of {V1}; "
                "set that apiVersion in its exec entry",
            ),
            (credential(None), "printed an ExecCredential without a token or certificate in its status"),
            (credential({"token": ""}), "printed an ExecCredential without a token or certificate in its status"),
            (
                credential({"clientKeyData": "s3cret"}),
                "printed only one of certificate and key; it must print both or neither",
            ),
        ],
    )
    async def test_invalid_output_is_rejected_and_not_shown(self, plugins: Plugins, output: str, message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            await plugins.run(plugins.printing(output))
        assert str(caught.value) == f"the exec plugin {sys.executable!r} of user 'admin' {message}"
        assert caught.value.__suppress_context__ or caught.value.__context__ is None

    async def test_endless_output_is_cut_off(self, plugins: Plugins) -> None:
        plugin = plugins.plugin("while True: sys.stdout.write('s3cret' * 10_000)")
        with pytest.raises(ConfigError, match="printed more than 1 MiB, which is not an ExecCredential"):
            await plugins.run(plugin)


class TestFailing:
    @pytest.mark.promise(
        "Configuration and credentials",
        "A plugin that is absent, hangs, prints garbage or fails is named.",
    )
    async def test_missing_plugin_shows_its_install_hint(self, plugins: Plugins) -> None:
        plugin = ExecPlugin(
            command="kubewright-no-such-plugin", install_hint="see \x1b[1mhttps://example.com\n\tor ask"
        )
        with pytest.raises(ConfigError) as caught:
            await plugins.run(plugin)
        assert str(caught.value) == (
            "the exec plugin 'kubewright-no-such-plugin' of user 'admin' is not on the PATH; "
            "install it: see https://example.com or ask"
        )

    async def test_an_absent_file(self, plugins: Plugins) -> None:
        with pytest.raises(
            ConfigError, match="'/nowhere/plugin' of user 'admin' does not exist; install it or correct"
        ):
            await plugins.run(ExecPlugin(command="/nowhere/plugin"))

    async def test_a_file_that_may_not_be_run(self, plugins: Plugins, tmp_path: Path) -> None:
        (tmp_path / "data").write_text("")
        with pytest.raises(ConfigError, match="cannot be started: Permission denied"):
            await plugins.run(ExecPlugin(command=str(tmp_path / "data")))

    @pytest.mark.promise(
        "Configuration and credentials",
        "A plugin that is absent, hangs, prints garbage or fails is named.",
    )
    async def test_the_end_of_standard_error_is_shown_but_no_output(self, plugins: Plugins) -> None:
        plugin = plugins.plugin(
            "print('s3cret')\nsys.stderr.write('x' * 5000 + '\\n\\x1b[31mplease\\x1b[0m log\\n in\\x07')\nsys.exit(3)"
        )
        with pytest.raises(ConfigError) as caught:
            await plugins.run(plugin)
        text = str(caught.value)
        assert text.startswith(
            f"the exec plugin {sys.executable!r} of user 'admin' failed with exit status 3; its output: x"
        )
        assert text.endswith("x please log in")
        assert len(text) < 2_200
        assert "s3cret" not in text

    async def test_one_that_fails_in_silence(self, plugins: Plugins) -> None:
        with pytest.raises(ConfigError, match=r"failed with exit status 1; it printed nothing$"):
            await plugins.run(plugins.plugin("sys.exit(1)"))

    async def test_one_that_a_signal_ends(self, plugins: Plugins) -> None:
        with pytest.raises(ConfigError, match=r"was killed by signal 9; it printed nothing$"):
            await plugins.run(plugins.plugin(f"os.kill(os.getpid(), {int(signal.SIGKILL)})"))


class TestHanging:
    """A plugin that blocks on a pipe, and reports its process ids through another."""

    @pytest.fixture
    def started(self, tmp_path: Path) -> Path:
        fifo = tmp_path / "started"
        os.mkfifo(fifo)
        return fifo

    def hanging(self, plugins: Plugins, started: Path, *, child_escapes: bool = False) -> ExecPlugin:
        return plugins.plugin(
            "sys.stderr.write('waiting for login')\nsys.stderr.flush()\n"
            "if os.fork() == 0:\n"
            f"  if {child_escapes}: os.setsid()\n"
            f"  with open({str(started)!r}, 'w') as stream: stream.write(f'{{os.getppid()}} {{os.getpid()}}')\n"
            "os.read(os.pipe()[0], 1)"
        )

    async def running(self, started: Path) -> list[int]:
        return [int(pid) for pid in (await asyncio.to_thread(started.read_text)).split()]

    async def ended(self, pid: int) -> None:
        def gone() -> bool:
            try:
                return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
            except FileNotFoundError:
                return True

        await until(gone)

    @pytest.mark.promise(
        "Configuration and credentials",
        "A plugin that is absent, hangs, prints garbage or fails is named.",
    )
    async def test_its_time_is_limited_and_its_children_end_with_it(self, plugins: Plugins, started: Path) -> None:
        clock = UnheldClock()
        run = asyncio.ensure_future(plugins.run(self.hanging(plugins, started), clock=clock))
        processes = await self.running(started)
        await clock.advance(59)
        assert not run.done()
        await clock.advance(1)
        with pytest.raises(ConfigError, match=r"of user 'admin' did not finish within 1m and was killed; its output"):
            await run
        for pid in processes:
            await self.ended(pid)

    async def test_child_process_that_keeps_the_pipes_open_does_not_block(
        self, plugins: Plugins, started: Path
    ) -> None:
        clock = UnheldClock()
        plugin = self.hanging(plugins, started, child_escapes=True)
        run = asyncio.ensure_future(plugins.run(plugin, clock=clock, timeout=0.5))
        parent, child = await self.running(started)
        try:
            await clock.advance(0.5)
            with pytest.raises(ConfigError, match=r"did not finish within 500ms"):
                await run
            await self.ended(parent)
        finally:
            os.kill(child, signal.SIGKILL)

    async def test_interactive_plugin_gets_more_time(self, plugins: Plugins, started: Path) -> None:
        clock = UnheldClock()
        plugin = plugins.plugin(f"open({str(started)!r}, 'w').write(str(os.getpid()))\nos.read(os.pipe()[0], 1)")
        run = asyncio.ensure_future(plugins.run(plugin, clock=clock, terminal=True))
        await self.running(started)
        await clock.advance(299)
        assert not run.done()
        await clock.advance(1)
        with pytest.raises(ConfigError, match="did not finish within 5m and was killed; its own message is above"):
            await run

    async def test_cancelling_ends_it(self, plugins: Plugins, started: Path) -> None:
        run = asyncio.ensure_future(plugins.run(self.hanging(plugins, started)))
        processes = await self.running(started)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        for pid in processes:
            await self.ended(pid)
