"""The audit of lock files, against a database on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tools.audit import Locked, locked_in, main

LOCK = """\
aiohttp==3.14.5 \\
    --hash=sha256:00 \\
    --hash=sha256:01
uvloop==0.23.0 ; sys_platform != 'win32' \\
    --hash=sha256:02
"""


class Database:
    """Stands for OSV. `known` are the vulnerable releases."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], list[str]] = {}
        self.body: bytes | None = None
        database = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                body = (
                    database.body
                    or json.dumps({"results": [database.result(one) for one in asked["queries"]]}).encode()
                )
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def result(self, query: dict[str, Any]) -> dict[str, Any]:
        ids = self.known.get((query["package"]["name"], query["version"]), [])
        return {"vulns": [{"id": one} for one in ids]} if ids else {}


@pytest.fixture
def database() -> Iterator[Database]:
    made = Database()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    file = tmp_path / "a.lock"
    file.write_text(LOCK)
    return file


def test_reads_releases_from_lock_files(lock: Path) -> None:
    assert locked_in([lock, lock]) == [Locked("aiohttp", "3.14.5"), Locked("uvloop", "0.23.0")]


def test_reads_every_release_of_our_own_locks() -> None:
    for file in (Path(__file__).parents[2] / "requirements").glob("*.lock"):
        assert len(locked_in([file])) == sum("==" in line for line in file.read_text().splitlines())


def test_passes_without_known_vulnerabilities(
    database: Database, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.known[("aiohttp", "3.14.4")] = ["GHSA-1"]
    assert main([str(lock), "--database", database.url]) == 0
    assert capsys.readouterr().out == "audit: 2 locked releases have no known vulnerability\n"


def test_fails_and_names_the_release_and_the_advisory(
    database: Database, lock: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database.known[("aiohttp", "3.14.5")] = ["GHSA-1", "PYSEC-2"]
    assert main([str(lock), "--database", database.url]) == 1
    said = capsys.readouterr().err
    assert "aiohttp 3.14.5 has known vulnerabilities: https://osv.dev/vulnerability/GHSA-1, " in said


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"results": []}', b"{}"])
def test_skips_with_a_note_when_the_answer_is_not_the_databases(
    database: Database, lock: Path, capsys: pytest.CaptureFixture[str], body: bytes
) -> None:
    database.body = body
    assert main([str(lock), "--database", database.url]) == 0
    assert capsys.readouterr().out.startswith("audit skipped: the vulnerability database cannot be reached (")


def test_skips_with_a_note_of_one_line_when_offline(lock: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(lock), "--database", "http://127.0.0.1:9/"]) == 0
    said = capsys.readouterr()
    assert (said.out.count("\n"), said.err) == (1, "")
