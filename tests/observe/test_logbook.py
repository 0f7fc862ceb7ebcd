"""The last log lines about each object."""

from __future__ import annotations

import logging
import random
from datetime import UTC, datetime

import pytest

from kubewright.api import ResourceInfo
from kubewright.cache import ObjectKey
from kubewright.observe import LogBook, LogBookBounds, LogLine, Reconcile
from kubewright.operator.logs import keeping_logs

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ONE, TWO = ObjectKey("default", "one"), ObjectKey("default", "two")
INFO = ResourceInfo(group="example.com", version="v1", kind="Thing", plural="things", singular="thing", namespaced=True)
logger = logging.getLogger("elsewhere")


def line(message: str) -> LogLine:
    return LogLine(time=NOW, level="info", message=message)


def test_stores_lines_by_controller_and_object_newest_last() -> None:
    book = LogBook()
    book.add("thing", ONE, line("a"))
    book.add("thing", TWO, line("b"))
    book.add("thing", ONE, line("c"))
    book.add("other", ONE, line("d"))
    assert [one.message for one in book.of("thing", ONE)] == ["a", "c"]
    assert [one.message for one in book.of("other", ONE)] == ["d"]
    assert book.of("thing", ObjectKey("", "one")) == []


@pytest.mark.promise(
    "Objects and operators in the console",
    "The operator's log of an object is kept in bounded memory and contains no credentials.",
)
def test_bounds_memory_and_drops_least_recent_object() -> None:
    book = LogBook(LogBookBounds(lines=3, objects=2))
    for number in range(5):
        book.add("thing", ONE, line(str(number)))
    book.add("thing", TWO, line("b"))
    assert [one.message for one in book.of("thing", ONE)] == ["2", "3", "4"]
    book.add("thing", ONE, line("5"))
    book.add("thing", ObjectKey("default", "three"), line("c"))
    assert (len(book), book.of("thing", TWO)) == (2, [])
    tight = LogBook(LogBookBounds(bytes=2_000))
    for number in range(100):
        tight.add("thing", ObjectKey("default", str(number)), line("x" * 200))
    assert tight.size <= 2_000
    assert tight.of("thing", ObjectKey("default", "99"))


def test_replaces_oversized_line_with_short_one() -> None:
    book = LogBook(LogBookBounds(line_bytes=1_000))
    book.add("thing", ONE, line("y" * 5_000))
    [kept] = book.of("thing", ONE)
    assert kept.message == f"{'y' * 200}… (too long to keep)"


@pytest.mark.promise(
    "Objects and operators in the console",
    "The operator's log of an object is kept in bounded memory and contains no credentials.",
)
def test_log_records_during_a_reconcile_belong_to_its_object(caplog: pytest.LogCaptureFixture) -> None:
    book = LogBook()
    run = Reconcile(random.Random(1), "thing", INFO, ONE)
    with caplog.at_level(logging.INFO), keeping_logs(book, lambda: {"thing"}):
        with run.around():
            logger.info("from a library, with Bearer %s", "abcdefgh12345678", extra={"color": "red"})
            try:
                raise ValueError("no color")
            except ValueError:
                logger.exception("it failed")
        logger.info("about nothing")
        with Reconcile(random.Random(1), "another", INFO, TWO).around():
            logger.info("of another operator")
    logger.info("after the end")
    first, second = book.of("thing", ONE)
    assert (first.level, first.logger, first.extra) == ("info", "elsewhere", {"color": "red"})
    assert first.message == "from a library, with Bearer (withheld)"
    assert first.trace == run.trace_id
    assert (second.level, second.error) == ("error", "ValueError: no color")
    assert "Traceback" in second.traceback
    assert len(book) == 1


def test_unformattable_log_record_does_not_stop_the_program(caplog: pytest.LogCaptureFixture) -> None:
    book = LogBook()
    around = Reconcile(random.Random(1), "thing", INFO, ONE).around()
    with caplog.at_level(logging.INFO), keeping_logs(book, lambda: {"thing"}), around:
        logger.info("odd", extra={"error": object(), "level": 3, "time": "never"})
    assert [one.message for one in book.of("thing", ONE)] == ["odd"]
