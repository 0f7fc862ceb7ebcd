"""The stream from the server: lists, watches, and everything that goes wrong between them."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from typing import Any

import pytest

from kubewright.api import core
from kubewright.cache import CacheSyncError, Change
from kubewright.client import ConfigError, ConnectionLost, Request
from tests.transports.memory import MemoryServer, informed
from tests.transports.scripted import ScriptedResponse


def asked(server: MemoryServer, since: int = 0) -> list[str]:
    """What the server was asked for, in short."""

    def short(request: Request) -> str:
        query = dict(request.query)
        if query.get("sendInitialEvents"):
            return "stream"
        if query.get("watch"):
            return f"watch from {query['resourceVersion']}"
        return f"page of {query.get('limit', 'all')}{' and on' if 'continue' in query else ''}"

    return [short(request) for request in server.requests[since:]]


def fill(server: MemoryServer, count: int) -> None:
    for number in range(count):
        server.put("shop", f"o-{number:04}")


@pytest.mark.promise("The stream from the server", "Everything is read as a stream where the server can.")
async def test_everything_is_read_as_a_stream_and_then_watched() -> None:
    server = MemoryServer()
    fill(server, 3)
    async with informed(server) as (informer, clock):
        assert informer.synced
        assert len(informer.lister) == 3
        server.put("shop", "new")
        await clock.settled()
        assert informer.lister.get("new", "shop") is not None
        assert asked(server) == ["stream"]
        assert informer.health.resource_version == str(server.revision)


async def test_a_server_without_streaming_lists_is_read_in_pages() -> None:
    server = MemoryServer(streaming=False)
    fill(server, 1200)
    revision = server.revision
    async with informed(server) as (informer, clock):
        assert informer.synced
        assert len(informer.lister) == 1200
        watch = f"watch from {revision}"
        assert asked(server) == ["stream", "page of 500", "page of 500 and on", "page of 500 and on", watch]
        server.expire()
        server.put("shop", "later")
        server.expire()
        seen = len(server.requests)
        await clock.advance(1)
        assert asked(server, seen)[-4:-1] == ["page of 500", "page of 500 and on", "page of 500 and on"]
        assert informer.lister.get("later", "shop") is not None


@pytest.mark.promise("The stream from the server", "Pages that expire on the way are read again.")
async def test_pages_that_expire_on_the_way_are_read_again_in_one_piece() -> None:
    class Forgetful(MemoryServer):
        async def send(self, request: Request) -> Any:
            if "continue" in dict(request.query):
                self.delete("shop", "o-0000")
                self.expire()
            return await super().send(request)

    server = Forgetful(streaming=False)
    fill(server, 700)
    async with informed(server) as (informer, _):
        assert asked(server)[:4] == ["stream", "page of 500", "page of 500 and on", "page of all"]
        assert informer.synced
        assert len(informer.lister) == 699


@pytest.mark.promise("The stream from the server", "A broken watch goes on where it was; a bookmark moves that place.")
async def test_broken_watch_resumes_where_it_was() -> None:
    server = MemoryServer()
    fill(server, 2)
    async with informed(server) as (informer, clock):
        position = server.revision
        server.cut()
        server.put("shop", "while-away")
        server.delete("shop", "o-0000")
        await clock.advance(5)
        assert asked(server) == ["stream", f"watch from {position}"]
        assert informer.lister.keys() == [("shop", "o-0001"), ("shop", "while-away")]
        assert (informer.health.restarts, informer.health.relists) == (1, 0)


@pytest.mark.promise("The stream from the server", "A broken watch goes on where it was; a bookmark moves that place.")
async def test_bookmark_moves_the_resume_position() -> None:
    server = MemoryServer()
    async with informed(server) as (_, clock):
        server.revision += 500
        server.bookmark()
        await clock.settled()
        server.end()
        await clock.advance(5)
        assert asked(server) == ["stream", f"watch from {server.revision}"]


@pytest.mark.promise(
    "The stream from the server",
    "After 410 everything is read again, and deletions follow from the difference.",
)
@pytest.mark.promise("Listening to the cache", "A deletion carries the last state; one that was missed says so.")
@pytest.mark.parametrize("by_event", [False, True])
async def test_relists_after_410_and_reports_the_difference(by_event: bool) -> None:
    server = MemoryServer(expire_by_event=by_event)
    fill(server, 3)
    async with informed(server) as (informer, clock):
        changes: list[Change[core.ConfigMap]] = []
        informer.add_handler(changes.append)
        changes.clear()
        server.cut()
        server.delete("shop", "o-0001")
        server.put("shop", "o-0002")
        server.put("shop", "new")
        server.expire()
        await clock.advance(5)
        delivered = [(change.type, change.key.name, change.missed, change.initial) for change in changes]
        assert sorted(delivered) == [
            ("added", "new", False, False),
            ("deleted", "o-0001", True, False),
            ("updated", "o-0002", False, False),
        ]
        missed = next(change for change in changes if change.missed)
        assert missed.old is not None
        assert missed.old.object().metadata.name == "o-0001"
        assert informer.health.relists == 1


@pytest.mark.promise(
    "What happens when",
    "A definition that is deleted and comes back needs no restart; its objects are cleaned up first, and read again "
    "afterwards.",
)
async def test_relists_a_kind_that_was_not_served(caplog: pytest.LogCaptureFixture) -> None:
    server = MemoryServer()
    fill(server, 2)
    async with informed(server) as (informer, clock):
        changes: list[Change[core.ConfigMap]] = []
        informer.add_handler(changes.append)
        changes.clear()
        server.served = False
        server.cut()
        del server.objects["shop", "o-0000"]  # with the kind, and without an event that the next watch could tell
        await clock.advance(60)
        assert informer.lister.keys() == [("shop", "o-0000"), ("shop", "o-0001")], "unchanged while the kind is unknown"
        assert informer.synced
        assert (informer.health.state, informer.health.relists) == ("waiting", 0)
        assert informer.health.last_error == (
            "the server does not serve configmaps in version v1: install its definition first"
        )
        server.served = True
        await clock.advance(30)
        assert [(change.type, change.key.name, change.missed) for change in changes] == [("deleted", "o-0000", True)]
        assert informer.lister.keys() == [("shop", "o-0001")]
        assert (informer.health.state, informer.health.relists) == ("watching", 1)
    delivered = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len([line for line in delivered if "does not serve configmaps" in line]) == 1, (
        "once, and not for each attempt"
    )


@pytest.mark.promise(
    "Listening to the cache", "An object that was recreated while the watch was down is a deletion and an addition."
)
async def test_recreated_object_is_a_deletion_and_an_addition() -> None:
    server = MemoryServer()
    fill(server, 1)
    async with informed(server) as (informer, clock):
        changes: list[Change[core.ConfigMap]] = []
        informer.add_handler(changes.append)
        changes.clear()
        server.silence()
        server.delete("shop", "o-0000")
        server.put("shop", "o-0000")
        server.expire()
        await clock.advance(200)
        assert [(change.type, change.missed, change.initial) for change in changes] == [
            ("deleted", True, False),
            ("added", False, False),
        ]


@pytest.mark.promise("The stream from the server", "A list that breaks off deletes nothing.")
async def test_a_list_that_breaks_off_neither_syncs_nor_deletes() -> None:
    class Breaking(MemoryServer):
        breaking = True

        async def send(self, request: Request) -> Any:
            answer = await super().send(request)
            if self.breaking and hasattr(answer, "_pieces"):
                del answer._pieces[len(answer._pieces) // 2 :]
                self.cut()
            return answer

    server = Breaking(chunk_size=50)
    fill(server, 6)
    async with informed(server) as (informer, clock):
        deletions: list[Change[core.ConfigMap]] = []
        informer.add_handler(lambda change: deletions.append(change) if change.type == "deleted" else None)
        assert not informer.synced
        some = len(informer.lister)
        assert 0 < some < 6
        server.delete("shop", "o-0000")
        await clock.advance(5)
        assert not informer.synced
        assert deletions == []
        server.breaking = False
        await clock.advance(60)
        assert informer.synced
        assert len(informer.lister) == 5
        assert [(change.key.name, change.missed) for change in deletions] == [("o-0000", True)]


async def test_a_deletion_inside_a_streaming_list_waits_for_its_end() -> None:
    class Holding(MemoryServer):
        async def send(self, request: Request) -> Any:
            answer: Any = await super().send(request)
            self.end_mark = answer._pieces.pop()
            return answer

    server = Holding()
    fill(server, 2)
    async with informed(server) as (informer, clock):
        changes: list[Change[core.ConfigMap]] = []
        informer.add_handler(changes.append)
        server.delete("shop", "o-0000")
        await clock.settled()
        assert not informer.synced
        assert [change.type for change in changes] == ["added", "added"]
        watch = server.watches[0]
        watch._pieces.append(server.end_mark)
        watch._news.set()
        await clock.settled()
        assert informer.synced
        assert [(change.type, change.missed) for change in changes[2:]] == [("deleted", False)]
        assert informer.lister.keys() == [("shop", "o-0001")]


@pytest.mark.promise("The stream from the server", "A stalled connection is reopened.")
async def test_stalled_watch_is_reopened() -> None:
    server = MemoryServer()
    fill(server, 1)
    async with informed(server, stall_timeout=90) as (informer, clock):
        server.silence()
        server.put("shop", "unheard")
        await clock.advance(89)
        assert informer.lister.get("unheard", "shop") is None
        await clock.advance(3)
        assert informer.lister.get("unheard", "shop") is not None
        assert informer.health.stalls == 1


@pytest.mark.promise("The stream from the server", "A stalled connection is reopened.")
async def test_bookmarks_keep_a_quiet_watch_open() -> None:
    server = MemoryServer()
    async with informed(server, stall_timeout=90) as (informer, clock):
        for _ in range(10):
            await clock.advance(60)
            server.bookmark()
        assert informer.health.stalls == 0
        assert asked(server) == ["stream"]
        await clock.advance(60)
        assert informer.health.quiet_since == 600, "on the clock that is never adjusted"


@pytest.mark.promise("The stream from the server", "Where it cannot, it is read in pages.")
async def test_a_server_that_never_ends_a_streaming_list_is_read_in_pages() -> None:
    class Ignorant(MemoryServer):
        """Ignores what it does not know, as servers before streaming lists might."""

        async def send(self, request: Request) -> Any:
            answer: Any = await super().send(request)
            if dict(request.query).get("sendInitialEvents"):
                answer._pieces.pop()
            return answer

    server = Ignorant()
    fill(server, 2)
    async with informed(server) as (informer, clock):
        assert not informer.synced
        await clock.advance(200)
        assert informer.synced
        assert asked(server)[:2] == ["stream", "page of 500"]


@pytest.mark.promise("The stream from the server", "Reconnects wait longer each time, and are spread.")
async def test_reconnects_are_spread_and_become_rarer() -> None:
    server = MemoryServer()
    async with informed(server) as (informer, clock):
        server.forbidden = {"watch"}
        server.end()
        await clock.settled()
        seen = len(server.requests)
        times: list[float] = []
        while len(times) < 8:
            step = clock.next_timer
            assert step is not None
            await clock.advance(step)
            if len(server.requests) > seen:
                seen = len(server.requests)
                times.append(clock.monotonic())
        pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
        for exponent, pause in enumerate(pauses, start=1):
            longest = min(0.8 * 2 ** (exponent + 1), 30)
            assert longest / 4 <= pause <= longest
        assert len(set(pauses)) == len(pauses)
        assert str(informer.health.state) == "waiting"
        server.forbidden = set()
        await clock.advance(30)
        assert informer.health.state == "watching"
        assert informer.health.last_error == ""


@pytest.mark.promise("The stream from the server", "Reconnects wait longer each time, and are spread.")
async def test_backs_off_if_each_watch_ends_immediately(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Hasty(MemoryServer):
        async def send(self, request: Request) -> Any:
            answer = await super().send(request)
            self.end()
            return answer

    caplog.set_level(logging.INFO, "kubewright.cache")
    server = Hasty()
    async with informed(server) as (informer, clock):
        await clock.advance(60)
        assert len(server.requests) < 12
        assert informer.health.state == "waiting"
        assert "ConfigMap (v1): the server ended the watch after 0s; retrying in" in caplog.text


@pytest.mark.parametrize("broken", [False, True], ids=["ended", "broken"])
async def test_a_proxy_that_ends_each_watch_after_some_seconds_costs_hardly_any_time(broken: bool) -> None:
    server = MemoryServer()
    async with informed(server) as (informer, clock):
        for _ in range(20):
            assert len(server.watches) == 1
            await clock.advance(10)
            for watch in tuple(server.watches):
                watch.finish(ConnectionLost("the proxy has enough", sent=True) if broken else None)
            await clock.advance(0.8)
            assert informer.health.state == "watching"


async def test_watch_that_ends_after_its_timeout_is_not_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kubewright.cache")
    server = MemoryServer()
    async with informed(server) as (informer, clock):
        caplog.clear()
        for restarts in range(1, 21):
            for _ in range(10):  # the bookmark of each minute
                await clock.advance(30)
                server.bookmark()
            server.end()
            await clock.settled()
            assert len(server.watches) == 1, "opened again at once, however often it has ended"
            assert (informer.health.state, informer.health.last_error) == ("watching", "")
            assert informer.health.restarts == restarts
        assert (informer.health.stalls, informer.health.relists) == (0, 0)
    assert caplog.records == []


async def test_repeated_expiry_backs_off() -> None:
    server = MemoryServer()
    async with informed(server) as (_, clock):
        for _ in range(600):
            await clock.advance(1)
            if clock.monotonic() % 7 == 0:
                server.end()
                server.put("shop", "a")
                server.expire()
        assert 10 < asked(server).count("stream") < 50


@pytest.mark.promise(
    "Reading the cache",
    "A missing permission names verb and user, for list and watch each, and heals.",
)
@pytest.mark.parametrize(
    ("streaming", "forbidden", "named"),
    [
        (True, {"watch"}, ["watch"]),
        (True, {"list", "watch"}, ["watch", "list"]),
        (False, {"list"}, ["list"]),
        (False, {"list", "watch"}, ["watch", "list"]),
        (False, {"watch"}, ["watch"]),
    ],
)
async def test_a_missing_permission_is_named_and_waited_for(
    streaming: bool, forbidden: set[str], named: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kubewright.cache")
    server = MemoryServer(streaming=streaming, forbidden=set(forbidden))
    fill(server, 1)
    async with informed(server) as (informer, clock):
        with pytest.raises(CacheSyncError) as caught:
            await clock.run(informer.wait_for_sync(20))
        message = str(caught.value)
        assert message.startswith("not in sync after 20s: ConfigMap (v1): ")
        for verb in ("list", "watch"):
            assert (f"the verb '{verb}' on configmaps is forbidden" in message) is (verb in named)
            assert (f'User "jane" cannot {verb}' in message) is (verb in named)
        assert [record.levelname for record in caplog.records] == ["WARNING"]  # once, however often it is tried
        assert all(verb in caplog.text for verb in named)
        server.forbidden = set()
        await clock.run(informer.wait_for_sync(60))
        assert caplog.records[-1].getMessage() == "ConfigMap (v1): watching again"


@pytest.mark.promise("How a reconcile ends", "A server that asks for a pause is given it, by reconciles and watches.")
async def test_respects_retry_after() -> None:
    class Busy(MemoryServer):
        busy = True

        async def send(self, request: Request) -> Any:
            answer = await super().send(request)
            if self.busy:
                answer = ScriptedResponse(429, {"kind": "Status", "code": 429, "reason": "TooManyRequests"})
                answer.headers = {"Retry-After": "120"}
            return answer

    server = Busy()
    async with informed(server) as (informer, clock):
        await clock.advance(119)
        assert len(server.requests) == 1
        server.busy = False
        await clock.advance(2)
        assert informer.synced


@pytest.mark.promise("The stream from the server", "A server that is away is waited for.")
async def test_a_server_that_is_away_is_waited_for() -> None:
    server = MemoryServer(down=True)
    fill(server, 1)
    async with informed(server) as (informer, clock):
        with pytest.raises(CacheSyncError, match="the server cannot be reached"):
            await clock.run(informer.wait_for_sync(60))
        server.down = False
        await clock.run(informer.wait_for_sync(60))
        assert len(informer.lister) == 1


@pytest.mark.promise("What happens when", "A replaced token is used at once; a refused one is said, and waited for.")
async def test_missing_credentials_are_logged_once_and_retried(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = MemoryServer()
    fill(server, 1)
    async with informed(server) as (informer, clock):
        answers, since = server.send, len(server.requests)

        async def refuse(request: Request) -> Any:
            server.requests.append(request)
            raise ConfigError("the token file is empty")

        monkeypatch.setattr(server, "send", refuse)
        server.cut()
        await clock.advance(60)
        assert informer.health.last_error == "the token file is empty"
        assert [record.levelname for record in caplog.records if "token file" in record.message] == ["WARNING"]
        monkeypatch.setattr(server, "send", answers)
        await clock.advance(60)
        assert informer.health.state == "watching"
        assert set(asked(server, since)) == {f"watch from {server.revision}"}, "nothing had to be read again"


async def test_watch_cancelled_by_another_task_is_reopened(caplog: pytest.LogCaptureFixture) -> None:
    server = MemoryServer()
    async with informed(server) as (informer, clock):
        server.watches[0].finish(asyncio.CancelledError())
        await clock.advance(1)
        server.put("shop", "new")
        await clock.settled()
        assert informer.lister.keys() == [("shop", "new")]
        assert "unexpected error" in caplog.text


@pytest.mark.promise("What the cache keeps", "An object that does not fit its model spoils no list and stops no watch.")
@pytest.mark.promise(
    "What the cache keeps",
    "So it is with one that is nested too deeply for a decoder, in a watch and in a page of a list.",
)
async def test_one_unreadable_line_does_not_stop_the_watch(caplog: pytest.LogCaptureFixture) -> None:
    server = MemoryServer()
    async with informed(server) as (informer, clock):
        server.watches[0].send("ADDED", {"metadata": {}})
        server.watches[0]._pieces.append(
            b'{"type":"ADDED","object":{"metadata":{"name":"no text: \xff","namespace":"shop"}}}\n'
            b'{"type":"ADDED","object":{"metadata":{"name":"deep","namespace":"shop"},"spec":%b%b}}\n'
            % (b"[" * 50_000, b"]" * 50_000)
        )
        server.watches[0].send("ADDED", {"metadata": {"name": "odd", "namespace": "shop", "labels": {"a": 1}}})
        server.put("shop", "good")
        await clock.settled()
        assert informer.lister.keys() == [("shop", "deep"), ("shop", "good"), ("shop", "odd")]
        assert [obj.metadata.name for obj in informer.lister.list()] == ["good"]
        assert informer.health.undecodable >= 4
        assert "ConfigMap shop/deep at 0 cannot be used: nested too deeply" in caplog.text
        assert "skipped unreadable data from the server" in caplog.text
        assert asked(server) == ["stream"]


async def test_one_unreadable_item_does_not_spoil_the_list(caplog: pytest.LogCaptureFixture) -> None:
    server = MemoryServer(streaming=False)
    server.put("shop", "good")
    server.put("shop", "odd")
    server.objects["shop", "odd"]["kind"] = 5
    async with informed(server) as (informer, clock):
        await clock.run(informer.wait_for_sync(60))
        assert informer.lister.keys() == [("shop", "good")]
        assert "skipped unreadable data from the server" in caplog.text


@pytest.mark.promise("Our own writes", "Revisions that go back leave no write standing.")
async def test_revisions_that_go_back_do_not_leave_our_writes_standing() -> None:
    server = MemoryServer(revision=1000)
    fill(server, 1)
    async with informed(server) as (informer, clock):
        written = server.put("shop", "mine")
        server.silence()
        informer.written(json.dumps(written).encode())
        # The server comes back from a backup: an older state, with smaller numbers.
        del server.objects["shop", "mine"]
        server.history.clear()
        server.revision, server.compacted = 500, 10**9
        server.cut()
        await clock.advance(400)
        assert informer.lister.keys() == [("shop", "o-0000")]
