"""Definitions in files, in folders and behind URLs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml

from kubewright.codegen import CodegenError, read_sources
from kubewright.codegen._fetch import fetch  # private: HTTP is allowed for this server only
from tests.codegen.round_trip import definition, thing

DEFINITION = yaml.safe_dump(definition(thing({"type": "object"})))
PATCH = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n"


def test_reads_the_definitions_among_the_documents_of_a_file(tmp_path: Path) -> None:
    other = definition(thing({"type": "object"}))
    other["spec"]["names"] = {"kind": "Other", "plural": "others"}
    listed = {"apiVersion": "v1", "kind": "List", "items": [other, {"kind": "ConfigMap"}]}
    text = f"---\n{DEFINITION}---\napiVersion: v1\nkind: Secret\n---\n---\n{yaml.safe_dump(listed)}"
    (tmp_path / "all.yaml").write_text(text)
    assert [kind.kind for kind in read_sources([str(tmp_path / "all.yaml")])] == ["Thing", "Other"]


def test_keeps_strings(tmp_path: Path) -> None:
    schema = thing({"type": "object", "properties": {"a": {"type": "string", "enum": ["ENUM"]}}})
    text = yaml.safe_dump(definition(schema)).replace("- ENUM", "[=, 2020-01-01]").replace("enum:\n", "enum:")
    (tmp_path / "a.yaml").write_text(text)
    (kind,) = read_sources([str(tmp_path / "a.yaml")])
    assert kind.versions[0].schema["properties"]["spec"]["properties"]["a"]["enum"] == ["=", "2020-01-01"]


def test_reads_numbers_as_go_does(tmp_path: Path) -> None:
    schema = thing({"type": "object", "properties": {"a": {"type": "integer", "maximum": "MAXIMUM"}}})
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(definition(schema)).replace("MAXIMUM", "1e+06"))
    (kind,) = read_sources([str(tmp_path / "a.yaml")])
    assert kind.versions[0].schema["properties"]["spec"]["properties"]["a"]["maximum"] == 1_000_000


def test_reads_only_definitions_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "bases").mkdir()
    (tmp_path / "bases" / "thing.yaml").write_text(DEFINITION)
    (tmp_path / "bases" / "values.yaml").write_text("{{ .Values }}")
    (tmp_path / "patch.yml").write_text(PATCH)
    (tmp_path / "note.md").write_text("CustomResourceDefinition {{")
    notes: list[str] = []
    (kind,) = read_sources([str(tmp_path)], skipped=notes.append)
    assert (kind.kind, kind.source) == ("Thing", str(tmp_path / "bases" / "thing.yaml"))
    assert notes == [f"{tmp_path / 'patch.yml'} has only a partial definition"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("absent.yaml", None, "no such file or folder"),
        ("a.yaml", b"a: [", "not YAML: line 2, column 1: did not find"),
        ("a.yaml", b"a: {{ .Values.a }} {{", "it looks like a template: render it first"),
        ("a.yaml", b"\xff\xfe\x00", "it is not UTF-8"),
        ("a.yaml", b"", "it has no CustomResourceDefinition"),
        ("a.yaml", b"kind: ConfigMap\n", "it has no CustomResourceDefinition"),
        ("a.yaml", PATCH.encode(), "not a complete CustomResourceDefinition: 'spec' is missing"),
        ("", None, "no file in this folder has a CustomResourceDefinition"),
    ],
)
def test_unreadable_source_is_named(name: str, content: bytes | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CodegenError) as caught:
        read_sources([str(path)])
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_rejects_expanding_aliases(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (tmp_path / "a.yaml").write_text(PATCH + "\n".join(lines))
    with pytest.raises(CodegenError, match="more than 1000000 values"):
        read_sources([str(tmp_path / "a.yaml")])


def test_explains_a_name_that_yaml_reads_as_a_boolean(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{PATCH}spec: {{on: 1}}\n")
    with pytest.raises(CodegenError, match="line 4, column 8: YAML reads the key on as true: write it in quotes"):
        read_sources([str(tmp_path / "a.yaml")])


@pytest.mark.parametrize("value", [".nan", "{~: 2}", "{[a]: 2}", "!!set {a}"])
def test_rejects_yaml_without_json_equivalent(value: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{PATCH}spec: {{a: {value}}}\n")
    with pytest.raises(CodegenError, match="not YAML: line 4"):
        read_sources([str(tmp_path / "a.yaml")])


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server with a definition and a redirect to another host."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/thing.yaml"
            self.send_response(302 if self.path == "/moved" else 200 if found else 404)
            if self.path == "/moved":
                self.send_header("Location", "ftp://127.0.0.1/thing.yaml")
            self.end_headers()
            self.wfile.write(DEFINITION.encode() if found else b"nothing")

        def log_message(self, *_arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_fetches_a_url(server: str) -> None:
    (kind,) = read_sources([f"{server}/thing.yaml"], allow_http=True)
    assert (kind.kind, kind.source) == ("Thing", f"{server}/thing.yaml")


@pytest.mark.promise("Types from definitions", "Only https is fetched by default, also after a redirect.")
def test_fetches_only_https_by_default(server: str) -> None:
    with pytest.raises(
        CodegenError, match=r"only https:// is fetched, because http:// can be tampered with; --allow-http"
    ):
        read_sources([f"{server}/thing.yaml"])
    for url in ("file:///etc/passwd", "ftp://127.0.0.1/a"):
        with pytest.raises(CodegenError, match=r"only https:// is fetched, not"):
            read_sources([url], allow_http=True)


@pytest.mark.promise("Types from definitions", "Only https is fetched by default, also after a redirect.")
def test_checks_redirects(server: str) -> None:
    with pytest.raises(CodegenError, match="only https:// is fetched, not ftp://"):
        fetch(f"{server}/moved", allow_http=True)


def test_server_errors_do_not_contain_secrets(server: str) -> None:
    with pytest.raises(CodegenError) as caught:
        fetch(f"{server}/absent?token=hidden", allow_http=True)
    assert str(caught.value) == f"{server}/absent: the server responds 404 Not Found"
    with pytest.raises(CodegenError) as caught:
        fetch(f"{server.replace('//', '//me:secret@')}/thing.yaml", allow_http=True)
    assert str(caught.value).startswith(f"{server}/thing.yaml: a URL with a user name or password is not fetched")
    with pytest.raises(CodegenError, match="it is larger than 10 bytes"):
        fetch(f"{server}/thing.yaml", allow_http=True, most_bytes=10)
    with pytest.raises(CodegenError, match="it cannot be fetched"):
        fetch(server.replace("http:", "https:") + "/thing.yaml")
