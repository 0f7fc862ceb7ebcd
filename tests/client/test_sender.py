"""What happens around each request: retries within a deadline, rate limit, hooks, errors. On scripted servers."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from kubewright.api import ObjectMeta, core
from kubewright.client import (
    ApiError,
    Client,
    Conflict,
    ConnectionLost,
    Forbidden,
    Gone,
    MergePatch,
    NotFound,
    NotKubernetes,
    Outcome,
    Request,
    RetryPolicy,
    Timeout,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from kubewright.clock import VirtualClock

NODE = (200, b'{"metadata":{"name":"n"}}')
BUSY = (429, b'{"reason":"TooManyRequests","code":429}', {"Retry-After": "7"})
BROKEN = (500, b'{"reason":"InternalError","code":500,"message":"etcd is unwell"}')
UNAVAILABLE = (503, b"upstream connect error")
NEW = core.Node(metadata=ObjectMeta(name="n"))


def client_of(server: Any, clock: VirtualClock, **options: Any) -> Client:
    return Client(transport=server, clock=clock, rng=random.Random(1), **options)


@pytest.mark.promise("When a request fails", "Retry-After counts.")
async def test_retries_after_the_time_of_retry_after(scripted: Any) -> None:
    server, clock = scripted(BUSY, BUSY, NODE), VirtualClock()
    await clock.run(client_of(server, clock).create(NEW))
    assert clock.monotonic() == 14
    assert len(server.requests) == 3


@pytest.mark.promise(
    "When a request fails",
    "Reads are repeated; a write only when it cannot have happened, or may happen twice.",
)
@pytest.mark.parametrize("answer", [BROKEN, UNAVAILABLE, ConnectionLost("cut", sent=True), TimeoutError()])
async def test_a_read_is_repeated_after_any_failure_of_the_server(scripted: Any, answer: Any) -> None:
    server, clock = scripted(answer, NODE), VirtualClock()
    assert (await clock.run(client_of(server, clock).get(core.Node, "n"))).metadata.name == "n"


@pytest.mark.promise(
    "When a request fails",
    "Reads are repeated; a write only when it cannot have happened, or may happen twice.",
)
@pytest.mark.promise("Injected time, randomness and transport", "A fault strikes at an exact call.")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (BROKEN, ApiError),
        (UNAVAILABLE, Unavailable),
        (ConnectionLost("cut", sent=True), Unavailable),
        (TimeoutError(), Timeout),
    ],
)
async def test_a_write_that_may_have_happened_is_not_repeated(
    scripted: Any, answer: Any, error: type[ApiError]
) -> None:
    server, clock = scripted(answer), VirtualClock()
    with pytest.raises(error):
        await clock.run(client_of(server, clock).create(NEW))
    assert len(server.requests) == 1


@pytest.mark.promise(
    "When a request fails",
    "Reads are repeated; a write only when it cannot have happened, or may happen twice.",
)
async def test_a_write_that_never_left_is_repeated(scripted: Any) -> None:
    server, clock = scripted(ConnectionLost("cannot connect", sent=False), NODE), VirtualClock()
    await clock.run(client_of(server, clock).create(NEW))
    assert len(server.requests) == 2


@pytest.mark.parametrize("code", [501, 505])
async def test_request_that_the_server_does_not_support_is_not_repeated(scripted: Any, code: int) -> None:
    server, clock = scripted((code, b"not supported", {"Retry-After": "1"})), VirtualClock()
    with pytest.raises(ApiError, match="not supported") as caught:
        await clock.run(client_of(server, clock).get(core.Node, "n"))
    assert not caught.value.is_temporary
    assert len(server.requests) == 1


async def test_a_write_is_repeated_when_the_server_asks_for_it(scripted: Any) -> None:
    server, clock = scripted((503, b"", {"Retry-After": "1"}), NODE), VirtualClock()
    await clock.run(client_of(server, clock).create(NEW))
    assert len(server.requests) == 2


@pytest.mark.promise(
    "When a request fails",
    "Reads are repeated; a write only when it cannot have happened, or may happen twice.",
)
@pytest.mark.parametrize("answer", [BROKEN, ConnectionLost("cut", sent=True)])
async def test_an_apply_and_a_dry_run_may_be_repeated(scripted: Any, answer: Any) -> None:
    server, clock = scripted(answer, NODE, answer, NODE), VirtualClock()
    await clock.run(client_of(server, clock).apply(NEW))
    await clock.run(client_of(server, clock).create(NEW, dry_run=True))
    assert len(server.requests) == 4


@pytest.mark.promise("When a request fails", "Retries are bounded, in number and in time.")
async def test_backoff_doubles_with_jitter_and_ends_at_the_deadline(scripted: Any) -> None:
    server, clock = scripted(*[BROKEN] * 20), VirtualClock()
    policy = RetryPolicy(attempts=20, deadline=10, first_delay=1, longest_delay=4)
    with pytest.raises(ApiError, match="get nodes n: etcd is unwell"):
        await clock.run(client_of(server, clock, retry=policy).get(core.Node, "n"))
    assert 4 < clock.monotonic() <= 10
    assert 3 <= len(server.requests) <= 6


@pytest.mark.promise("When a request fails", "Retries are bounded, in number and in time.")
async def test_attempts_are_bounded(scripted: Any) -> None:
    server, clock = scripted(*[BROKEN] * 20), VirtualClock()
    with pytest.raises(ApiError):
        await clock.run(client_of(server, clock, retry=RetryPolicy(attempts=3)).get(core.Node, "n"))
    assert len(server.requests) == 3


async def test_a_wait_that_would_pass_the_deadline_is_not_begun(scripted: Any) -> None:
    server, clock = scripted((429, b"", {"Retry-After": "3600"})), VirtualClock()
    with pytest.raises(TooManyRequests) as caught:
        await clock.run(client_of(server, clock).get(core.Node, "n"))
    assert caught.value.retry_after == 3600
    assert clock.monotonic() == 0


async def test_eviction_blocked_by_a_budget_is_not_retried(scripted: Any) -> None:
    refusal = {"reason": "TooManyRequests", "code": 429, "details": {"causes": [{"reason": "DisruptionBudget"}]}}
    server, clock = scripted((429, json.dumps(refusal).encode())), VirtualClock()
    with pytest.raises(TooManyRequests):
        await clock.run(client_of(server, clock).evict("p"))
    assert len(server.requests) == 1


@pytest.mark.promise(
    "When a request fails",
    "Each failure is an exception of its own with the server's status, a conflict too.",
)
@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "Conflict", Conflict),
        (410, "Gone", Gone),
        (404, "", NotFound),
        (403, "", Forbidden),
        (418, "Teapot", ApiError),
    ],
)
async def test_each_failure_is_an_exception_of_its_own(
    scripted: Any, code: int, reason: str, error: type[ApiError]
) -> None:
    body = json.dumps({"kind": "Status", "reason": reason, "message": "no", "code": code}).encode()
    server, clock = scripted((code, body)), VirtualClock()
    with pytest.raises(error) as caught:
        await clock.run(client_of(server, clock).get(core.Node, "n"))
    assert type(caught.value) is error
    fix = ": the server does not accept the credentials; renew the token or the certificate" if code == 401 else ""
    assert str(caught.value) == f"get nodes n: no{fix}"
    assert (caught.value.code, caught.value.reason) == (code, reason)


async def test_failure_without_a_status_shows_part_of_the_body(scripted: Any) -> None:
    server, clock = scripted((403, b"<html>" + b"x" * 10_000)), VirtualClock()
    with pytest.raises(Forbidden) as caught:
        await clock.run(client_of(server, clock).get(core.Node, "n"))
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'"text"'])
async def test_success_without_an_object_raises_not_kubernetes(scripted: Any, body: bytes) -> None:
    with pytest.raises(NotKubernetes, match="is this the address of an API server"):
        await client_of(scripted((200, body)), VirtualClock()).get(core.Node, "n")


@pytest.mark.promise("When a request fails", "Hooks count, time and trace every attempt.")
async def test_hooks_count_time_and_trace_every_attempt(scripted: Any) -> None:
    server, clock = scripted(BUSY, NODE), VirtualClock()
    seen: list[tuple[str, str, int, int]] = []

    def hook(request: Request) -> Any:
        request.headers["traceparent"] = f"00-{len(seen)}"

        def finish(outcome: Outcome) -> None:
            seen.append((request.verb, request.resource, outcome.status, outcome.attempt))

        return finish

    await clock.run(client_of(server, clock, hooks=[hook, lambda request: None]).get(core.Node, "n"))
    assert seen == [("get", "nodes", 429, 1), ("get", "nodes", 200, 2)]
    assert [request.headers["traceparent"] for request in server.requests] == ["00-0", "00-1"]


async def test_hooks_receive_attempts_without_a_response(scripted: Any) -> None:
    outcomes: list[Outcome] = []
    client = client_of(
        scripted(ConnectionLost("cut", sent=True)), VirtualClock(), hooks=[lambda request: outcomes.append]
    )
    with pytest.raises(Unavailable):
        await client.create(NEW)
    assert (outcomes[0].status, str(outcomes[0].error)) == (0, "create nodes n: cut")


@pytest.mark.promise("When a request fails", "The client's own rate can be limited.")
async def test_the_rate_limit_lets_a_burst_through_and_then_keeps_the_pace(scripted: Any) -> None:
    server, clock = scripted(*[NODE] * 8), VirtualClock()
    client = client_of(server, clock, rate_limit=(2, 3))
    times = []
    for _ in range(8):
        await clock.run(client.get(core.Node, "n"))
        times.append(clock.monotonic())
    assert times == [0, 0, 0, 0.5, 1, 1.5, 2, 2.5]


@pytest.mark.promise(
    "Writing with the client",
    "Every write has its field manager, and unknown fields are rejected by default.",
)
async def test_every_write_has_field_manager_and_field_validation(scripted: Any) -> None:
    server = scripted(*[NODE] * 3)
    client = client_of(server, VirtualClock(), field_manager="me", field_validation="Warn", user_agent="ua/1")
    await client.create(NEW)
    await client.apply(NEW, field_manager="other", force=True)
    await client.replace(NEW)
    queries = [dict(request.query) for request in server.requests]
    assert [query["fieldManager"] for query in queries] == ["me", "other", "me"]
    assert {query["fieldValidation"] for query in queries} == {"Warn"}
    assert queries[1]["force"] == "true"
    assert {request.headers["User-Agent"] for request in server.requests} == {"ua/1"}


@pytest.mark.promise(
    "Writing with the client",
    "Every write has its field manager, and unknown fields are rejected by default.",
)
async def test_unknown_fields_are_rejected_by_default(scripted: Any) -> None:
    server = scripted((200, b'{"metadata":{"name":"n","resourceVersion":"1"}}'), *[NODE] * 5)
    client = client_of(server, VirtualClock(), field_manager="me")
    read = await client.get(core.Node, "n")
    read.metadata.labels = {"changed": "yes"}
    await client.create(NEW)
    await client.apply(NEW)
    await client.replace(NEW)
    await client.update(read)
    await client.patch(core.Node, "n", MergePatch({"metadata": {"labels": {"a": "b"}}}))
    queries = [dict(request.query) for request in server.requests[1:]]
    assert len(queries) == 5
    assert {(query.get("fieldManager"), query.get("fieldValidation")) for query in queries} == {("me", "Strict")}


@pytest.mark.parametrize("limit", [(0, 1), (-1, 1), (5, 0)])
def test_rejects_a_rate_limit_of_zero(scripted: Any, limit: tuple[float, int]) -> None:
    with pytest.raises(ValueError, match="a rate limit needs a positive rate"):
        Client(transport=scripted(), rate_limit=limit)
