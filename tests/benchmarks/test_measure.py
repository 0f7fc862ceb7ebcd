import sys
from collections.abc import Sequence

import pytest

from benchmarks.measure import Failed, Process, parse_cpu_ticks, parse_memory


def python(program: str) -> Sequence[str]:
    return [sys.executable, "-c", program]


def test_cpu_ticks_are_found_behind_any_name_of_a_program() -> None:
    stat = "42 (a) R (b) S 1 42 42 0 -1 4194304 100 0 0 0 30 12 0 0 20 0 1 0 100 1000 10 18446744073709551615"
    assert parse_cpu_ticks(stat) == 42


def test_reports_memory_in_megabytes() -> None:
    status = "Name:\tpython\nVmHWM:\t   20480 kB\nVmRSS:\t   10240 kB\n"
    assert parse_memory(status, "VmRSS") == 10
    assert parse_memory(status, "VmHWM") == 20


def test_memory_of_an_ended_process_is_an_error() -> None:
    with pytest.raises(ValueError, match="no VmRSS"):
        parse_memory("Name:\tpython\nState:\tZ (zombie)\n", "VmRSS")


def test_measures_program_at_each_event_and_lets_it_continue() -> None:
    program = (
        "import sys; block = bytearray(b'x' * 2**26)\n"
        """print('{"event": "big", "count": 3}', flush=True); sys.stdin.readline()\n"""
        """del block; print('{"event": "small"}', flush=True); sys.stdin.readline()"""
    )
    with Process(python(program)) as process:
        said, big = process.wait_for("big")
        process.go()
        _, small = process.wait_for("small")
        process.go()
    assert said == {"event": "big", "count": 3}
    assert big.memory > 64
    assert small.memory < big.memory - 60
    assert small.peak >= big.memory
    assert small.wall >= big.wall > 0
    assert small.cpu >= big.cpu > 0


def test_events_in_one_write_are_reported_one_by_one() -> None:
    program = 'print(\'{"event": "a"}\\n{"event": "b"}\', flush=True); input()'
    with Process(python(program)) as process:
        process.wait_for("a")
        process.wait_for("b")


def test_a_program_that_ends_early_fails_with_its_last_words() -> None:
    expected = r"ended with 1 before it said 'ready'\nno such cluster"
    with Process(python("raise SystemExit('no such cluster')")) as process, pytest.raises(Failed, match=expected):
        process.wait_for("ready")


def test_a_program_that_says_something_else_fails() -> None:
    program = """print('{"event": "oops"}', flush=True); input()"""
    with Process(python(program)) as process, pytest.raises(Failed, match="should have said 'ready'"):
        process.wait_for("ready")


def test_a_silent_program_fails_and_is_ended() -> None:
    expected = r"did not say 'ready' within 0.1 s"
    with Process(python("import signal; signal.pause()")) as process, pytest.raises(Failed, match=expected):
        process.wait_for("ready", patience=0.1)
    with pytest.raises(FileNotFoundError):
        process.usage()
