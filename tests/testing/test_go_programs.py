"""Programs in Go that tests need, where there is no Go."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubewright.testing import SetupError
from tests import go_programs
from tests.cluster.clients import kubectl_versions
from tests.cluster.upstream import __main__ as upstream
from tests.go_programs import GoMissing, GoProgram


@pytest.fixture(autouse=True)
def no_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def find_go() -> None:
        raise SetupError("Go is not installed")

    monkeypatch.setattr(go_programs, "find_go", find_go)
    monkeypatch.setattr(go_programs, "cache_directory", lambda: tmp_path)


def test_reports_missing_go(tmp_path: Path) -> None:
    program = GoProgram(name="judge", module=tmp_path, version="v1")
    with pytest.raises(GoMissing, match=r"^judge cannot be built: Go is not installed$"):
        program.binary()
    with pytest.raises(pytest.skip.Exception, match=r"^judge cannot be built: Go is not installed$"):
        program.binary_for_test()


@pytest.mark.parametrize(("module", "program"), [(upstream, "kubernetes-api-machinery"), (kubectl_versions, "kubectl")])
def test_commands_end_with_message(module: object, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["program"])
    with pytest.raises(SystemExit, match=f"^error: {program} cannot be built: Go is not installed$"):
        module.main()  # type: ignore[attr-defined]
