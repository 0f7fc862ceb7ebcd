import json
import re

import pytest

from benchmarks import samples
from benchmarks.peers.protocol import Progress
from benchmarks.programs import ROOT, Program, in_turn

GO = ROOT / "benchmarks" / "peers" / "controller_runtime"


def said_by(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_progress_tells_once_when_it_begins_and_when_all_is_done(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(objects=2, writes=0)
    progress.began()
    progress.began()
    assert said_by(capsys) == ['{"event": "first"}']
    progress.reconciled(("default", "a"), None)
    progress.reconciled(("default", "a"), None)
    assert said_by(capsys) == []
    progress.reconciled(("default", "b"), None)
    progress.reconciled(("default", "b"), None)
    assert said_by(capsys) == ['{"event": "reconciled", "count": 2, "reconciles": 3}']


def test_progress_tells_latencies_of_writes_since_its_start_alone(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(objects=0, writes=1)
    progress.reconciled(("default", "a"), "1000.5")
    assert said_by(capsys) == []
    progress.reconciled(("default", "a"), f"{progress._started + 1e-6:.7f}")
    (line,) = said_by(capsys)
    assert re.fullmatch(r'\{"event": "latencies", "milliseconds": \[-?[0-9.e-]+\]\}', line)


def test_each_program_begins_a_round_once() -> None:
    a, b, c = (Program(name, "1", ()) for name in "abc")
    assert [in_turn([a, b, c], turn) for turn in range(4)] == [[a, b, c], [b, c, a], [c, a, b], [a, b, c]]


def test_go_and_python_agree_on_names_and_flags() -> None:
    source = "".join(path.read_text() for path in sorted(GO.glob("*.go")))
    assert f'Group: "{samples.GROUP}", Version: "{samples.VERSION}"' in source
    assert f'writtenAnnotation = "{samples.WRITTEN}"' in source
    arguments = (ROOT / "benchmarks" / "peers" / "arguments.py").read_text()
    operator = arguments.partition("def operator_arguments")[2]
    in_python = set(re.findall(r'"--([a-z]+)"', operator)) - {"kubeconfig"}  # controller-runtime adds that one
    assert set(re.findall(r'flag\.\w+\("([a-z]+)"', source)) == in_python


def test_samples_have_the_size_they_are_said_to_have() -> None:
    as_sent = json.dumps(samples.foo(1234, "default"), separators=(",", ":"))
    assert 1200 < len(as_sent) < 2000  # managedFields, uid and the rest come on top
    assert samples.pod(1, "default")["metadata"]["name"] != samples.pod(2, "default")["metadata"]["name"]
