"""Finding the configuration, and what it becomes."""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubewright.client import TLS, ClientConfig, ConfigError, Credentials, ExecPlugin, Impersonation, load_config


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class Home:
    """A home folder, an environment and a service account folder of our own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.service_account = folder / "serviceaccount"
        self.environ: dict[str, str] = {"HOME": str(folder)}

    def kubeconfig(
        self,
        path: str = ".kube/config",
        *,
        cluster: Mapping[str, Any] | None = None,
        user: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        name: str = "kind",
    ) -> Path:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": name,
            "clusters": [{"name": name, "cluster": {"server": "https://kind:6443", **(cluster or {})}}],
            "users": [{"name": "admin", "user": dict(user or {})}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": "admin", **(context or {})}}],
        }
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(document))
        return file

    def pod(self, host: str = "10.0.0.1", namespace: str = "team") -> None:
        self.service_account.mkdir()
        (self.service_account / "token").write_text("pod-token\n")
        (self.service_account / "ca.crt").write_text("ca")
        (self.service_account / "namespace").write_text(f"{namespace}\n")
        self.environ |= {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}

    def load(self, **arguments: Any) -> ClientConfig:
        return load_config(environ=self.environ, service_account=self.service_account, **arguments)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


class TestOrder:
    @pytest.mark.promise(
        "Configuration and credentials",
        "Arguments come first, then `KUBECONFIG`, the pod's account, and the file at home.",
    )
    def test_the_file_in_the_home_folder_comes_last(self, home: Home) -> None:
        home.kubeconfig(context={"namespace": "apps"})
        config = home.load()
        assert config.server == "https://kind:6443"
        assert config.namespace == "apps"
        assert (config.context, config.source) == ("kind", "~/.kube/config, context kind")

    @pytest.mark.promise(
        "Configuration and credentials",
        "Arguments come first, then `KUBECONFIG`, the pod's account, and the file at home.",
    )
    def test_a_service_account_comes_before_it(self, home: Home) -> None:
        home.kubeconfig()
        home.pod()
        assert home.load().source == "in-cluster"

    @pytest.mark.promise(
        "Configuration and credentials",
        "Arguments come first, then `KUBECONFIG`, the pod's account, and the file at home.",
    )
    def test_kubeconfig_of_the_environment_comes_before_a_service_account(self, home: Home) -> None:
        home.kubeconfig()
        home.pod()
        home.environ["KUBECONFIG"] = str(home.kubeconfig("other", name="other"))
        assert home.load().context == "other"

    @pytest.mark.promise(
        "Configuration and credentials",
        "Arguments come first, then `KUBECONFIG`, the pod's account, and the file at home.",
    )
    def test_a_named_file_comes_before_all(self, home: Home) -> None:
        home.pod()
        home.environ["KUBECONFIG"] = str(home.kubeconfig("other", name="other"))
        named = home.kubeconfig("named", name="named")
        assert home.load(kubeconfig=named).context == "named"
        assert home.load(kubeconfig="~/named").context == "named"

    def test_a_context_is_looked_for_in_files_also_inside_a_pod(self, home: Home) -> None:
        home.kubeconfig()
        home.pod()
        assert home.load(context="kind").context == "kind"

    def test_a_server_alone_reads_no_file(self, home: Home) -> None:
        home.kubeconfig(user={"token": "secret"})
        home.pod()
        config = home.load(server="https://elsewhere:1/")
        assert config == ClientConfig(server="https://elsewhere:1")

    def test_the_list_in_the_environment_is_merged_and_its_gaps_are_ignored(self, home: Home) -> None:
        first = home.kubeconfig("a/config", name="first", user={"tokenFile": "token"})
        second = home.kubeconfig("b/config", name="second", user={"tokenFile": "ignored"})
        home.environ["KUBECONFIG"] = f":{home.folder}/missing::{first}:{second}:{first}"
        assert home.load().context == "first"
        config = home.load(context="second")
        assert config.server == "https://kind:6443"
        assert config.credentials.token_file == str(home.folder / "a" / "token")

    def test_an_empty_list_is_as_good_as_none(self, home: Home) -> None:
        home.kubeconfig()
        home.environ["KUBECONFIG"] = ":"
        assert home.load().context == "kind"

    def test_missing_files_in_the_environment_are_an_error(self, home: Home) -> None:
        home.kubeconfig()
        home.environ["KUBECONFIG"] = "/nowhere/config"
        with pytest.raises(ConfigError) as caught:
            home.load()
        assert str(caught.value) == "KUBECONFIG is /nowhere/config, but that file does not exist; correct or unset it"

    def test_nothing_anywhere(self, home: Home) -> None:
        with pytest.raises(ConfigError) as caught:
            home.load()
        assert str(caught.value) == (
            f"no cluster is configured: KUBECONFIG is not set, this is not a pod, and {home.folder}/.kube/config "
            "does not exist; name a kubeconfig file or a server, or run a cluster here: `kubewright cluster start`"
        )

    def test_pod_without_a_token_is_named_in_the_error(self, home: Home) -> None:
        home.environ |= {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
        with pytest.raises(
            ConfigError, match=r"this pod has no service account token in .*automountServiceAccountToken"
        ):
            home.load()


class TestServiceAccount:
    def test_its_folder_may_be_named_by_a_variable(self, home: Home) -> None:
        home.pod(namespace="elsewhere")
        home.environ["KUBEWRIGHT_SERVICE_ACCOUNT"] = str(home.service_account)
        config = load_config(environ=home.environ)
        assert (config.source, config.namespace) == ("in-cluster", "elsewhere")
        assert config.credentials.token_file == str(home.service_account / "token")

    def test_everything_is_read_from_its_folder(self, home: Home) -> None:
        home.pod()
        config = home.load()
        assert config.server == "https://10.0.0.1:443"
        assert config.namespace == "team"
        assert config.tls == TLS(ca_file=str(home.service_account / "ca.crt"))
        assert config.credentials == Credentials(token_file=str(home.service_account / "token"))

    def test_an_address_of_ipv6_gets_its_brackets(self, home: Home) -> None:
        home.pod(host="fd00::1")
        assert home.load().server == "https://[fd00::1]:443"

    def test_the_downward_api_names_the_namespace_first(self, home: Home) -> None:
        home.pod()
        home.environ["POD_NAMESPACE"] = "downward"
        assert home.load().namespace == "downward"

    def test_without_a_ca_the_machine_decides_and_the_log_says_so(
        self, home: Home, caplog: pytest.LogCaptureFixture
    ) -> None:
        home.pod()
        (home.service_account / "ca.crt").unlink()
        assert home.load().tls == TLS()
        assert "ca.crt does not exist" in caplog.text


class TestCluster:
    def test_all_fields(self, home: Home) -> None:
        home.kubeconfig(
            cluster={
                "server": "https://kind:6443/prefix/?a=b",
                "certificate-authority": "certs/ca.pem",
                "tls-server-name": "kubernetes",
                "proxy-url": "http://proxy:3128",
                "disable-compression": True,
            }
        )
        config = home.load()
        assert config.server == "https://kind:6443/prefix"
        assert config.tls == TLS(ca_file=str(home.folder / ".kube/certs/ca.pem"), server_name="kubernetes")
        assert config.proxy == "http://proxy:3128"
        assert config.disable_compression

    def test_ca_data_wins_over_the_file(self, home: Home) -> None:
        home.kubeconfig(cluster={"certificate-authority": "ca.pem", "certificate-authority-data": encoded("PEM")})
        assert home.load().tls == TLS(ca_data=b"PEM")

    @pytest.mark.parametrize(
        ("cluster", "message"),
        [
            ({"server": ""}, "it has no server; expected a URL such as https://host:6443"),
            ({"certificate-authority-data": "?"}, "certificate-authority-data is not valid base64; expected PEM, "),
            (
                {"certificate-authority": "x", "insecure-skip-tls-verify": True},
                "insecure-skip-tls-verify cannot be combined with a certificate-authority; remove one",
            ),
            (
                {"proxy-url": "socks5://u:s3cret@proxy"},
                "proxy-url is a SOCKS proxy, which Kubewright cannot use; name ",
            ),
            (
                {"proxy-url": "ftp://u:s3cret@proxy"},
                "proxy-url is not the URL of a proxy; expected http://host:port or",
            ),
            ({"proxy-url": "http://proxy:99999"}, "proxy-url is not a URL; expected http://host:port"),
            ({"insecure-skip-tls-verify": "yes"}, "is not valid: insecure-skip-tls-verify: expected bool, got "),
        ],
    )
    def test_invalid_cluster_names_file_and_cluster(self, home: Home, cluster: Mapping[str, Any], message: str) -> None:
        file = home.kubeconfig(cluster=cluster)
        with pytest.raises(ConfigError) as caught:
            home.load()
        assert str(caught.value).startswith(f"kubeconfig {file}: cluster 'kind': {message}")
        assert "s3cret" not in str(caught.value)

    @pytest.mark.parametrize(
        "server", ["https://", "ftp://host", "https://host:99999", "https://ho st", "https://[::1", "/x"]
    )
    def test_rejects_a_server_that_is_not_a_url(self, home: Home, server: str) -> None:
        with pytest.raises(
            ConfigError, match=r"^arguments: the server is not a URL; expected one such as https://host:6443$"
        ):
            home.load(server=server)

    def test_rejects_a_password_in_the_server_without_showing_it(self, home: Home) -> None:
        with pytest.raises(ConfigError, match="must not contain a user name") as caught:
            home.load(server="https://me:s3cret@host")
        assert "s3cret" not in str(caught.value)

    def test_server_without_a_scheme_is_https_if_tls_is_configured(self, home: Home) -> None:
        assert home.load(server="localhost:8080").server == "http://localhost:8080"
        assert home.load(server="host:6443", insecure=True).server == "https://host:6443"
        assert home.load(server="host:6443", ca_data=b"PEM").server == "https://host:6443"

    def test_rejects_an_invalid_namespace(self, home: Home) -> None:
        home.kubeconfig(context={"namespace": "My Namespace"})
        with pytest.raises(ConfigError, match=r"~/\.kube/config, context kind: 'My Namespace' is not a namespace"):
            home.load()

    def test_a_context_without_a_cluster(self, home: Home) -> None:
        home.kubeconfig(context={"cluster": ""})
        with pytest.raises(ConfigError, match="context 'kind': it names no cluster"):
            home.load()


class TestUser:
    def test_a_context_without_a_user_is_anonymous(self, home: Home) -> None:
        home.kubeconfig(user={"token": "x"}, context={"user": None})
        assert home.load().credentials == Credentials()

    def test_files_are_relative_and_data_is_decoded(self, home: Home) -> None:
        home.kubeconfig(user={"client-certificate": "me.crt", "client-key-data": encoded("KEY"), "client-key": "x"})
        assert home.load().credentials == Credentials(
            certificate_file=str(home.folder / ".kube/me.crt"), key_data=b"KEY", user="admin"
        )

    def test_base64_over_several_lines(self, home: Home) -> None:
        home.kubeconfig(user={"client-certificate-data": "UEVN\nUEVN\n", "client-key-data": " UEVN "})
        assert home.load().credentials.certificate_data == b"PEMPEM"

    def test_tokens_and_passwords(self, home: Home) -> None:
        home.kubeconfig(user={"token": "abc\n", "tokenFile": "/run/token"})
        assert home.load().credentials == Credentials(token="abc", token_file="/run/token", user="admin")
        home.kubeconfig(user={"username": "me", "password": "pw"})
        assert home.load().credentials == Credentials(username="me", password="pw", user="admin")

    def test_impersonation(self, home: Home) -> None:
        home.kubeconfig(
            user={"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"z": ["1"], "k": ["2", "3"]}}
        )
        assert home.load().impersonate == Impersonation(
            user="jane", uid="7", groups=("a", "b"), extra=(("k", ("2", "3")), ("z", ("1",)))
        )

    def test_credentials_are_not_sent_in_the_clear(self, home: Home, caplog: pytest.LogCaptureFixture) -> None:
        home.kubeconfig(cluster={"server": "http://kind:8080"}, user={"token": "s3cret"})
        with caplog.at_level(logging.WARNING):
            assert home.load().credentials == Credentials()
        assert "http://kind:8080 is not https, so the credentials are not sent" in caplog.text
        assert "s3cret" not in caplog.text
        assert home.load(token="explicit").credentials.token == "explicit"

    @pytest.mark.parametrize(
        ("user", "message"),
        [
            ({"client-certificate": "x"}, "it has a client-certificate but no key; add client-key or client-key-data"),
            ({"token": "s3cret", "username": "me"}, "it has both a token and a username with password; only one may"),
            ({"client-key-data": "s3cret?"}, "client-key-data is not valid base64"),
            ({"as-groups": ["x"]}, "as-uid, as-groups and as-user-extra need a user to impersonate; add `as`"),
            (
                {"auth-provider": {"name": "gcp", "config": {"access-token": "s3cret"}}},
                "auth-provider 'gcp' is not supported; use an exec plugin instead, for example with "
                "gke-gcloud-auth-plugin",
            ),
            ({"auth-provider": {}, "token": 5}, "is not valid: token: expected text, got int"),
            ({"exec": {"command": ""}}, "exec: it has no command"),
            ({"exec": {"command": "x"}}, "exec: apiVersion is missing, expected client.authentication.k8s.io/v1; "),
            (
                {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1alpha1"}},
                "exec: apiVersion is 'client.authentication.k8s.io/v1alpha1', expected client.authentication.k8s.io/v1",
            ),
            (
                {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}},
                "exec: interactiveMode is missing; expected Never, IfAvailable or Always",
            ),
            (
                {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Nevr"}},
                "exec: interactiveMode 'Nevr' is unknown; did you mean 'Never'?",
            ),
            (
                {
                    "exec": {
                        "command": "x",
                        "apiVersion": "client.authentication.k8s.io/v1beta1",
                        "env": [{"value": "s"}],
                    }
                },
                "exec: each entry of env needs a name",
            ),
        ],
    )
    def test_invalid_user_names_file_and_user(self, home: Home, user: Mapping[str, Any], message: str) -> None:
        file = home.kubeconfig(user=user)
        with pytest.raises(ConfigError) as caught:
            home.load()
        assert str(caught.value).startswith(f"kubeconfig {file}: user 'admin': {message}")
        assert "s3cret" not in str(caught.value)

    def test_an_auth_provider_beside_a_token_does_not_matter(self, home: Home) -> None:
        home.kubeconfig(user={"auth-provider": {"name": "gcp"}, "token": "abc"})
        assert home.load().credentials.token == "abc"


class TestExecEntry:
    ENTRY: Mapping[str, Any] = {"apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}

    def plugin(self, home: Home, cluster: Mapping[str, Any] | None = None, **entry: Any) -> ExecPlugin:
        home.kubeconfig(user={"exec": {**self.ENTRY, **entry}}, cluster=cluster)
        found = home.load().credentials.exec
        assert found is not None
        return found

    def test_all_fields(self, home: Home) -> None:
        found = self.plugin(
            home,
            command="aws",
            args=["eks", "get-token"],
            env=[{"name": "A", "value": "b"}],
            installHint="get it",
        )
        assert found == ExecPlugin(
            command="aws", args=("eks", "get-token"), env=(("A", "b"),), interactive_mode="Never", install_hint="get it"
        )

    def test_only_a_command_with_a_slash_is_relative_to_the_file(self, home: Home) -> None:
        assert self.plugin(home, command="./bin/../login").command == str(home.folder / ".kube/login")
        assert self.plugin(home, command="/bin/login").command == "/bin/login"
        assert self.plugin(home, command="login").command == "login"

    def test_the_older_version_has_a_default_mode(self, home: Home) -> None:
        found = self.plugin(home, command="x", apiVersion="client.authentication.k8s.io/v1beta1", interactiveMode=None)
        assert found.interactive_mode == "IfAvailable"

    def test_the_extension_of_the_cluster_goes_to_the_plugin_that_asks(self, home: Home) -> None:
        extensions = [
            {"name": "other", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "me"}},
        ]
        found = self.plugin(home, {"extensions": extensions}, command="x", provideClusterInfo=True)
        assert found.cluster_config == b'{"audience":"me"}'
        assert self.plugin(home, {"extensions": extensions}, command="x").cluster_config is None

    def test_an_extension_that_yaml_aliases_blow_up_is_refused(self, home: Home) -> None:
        levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
        file = home.kubeconfig(user={"exec": {**self.ENTRY, "command": "x", "provideClusterInfo": True}})
        name = "client.authentication.k8s.io/exec"
        bomb = f"l0: &l0 [x]\n{levels}clusters: [{{name: kind, cluster: {{server: h, extensions: [{{name: {name}, "
        rest = yaml.safe_load(file.read_text())
        del rest["clusters"]
        file.write_text(f"{bomb}extension: *l11}}]}}}}]\n{yaml.safe_dump(rest)}")
        with pytest.raises(ConfigError, match="more than 1000000 values once its aliases are expanded"):
            home.load()


class TestArguments:
    @pytest.mark.promise(
        "Configuration and credentials",
        "Arguments come first, then `KUBECONFIG`, the pod's account, and the file at home.",
    )
    def test_arguments_replace_the_settings_of_the_context(self, home: Home) -> None:
        home.kubeconfig(
            cluster={"certificate-authority": "ca.pem", "tls-server-name": "kind"},
            user={"client-certificate": "a", "client-key": "b", "as": "jane", "as-groups": ["g"]},
        )
        config = home.load(
            context="kind", server="https://other", namespace="mine", token=" abc\n", impersonate_user="joe"
        )
        assert config.server == "https://other"
        assert config.namespace == "mine"
        assert config.tls == TLS(ca_file=str(home.folder / ".kube/ca.pem"))
        assert config.credentials == Credentials(token="abc")
        assert config.impersonate == Impersonation(user="joe")

    def test_empty_strings_count_as_not_given(self, home: Home) -> None:
        home.kubeconfig()
        assert home.load(kubeconfig="", context="", server="", namespace="", token="") == home.load()

    def test_a_ca_replaces_insecure_and_the_other_way_round(self, home: Home) -> None:
        home.kubeconfig(cluster={"insecure-skip-tls-verify": True})
        assert home.load(ca_file="/ca.pem").tls == TLS(ca_file="/ca.pem")
        home.kubeconfig(cluster={"certificate-authority": "ca.pem", "tls-server-name": "x"})
        assert home.load(insecure=True).tls == TLS(insecure=True, server_name="x")
        assert home.load(server_name="y").tls.server_name == "y"

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"insecure": True, "ca_file": "x"}, "insecure cannot be combined with a CA; pass one of them"),
            (
                {"certificate_file": "x"},
                "a client certificate needs its key: pass certificate_file and key_file together",
            ),
            (
                {"impersonate_groups": ["x"]},
                "impersonate_uid, impersonate_groups and impersonate_extra need impersonate_user",
            ),
            ({"proxy": "socks5://x"}, "the argument proxy is a SOCKS proxy, which Kubewright cannot use"),
        ],
    )
    def test_contradictions(self, home: Home, arguments: Mapping[str, Any], message: str) -> None:
        with pytest.raises(ConfigError) as caught:
            home.load(server="https://host", **arguments)
        assert str(caught.value).startswith(message)


class TestProxy:
    @pytest.mark.promise("Configuration and credentials", "Proxies.")
    @pytest.mark.parametrize(
        ("server", "environ", "proxy"),
        [
            ("https://h", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
            ("https://h", {"https_proxy": "p:1"}, "http://p:1"),
            ("https://h", {"HTTPS_PROXY": "http://upper", "https_proxy": "http://lower"}, "http://upper"),
            ("https://h", {"HTTP_PROXY": "http://p:1"}, None),
            ("http://h", {"HTTP_PROXY": "http://p:1"}, "http://p:1"),
            ("http://localhost", {"HTTP_PROXY": "http://p:1"}, None),
            ("https://127.0.0.2:6443", {"HTTPS_PROXY": "http://p:1"}, None),
            ("https://[::1]:6443", {"HTTPS_PROXY": "http://p:1"}, None),
            ("https://h", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
            ("https://a.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "x, Example.com"}, None),
            ("https://example.com", {"HTTPS_PROXY": "http://p:1", "no_proxy": "example.com"}, None),
            ("https://example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example.com"}, "http://p:1"),
            ("https://a.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*.example.com"}, None),
            ("https://anexample.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com"}, "http://p:1"),
            ("https://example.com:6443", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com:443"}, "http://p:1"),
            ("https://example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "example.com:443"}, None),
            ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, None),
            ("https://11.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8,,"}, "http://p:1"),
            ("https://10.1.2.3", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.1.2.3"}, None),
            ("https://[fd00::1]", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "[fd00::1]:443"}, None),
            ("https://[fd00::1]", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "fd00::1"}, None),
            ("https://10.example.com", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://p:1"),
        ],
    )
    def test_the_environment_counts_as_it_does_for_go(
        self, server: str, environ: Mapping[str, str], proxy: str | None
    ) -> None:
        assert load_config(server=server, environ=environ).proxy == proxy

    def test_the_cluster_and_the_argument_come_first(self, home: Home) -> None:
        home.environ["HTTPS_PROXY"] = "http://environment"
        home.kubeconfig()
        assert home.load().proxy == "http://environment"
        assert home.load(proxy="").proxy is None
        assert home.load(proxy="http://argument").proxy == "http://argument"
        home.kubeconfig(cluster={"proxy-url": "http://cluster"})
        assert home.load().proxy == "http://cluster"

    def test_a_bad_one_names_its_variable(self) -> None:
        with pytest.raises(ConfigError, match=r"^the environment variable https_proxy is a SOCKS proxy"):
            load_config(server="https://h", environ={"https_proxy": "socks5h://user:pw@p"})


def test_no_secret_shows_in_a_repr(home: Home) -> None:
    secrets = {
        "token": "s3cret-token",
        "client-certificate-data": encoded("s3cret-certificate"),
        "client-key-data": encoded("s3cret-key"),
        "exec": {
            **TestExecEntry.ENTRY,
            "command": "x",
            "args": ["--client-secret=s3cret"],
            "env": [{"name": "A", "value": "s3cret"}],
        },
    }
    home.kubeconfig(user=secrets, cluster={"proxy-url": "http://me:s3cret@proxy"})
    config = home.load()
    assert config.proxy == "http://me:s3cret@proxy"
    assert "s3cret" not in repr(config)
    home.kubeconfig(user={"username": "me", "password": "s3cret"})
    assert "s3cret" not in repr(home.load())
    assert "s3cret" not in str(list(config.credentials.__rich_repr__()))
    assert "https://kind:6443" in repr(config)
