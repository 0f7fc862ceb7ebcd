"""`--oidc-issuer` of `kubewright ui` and `run`, and the manifests with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.cli import run
from kubewright.console import OIDC
from kubewright.console.manifests import OIDC_SECRET, manifest_files

ISSUER = "https://login.example.com:8443/realms/a"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oidc-issuer", ISSUER], "--oidc-issuer requires --oidc-client-id"),
        (["--oidc-client-id", "console"], "--oidc-client-id requires --oidc-issuer"),
        (["--oidc-scope", "groups"], "--oidc-scope requires --oidc-issuer"),
        (["--oidc-issuer", "http://a", "--oidc-client-id", "b"], "must be a URL such as https://login.example.com"),
        (["--oidc-issuer", ISSUER, "--oidc-client-id", "b", "--oidc-scope", "a b"], "an OIDC scope is one word"),
    ],
)
@pytest.mark.parametrize("command", [["ui"], ["run", "foo.py", "--console-bind", "0.0.0.0:8082"]])
def test_rejects_wrong_options(
    command: list[str], arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--oidc-issuer", ISSUER, "--oidc-client-id", "b"], "--oidc-issuer requires --console-bind"),
        (["--console-bind", "0", "--console-url", "https://a"], "--console-url requires --console-bind"),
        (["--console-bind", "1", "--console-url", "a/b"], "'a/b' is not an address such as"),
    ],
)
def test_run_rejects_options_without_a_console(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["run", "foo.py", *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.promise(
    "Access to the console and its cost",
    "Users of an operator's own console can sign in at an OpenID Connect provider.",
)
def test_run_passes_provider_and_addresses_to_the_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "served.py"
    program.write_text("import kubewright as kw\noperator = kw.Operator('served')\n")
    attached: list[dict[str, Any]] = []
    monkeypatch.setattr("kubewright.console.attach_console", lambda _, **settings: attached.append(settings))
    monkeypatch.setattr("kubewright.operator.Operator.run", lambda *_, **__: None)
    console = ["--console-bind", "8082", "--console-url", "https://console.example.com"]
    assert run(["run", str(program), *console, "--oidc-issuer", ISSUER, "--oidc-client-id", "operators"]) == 0
    [settings] = attached
    assert settings["oidc"] == OIDC(issuer=ISSUER, client_id="operators")
    assert (settings["port"], settings["urls"]) == (8082, ("https://console.example.com",))


def deployment(**settings: Any) -> dict[str, Any]:
    [text] = [file.text for file in manifest_files(**settings) if file.path == "deployment.yaml"]
    found: dict[str, Any] = yaml.safe_load(text)["spec"]["template"]["spec"]
    return found


def test_manifests_configure_the_provider() -> None:
    pod = deployment(oidc=OIDC(issuer=ISSUER, client_id="console", scopes=("openid", "groups"), name="SSO"))
    arguments = pod["containers"][0]["args"]
    for argument in (f"--oidc-issuer={ISSUER}", "--oidc-client-id=console", "--oidc-scope=groups", "--oidc-name=SSO"):
        assert argument in arguments
    assert [volume["name"] for volume in pod["volumes"]] == ["tmp"]
    [policy] = [
        yaml.safe_load(file.text)
        for file in manifest_files(oidc=OIDC(issuer=ISSUER, client_id="console"))
        if file.path == "network-policy.yaml"
    ]
    assert 8443 in [port["port"] for port in policy["spec"]["egress"][1]["ports"]]


def test_manifests_never_contain_the_client_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, ca = tmp_path / "secret", tmp_path / "ca.pem"
    secret.write_text("s3cret-word")
    ca.write_text("a CA")
    monkeypatch.setenv("KUBEWRIGHT_OIDC_ISSUER", ISSUER)
    monkeypatch.setenv("KUBEWRIGHT_OIDC_CLIENT_SECRET_FILE", str(secret))
    options = ["--oidc-client-id", "console", "--oidc-ca-file", str(ca)]
    assert run(["ui", "--manifests", str(tmp_path / "out"), *options]) == 0
    said = capsys.readouterr().out
    assert f"create secret generic {OIDC_SECRET} --from-file=client-secret={secret} --from-file=ca.crt={ca}" in said
    written = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert "s3cret-word" not in written + said
    for word in ("--oidc-client-secret-file=/oidc/client-secret", "--oidc-ca-file=/oidc/ca.crt", OIDC_SECRET):
        assert word in written
