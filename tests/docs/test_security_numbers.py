"""The numbers on the page about security are those of the code."""

from __future__ import annotations

import inspect
from pathlib import Path

from kubewright.client import ClientConfig
from kubewright.client import _connection as client_connection  # private: bounds that are not settings
from kubewright.client._sender import _ERROR_BYTES  # private: a bound that is not a setting
from kubewright.cluster import Cluster
from kubewright.cluster.merge import MOST_COPIED, MOST_OPERATIONS
from kubewright.cluster.serving import LIMITS, MAX_BODY_BYTES
from kubewright.cluster.storage import HISTORY_BYTES, MAX_OBJECT_BYTES
from kubewright.cluster.watch import MAX_PENDING_BYTES
from kubewright.console import Console, Limits
from kubewright.console.access import (
    FIRST_SECONDS,
    FREE_FAILURES,
    LONGEST_SECONDS,
    MAX_PER_VIEWER,
    MAX_SESSIONS,
)
from kubewright.http import ServerLimits
from kubewright.operator.endpoints import (
    ALLOW_SECONDS,
    CONNECTIONS,
    DENY_SECONDS,
    MOST_CACHED,
    MOST_REVIEWS,
    MOST_WAITING,
)
from kubewright.webhook import _server  # private: bounds that are not settings
from kubewright.webhook.reviews import LARGEST_ADMISSION, LARGEST_CONVERSION
from kubewright.yaml import MAX_DEPTH, MAX_NODES, MAX_SIZE

PAGE = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
KIB, MIB = 2**10, 2**20


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def test_servers_have_the_bounds_of_the_page() -> None:
    shared, console, cluster = ServerLimits(), Limits(), LIMITS
    pages = CONNECTIONS
    kib = f"{shared.header_bytes // KIB} KiB"
    head = f"{shared.header_seconds:g} s"
    slow, ahead, idle = f"{shared.write_seconds:g} s", shared.pipelined, f"{shared.idle_seconds:g} s"
    reserved = f"{console.connections}, and {console.reserved} for probes"
    reviews = f"{LARGEST_ADMISSION // MIB} MiB; {LARGEST_CONVERSION // MIB} MiB to convert"
    together = _server._ADMISSION_BYTES + LARGEST_CONVERSION
    objects = f"{MAX_BODY_BYTES // MIB} MiB"
    kept = f"{_server._IDLE_SECONDS:g} s"
    rows = [
        row("connections", _server._CONNECTIONS, pages, pages, reserved, f"{cluster.connections:,}"),
        row("of these, waiting for their clients", *[shared.waiting] * 3, "the same", cluster.waiting),
        row(
            "bodies of all requests together",
            f"{_server._ADMISSION_BYTES // MIB} MiB; {together // MIB} MiB with conversions",
            *["none is read"] * 2,
            f"{console.body_bytes // 10**6} MB each",
            f"{cluster.body_bytes // MIB} MiB",
        ),
        row("headers", kib, kib, kib, f"{console.header_bytes // KIB} KiB, {console.header_count} headers", kib),
        row("time for headers", head, head, head, f"{console.header_seconds:g} s", f"{cluster.header_seconds:g} s"),
        row("body", reviews, "none is read", "none is read", f"{console.body_bytes // 10**6} MB", objects),
        row("time to read a response", slow, slow, slow, f"{console.write_seconds:g} s for 16 KiB", slow),
        row("idle time", kept, idle, idle, f"{console.idle_seconds:g} s", f"{cluster.idle_seconds:g} s"),
        row("requests sent ahead", ahead, ahead, ahead, console.pipelined, cluster.pipelined),
    ]
    assert [one for one in rows if one not in PAGE] == []


def test_documents_have_the_bounds_of_the_page() -> None:
    deep = f"depth {MAX_DEPTH}; {MAX_NODES:,} nodes including aliases; {MAX_SIZE // MIB} MiB; no recursion"
    writes = inspect.signature(Cluster).parameters["history"].default
    rows = [
        row("YAML", deep),
        row("JSON Patch", f"{MOST_OPERATIONS:,} operations; {MOST_COPIED // MIB} MiB copied in all"),
        row("object in the embedded cluster", f"{MAX_OBJECT_BYTES / MIB:g} MiB, as etcd has it"),
        row("a watch of the embedded cluster that is not read", f"{MAX_PENDING_BYTES // MIB} MiB, then the watch ends"),
        row("history of the embedded cluster", f"{writes:,} writes, {HISTORY_BYTES // MIB} MiB"),
    ]
    assert [one for one in rows if one not in PAGE] == []


def test_the_client_has_the_bounds_of_the_page() -> None:
    config, wire = ClientConfig(server="https://localhost"), client_connection
    rows = [
        row("headers of a response", f"{wire._MAX_HEAD_BYTES // KIB} KiB, {wire._MAX_HEADERS:,} headers"),
        row("informational (1xx) responses", wire._MAX_INFORMATIONAL),
        row("trailers and chunk extensions", f"{wire._MAX_FRAMING_BYTES // KIB} KiB"),
        row("body, after decompression", f"{config.max_response_bytes // MIB} MiB (`max_response_bytes`)"),
        row("body of an error", f"{_ERROR_BYTES // MIB} MiB"),
        row("one event of a watch", f"{config.max_watch_event_bytes // MIB} MiB (`max_watch_event_bytes`)"),
    ]
    assert [one for one in rows if one not in PAGE] == []


def test_the_console_and_reviews_have_the_bounds_of_the_page() -> None:
    pages = inspect.signature(Console).parameters["pages_per_viewer"].default
    said = [
        row("sessions", f"{MAX_SESSIONS:,}; {MAX_PER_VIEWER} for each viewer"),
        f"{FREE_FAILURES} are free, then a delay that grows from {FIRST_SECONDS:g} s to {LONGEST_SECONDS:g} s",
        row("pages that a viewer has open", f"{pages} (`pages_per_viewer`)"),
        f"cached for {ALLOW_SECONDS:g} s, a refusal for {DENY_SECONDS:g} s, and {MOST_CACHED:,} of each are kept",
        f"At most {MOST_REVIEWS} reviews run at the same time\n",
        f"and {MOST_WAITING} requests wait for one",
    ]
    assert [one for one in said if one not in PAGE] == []
