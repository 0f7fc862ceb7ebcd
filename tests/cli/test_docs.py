"""`kubewright docs` and `kubewright explain`."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import pytest

from kubewright import cli


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(words)
    out, err = capsys.readouterr()
    return code, out, err


def test_opens_the_documentation_in_a_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def open_browser(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_browser)
    monkeypatch.setenv("KUBEWRIGHT_CACHE_DIR", str(tmp_path))
    code, out, _ = run(capsys, "docs", "migration/kopf")
    assert (code, opened) == (0, [out.strip()])
    file = Path(opened[0].removeprefix("file://"))
    assert file.is_relative_to(tmp_path)
    assert "kopf" in file.read_text()
    assert (file.parents[1] / "search.js").is_file()


def test_names_the_file_if_there_is_no_browser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    monkeypatch.setenv("KUBEWRIGHT_CACHE_DIR", str(tmp_path))
    code, out, _ = run(capsys, "docs")
    assert code == 0
    assert "Could not open a browser" in out
    assert out.strip().endswith("/index.html")


def test_prints_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "docs", "exit-codes", "--text")
    assert code == 0
    assert out.startswith("# Exit codes")


def test_prints_no_notes_for_tests(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "docs", "tutorials/first-operator", "--text")
    assert code == 0
    assert "<!--" not in out
    assert "[Reconcile](../reconcile.md)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("reconcile", "--search", "clock"), "PAGE and --search cannot be combined"),
        (("--list", "--search", "clock"), "--search and --list cannot be combined"),
        (("--search", " "), "--search is empty, expected words"),
    ],
)
def test_rejects_options_that_would_be_ignored(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "docs", *words)
    assert (code, out) == (2, "")
    assert message in err


def test_searches(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "docs", "--search", "fence lease", "--output", "json")
    assert code == 0
    assert any("fencing" in hit["page"] for hit in json.loads(out)["hits"])
    assert run(capsys, "docs", "--search", "xyzzy-plugh")[1].strip() == "Nothing found."


def test_lists_all_pages(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Exit codes" in run(capsys, "docs", "--list")[1]


def test_suggests_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "docs", "reconcil")
    assert code == 2
    assert "there is no page 'reconcil'. Did you mean 'reconcile'?" in err


@pytest.mark.parametrize("word", ["KW301", "NotOwned"])
def test_explains_an_error(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", word)
    assert code == 0
    assert out.startswith("KW301  kubewright.controller.NotOwned\n\nCause: ")
    assert "\nFix: " in out


def test_lists_all_errors(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "--output", "json")
    assert code == 0
    assert {"code": "KW101", "error": "kubewright.client.ConfigError"}.items() <= json.loads(out)["errors"][0].items()


def test_suggests_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explain", "NotOwnd")
    assert code == 2
    assert "Did you mean 'NotOwned'?" in err


UNREACHABLE = """\
apiVersion: v1
kind: Config
current-context: a
contexts: [{name: a, context: {cluster: a, user: a}}]
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
"""


def test_a_failed_command_names_the_entry_of_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config").write_text(UNREACHABLE)
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    code, _, err = run(capsys, "apply", "-f", str(tmp_path / "a.yaml"), "--kubeconfig", str(tmp_path / "config"))
    assert code == 1
    assert err.strip().endswith("(kubewright explain KW113)")


def test_invalid_input_needs_no_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "manifests", str(tmp_path / "missing.py"))
    assert code == 2
    assert "explain" not in err
