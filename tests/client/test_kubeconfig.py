"""Reading and merging kubeconfig files."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kubewright.client import ConfigError
from kubewright.client.credentials import Cluster, Context, User, read_kubeconfig


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def read(*files: str, must_exist: bool = False):  # type: ignore[no-untyped-def]
    found = read_kubeconfig(files, must_exist=must_exist)
    assert found is not None
    return found


FIRST = """
current-context: ""
clusters: [{name: shared, cluster: {server: https://first, certificate-authority: ca.pem}}]
users: [{name: both, user: {token: first}}]
contexts: null
"""
SECOND = """
current-context: two
clusters:
- {name: shared, cluster: {server: https://second, tls-server-name: second}}
- {name: own, cluster: {server: https://own}}
users: [{name: both, user: {token: second, username: second}}]
contexts: [{name: two, context: {cluster: shared, user: both, namespace: ns}}]
"""
THIRD = """
current-context: three
contexts: [{name: two, context: {cluster: own}}, {name: three, context: {cluster: own}}]
"""


class TestMerging:
    @pytest.fixture
    def files(self, tmp_path: Path) -> list[str]:
        texts = {"a/first": FIRST, "b/second": SECOND, "c/third": THIRD}
        return [write(tmp_path / name, text) for name, text in texts.items()]

    @pytest.mark.promise("Configuration and credentials", "Several files are merged as kubectl merges them.")
    def test_the_first_file_with_an_entry_provides_all_of_it(self, files: list[str]) -> None:
        merged = read(*files)
        assert merged.clusters["shared"].decode(Cluster).server == "https://first"
        assert merged.clusters["shared"].decode(Cluster).tls_server_name is None
        assert merged.users["both"].decode(User).token == "first"
        assert merged.users["both"].decode(User).username is None

    @pytest.mark.promise("Configuration and credentials", "Several files are merged as kubectl merges them.")
    def test_entries_that_only_later_files_have_are_added(self, files: list[str]) -> None:
        merged = read(*files)
        assert set(merged.clusters) == {"shared", "own"}
        assert merged.contexts["two"].decode(Context).namespace == "ns"
        assert merged.contexts["three"].decode(Context).cluster == "own"

    @pytest.mark.promise("Configuration and credentials", "Several files are merged as kubectl merges them.")
    def test_the_first_current_context_that_is_not_empty_counts(self, files: list[str]) -> None:
        assert read(*files).current_context == "two"
        assert read(*reversed(files)).current_context == "three"

    def test_paths_are_relative_to_the_file_in_which_they_stand(self, files: list[str], tmp_path: Path) -> None:
        merged = read(*files)
        assert merged.clusters["shared"].path("ca.pem") == str(tmp_path / "a" / "ca.pem")
        assert merged.contexts["two"].path("x") == str(tmp_path / "b" / "x")
        assert merged.contexts["two"].path("/etc/x") == "/etc/x"

    def test_missing_files_are_skipped(self, files: list[str], tmp_path: Path) -> None:
        merged = read(str(tmp_path / "none"), *files)
        assert merged.files == tuple(files)

    def test_nothing_to_read_is_none(self, tmp_path: Path) -> None:
        assert read_kubeconfig([str(tmp_path / "none")], must_exist=False) is None
        assert read_kubeconfig([], must_exist=False) is None


class TestHostileFiles:
    @pytest.mark.promise(
        "Configuration and credentials",
        "A kubeconfig that cannot work gets one sentence, and a program one line and a failure.",
    )
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"{", "it is not valid YAML in line 2, column 1: did not find expected node content"),
            (b"a: b: c", "it is not valid YAML in line 1, column 5: mapping values are not allowed in this context"),
            (b"\xff\xfe\x00", "it is not valid YAML: "),
            (b"token: \xe9", "it is not valid YAML: "),
            (
                b"a: !!python/object/apply:os.system [id]",
                "it is not valid YAML in line 1, column 4: a tag that JSON has no value for",
            ),
            (b"- 1\n- 2", "expected a mapping with clusters, users and contexts, found a list"),
            (b"42", "expected a mapping with clusters, users and contexts, found a number"),
            (b"hello", "expected a mapping with clusters, users and contexts, found a plain string"),
            (b"2020-01-01", "expected a mapping with clusters, users and contexts, found a plain string"),
            (b"kind: Deployment", "it contains a 'Deployment', expected 'Config'; check the path"),
            (b"apiVersion: v2", "its apiVersion is 'v2', expected 'v1'"),
            (b"clusters: 5", "clusters must be a list of named entries"),
            (b"users: {a: b}", "users must be a list of named entries"),
            (b"contexts: [3]", "contexts[0] must be a mapping with a name (string) and a context"),
            (b"users: [{name: 5}]", "users[0] must be a mapping with a name (string) and a user"),
            (b"users: [{name: a}, {name: a}]", "user 'a' exists twice; remove one"),
            (b"current-context: [a]", "current-context must be a string; put it in quotes"),
            (b"[" * 100_000, "it is not valid YAML in line 1, column 65: nested more than 64 levels deep"),
            (b"- " * 100_000, "it is not valid YAML in line 1, column 129: nested more than 64 levels deep"),
        ],
    )
    def test_each_gives_one_sentence_that_names_the_file(self, tmp_path: Path, content: bytes, message: str) -> None:
        file = tmp_path / "config"
        file.write_bytes(content)
        with pytest.raises(ConfigError) as caught:
            read(str(file))
        assert str(caught.value).startswith(f"kubeconfig {file}: {message}")
        assert "\n" not in str(caught.value)

    @given(st.binary(max_size=200) | st.text(alphabet="{}[]&*!:- \nab\"'|>%@", max_size=60).map(str.encode))
    def test_any_content_is_read_or_refused(self, tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
        file = tmp_path_factory.getbasetemp() / "fuzzed"
        file.write_bytes(content)
        try:
            found = read_kubeconfig([str(file)], must_exist=True)
            assert found is not None
            found.context(None)
        except ConfigError as error:
            assert str(file) in str(error)  # noqa: PT017 - either outcome is right, a third is not

    def test_a_yaml_error_does_not_show_the_text_around_it(self, tmp_path: Path) -> None:
        file = write(tmp_path / "config", "users:\n- name: a\n  user: {token: s3cret: s3cret}\n")
        with pytest.raises(ConfigError) as caught:
            read(file)
        assert "s3cret" not in str(caught.value)
        assert caught.value.__suppress_context__

    def test_a_missing_file_that_was_asked_for(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"none: the file does not exist; check the path$"):
            read_kubeconfig([str(tmp_path / "none")], must_exist=True)

    def test_a_folder_instead_of_a_file(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="it cannot be read: Is a directory"):
            read_kubeconfig([str(tmp_path)], must_exist=True)


class TestLookingUp:
    @pytest.fixture
    def file(self, tmp_path: Path) -> str:
        contexts = [
            {"name": "kind-dev", "context": {"cluster": "kind", "user": "admin"}},
            {"name": "production", "context": {"cluster": "prod", "user": "missing"}},
        ]
        clusters = [{"name": "kind", "cluster": {"server": "https://kind"}}]
        users = [{"name": "admin", "user": {"token": 5}}, {"name": "null", "user": None}]
        document = {"contexts": contexts, "clusters": clusters, "users": users}
        return write(tmp_path / "config", yaml.safe_dump(document))

    @pytest.mark.promise(
        "Configuration and credentials",
        "A kubeconfig that cannot work gets one sentence, and a program one line and a failure.",
    )
    def test_unknown_context_suggests_the_closest_name(self, file: str) -> None:
        with pytest.raises(ConfigError) as caught:
            read(file).context("kind-dve")
        assert str(caught.value) == f"kubeconfig {file}: context 'kind-dve' does not exist; did you mean 'kind-dev'?"

    def test_unknown_context_lists_all_names(self, file: str) -> None:
        with pytest.raises(ConfigError, match=r"context 'x' does not exist; there is 'kind-dev', 'production'$"):
            read(file).context("x")

    def test_without_a_current_context_the_names_are_listed(self, file: str) -> None:
        with pytest.raises(ConfigError, match=r"no current-context is set; name a context \(kind-dev, production\)$"):
            read(file).context(None)

    def test_missing_current_context_is_named(self, tmp_path: Path) -> None:
        file = write(tmp_path / "other", "{current-context: gone, users: [{name: a}]}")
        with pytest.raises(ConfigError, match=r"current-context 'gone' does not exist; there is none$"):
            read(file).context(None)

    @pytest.mark.promise(
        "Configuration and credentials",
        "A kubeconfig that cannot work gets one sentence, and a program one line and a failure.",
    )
    def test_an_unknown_cluster_or_user_names_the_context(self, file: str) -> None:
        merged = read(file)
        context = merged.context("production")
        with pytest.raises(
            ConfigError, match="context 'production': it names the cluster 'prod', which does not exist"
        ):
            merged.cluster(context, "prod")
        with pytest.raises(
            ConfigError, match="context 'production': it names the user 'missing', which does not exist"
        ):
            merged.user(context, "missing")

    def test_a_value_of_the_wrong_type_names_entry_and_field(self, file: str) -> None:
        with pytest.raises(ConfigError) as caught:
            read(file).users["admin"].decode(User)
        assert str(caught.value) == f"kubeconfig {file}: user 'admin': is not valid: token: expected text, got int"

    def test_a_null_entry_is_an_empty_one(self, file: str) -> None:
        assert read(file).users["null"].decode(User) == User()

    @pytest.mark.parametrize("content", ["", "{}", "# nothing\n", "clusters: null\ncontexts: []\nusers: null\n"])
    def test_an_empty_file_is_called_empty(self, tmp_path: Path, content: str) -> None:
        file = write(tmp_path / "empty", content)
        with pytest.raises(ConfigError, match="it is empty; expected clusters, users and contexts"):
            read(file).context(None)


def test_the_contexts_of_a_kubeconfig_can_be_listed_in_their_order(tmp_path: Path) -> None:
    from kubewright.client import context_names

    file = tmp_path / "config"
    file.write_text("contexts: [{name: two, context: {}}, {name: one, context: {}}]")
    assert context_names(file) == ["two", "one"]
    assert context_names(environ={"KUBECONFIG": str(file)}) == ["two", "one"]
    assert context_names(environ={"HOME": str(tmp_path / "nowhere")}) == []
