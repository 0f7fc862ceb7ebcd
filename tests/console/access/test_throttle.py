"""Failed sign-ins delay only their own address."""

from __future__ import annotations

import inspect
import ipaddress
from collections.abc import AsyncIterator
from urllib.parse import urlencode

import aiohttp
import pytest
from click.testing import CliRunner

from kubewright.cli import cli
from kubewright.clock import VirtualClock
from kubewright.cluster import Cluster
from kubewright.console import Console, Limits, SignInError
from kubewright.console.access import SignInThrottle, SignInUnavailable, Viewer
from kubewright.console.server import client_address


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def throttle(clock: VirtualClock) -> SignInThrottle:
    return SignInThrottle(clock)


def fail(throttle: SignInThrottle, address: str, times: int) -> None:
    for _ in range(times):
        throttle.failed(address)


async def test_delay_doubles_with_each_failure_after_the_fifth(throttle: SignInThrottle, clock: VirtualClock) -> None:
    delays = []
    for _ in range(14):
        throttle.failed("192.0.2.1")
        delays.append(throttle.delay("192.0.2.1"))
    assert delays == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]
    await clock.advance(59)
    assert throttle.delay("192.0.2.1") == 1
    await clock.advance(1)
    assert throttle.delay("192.0.2.1") == 0
    fail(throttle, "192.0.2.1", 10_000)
    assert throttle.delay("192.0.2.1") == 60


def test_does_not_delay_other_addresses(throttle: SignInThrottle) -> None:
    fail(throttle, "192.0.2.1", 100)
    assert throttle.delay("192.0.2.2") == 0


def test_counts_ipv6_by_network(throttle: SignInThrottle) -> None:
    for host in range(20):
        throttle.failed(f"2001:db8::{host:x}")
    assert throttle.delay("2001:db8::ffff") > 0
    assert throttle.delay("2001:db8:0:1::1") == 0
    fail(throttle, "::ffff:192.0.2.1", 10)
    assert throttle.delay("192.0.2.1") > 0


async def test_forgets_an_address_after_15_quiet_minutes(throttle: SignInThrottle, clock: VirtualClock) -> None:
    fail(throttle, "192.0.2.1", 10)
    await clock.advance(15 * 60 + 1)
    throttle.failed("192.0.2.1")
    assert throttle.delay("192.0.2.1") == 0


def test_remembers_a_bounded_number_of_addresses(throttle: SignInThrottle) -> None:
    for number in range(10_050):
        throttle.failed(str(ipaddress.IPv4Address(number)))
    assert len(throttle) == 10_000


PROXIES = [ipaddress.ip_network("10.0.0.0/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.1", ["198.51.100.7"], "192.0.2.1"),  # the peer is not a proxy, and any client can send the header
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["203.0.113.9, 198.51.100.7, 10.0.0.2"], "198.51.100.7"),  # the client wrote the first address
        ("10.0.0.1", ["203.0.113.9", "198.51.100.7"], "198.51.100.7"),
        ("10.0.0.1", ["unknown"], "10.0.0.1"),
        ("", ["198.51.100.7"], ""),
    ],
)
def test_only_trusted_proxies_name_the_client(peer: str, forwarded: list[str], address: str) -> None:
    assert client_address(peer, forwarded, PROXIES) == address


class Asked(Console):
    """Counts how often the API server is asked to verify a token."""

    asked = 0
    away = False

    async def viewer_with_token(self, token: str) -> Viewer:
        self.asked += 1
        if self.away:
            raise SignInUnavailable("The API server could not be asked.")
        if token == "valid":
            return self.viewer("ann")
        raise SignInError("The API server does not accept this token.")


@pytest.fixture
async def console(cluster: Cluster, clock: VirtualClock) -> AsyncIterator[Asked]:
    async with Asked(cluster.client(), clock=clock) as made:
        yield made


@pytest.fixture
async def served(console: Asked) -> AsyncIterator[aiohttp.ClientSession]:
    async with (
        console.serving(trusted_proxies=["127.0.0.0/8"]) as url,
        aiohttp.ClientSession(url, headers={"Origin": url, "Accept": "text/html"}) as http,
    ):
        yield http


async def sign_in(http: aiohttp.ClientSession, token: str, address: str) -> aiohttp.ClientResponse:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "X-Forwarded-For": address}
    answer = await http.post("/sign-in", data=urlencode({"token": token}), headers=headers, allow_redirects=False)
    await answer.read()
    return answer


@pytest.mark.promise(
    "Access to the console and its cost",
    "One viewer's sign-ins end no other viewer's session; failed sign-ins delay only their address.",
)
async def test_failed_sign_ins_delay_their_address(
    served: aiohttp.ClientSession, console: Asked, clock: VirtualClock
) -> None:
    statuses = [(await sign_in(served, f"guess-{number}", "192.0.2.1")).status for number in range(20)]
    assert statuses == [401] * 6 + [429] * 14
    assert console.asked == 6
    refused = await sign_in(served, "valid", "192.0.2.1")
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert "Try again in 1s" in await refused.text()
    assert (await sign_in(served, "valid", "192.0.2.2")).status == 303
    bearer = {"Authorization": "Bearer guess", "X-Forwarded-For": "192.0.2.1"}
    async with served.get("/", headers=bearer) as answer:  # the Authorization header is throttled too
        assert (answer.status, answer.headers["retry-after"]) == (429, "1")
    await clock.advance(1)
    assert (await sign_in(served, "valid", "192.0.2.1")).status == 303


async def test_unavailable_api_server_delays_no_sign_in(served: aiohttp.ClientSession, console: Asked) -> None:
    console.away = True
    assert [(await sign_in(served, "valid", "192.0.2.1")).status for _ in range(8)] == [503] * 8
    console.away = False
    assert (await sign_in(served, "valid", "192.0.2.1")).status == 303


def test_rejects_invalid_proxy_network() -> None:
    result = CliRunner().invoke(cli, ["ui", "--trusted-proxy", "proxy.example.com"])
    assert result.exit_code == 2
    assert "is not an address or network such as 10.0.0.7" in result.output


def test_command_uses_the_default_of_the_class() -> None:
    shown = " ".join(CliRunner().invoke(cli, ["ui", "--help"]).output.split())
    pages = inspect.signature(Console).parameters["pages_per_viewer"].default
    assert f"[default: {pages};" in shown
    assert f"[default: {Limits().connections};" in shown
