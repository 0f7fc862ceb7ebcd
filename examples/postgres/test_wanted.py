"""Pure parts: what is wanted in a database, verifiers, and the configuration of a pod. No server is needed."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from postgres_operator.database import InvalidNames, address_of, logins, matches, verifier, wanted
from postgres_operator.patroni import configuration, launch, pod_environment

from kubewright.api import core, from_dict


class TestWanted:
    def test_users_log_in_unless_they_say_nologin(self) -> None:
        users = {"app": ["createdb"], "group": ["NOLOGIN"], "plain": None}
        assert logins("c", users=users) == ["app", "plain"]

    @pytest.mark.parametrize(
        ("field", "message"),
        [
            ({"users": {"postgres": []}}, r"users\[postgres\] is reserved"),
            ({"users": {"pg_x": []}}, r"users\[pg_x\] is reserved"),
            ({"users": {"x" * 64: []}}, "expected 1 to 63 bytes"),
            ({"users": {"é" * 32: []}}, "expected 1 to 63 bytes"),
            ({"users": {"": []}}, "expected 1 to 63 bytes"),
            ({"users": {"a\0b": []}}, "without NUL"),
            ({"users": {"app": ["root"]}}, r"users\[app\] has the unknown flag 'root'"),
            ({"users": {"app": ["login", "nologin"]}}, "has both login and nologin"),
            ({"users": {"foo_owner": []}, "prepared": {"foo": None}}, "rename the user"),
            ({"databases": {"foo": "app"}, "prepared": {"foo": None}}, "needs 'foo_owner'"),
            ({"databases": {"x" * 64: "app"}}, "databases has the name"),
        ],
    )
    def test_names_what_is_invalid(self, field: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidNames, match=message):
            wanted("c", **field)

    def test_shows_no_password(self) -> None:
        made = wanted("c", users={"app": []}, passwords={"app": "s3cret", "postgres": "s3cret"})
        assert "s3cret" not in repr(made)
        assert made.roles[0].password == "s3cret"


class TestVerifiers:
    @settings(deadline=None, derandomize=True)
    @given(st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()))
    def test_matches_its_own_password(self, password: str) -> None:
        made = verifier(password, iterations=2)
        assert matches(password, made)
        assert not matches(password + "x", made)

    @pytest.mark.parametrize("stored", [None, "", "md5abc", "SCRAM-SHA-256$9999999:AA==$AA==:AA==", "SCRAM-SHA-256$0:"])
    def test_another_form_matches_nothing(self, stored: str | None) -> None:
        assert not matches("password", stored)

    def test_is_that_of_the_standard(self) -> None:
        """RFC 7677, section 3: a client with the password `pencil` accepts the server signature of its server key."""
        made = verifier("pencil", salt=base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), iterations=4096)
        stored, server = "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=", "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
        assert made == f"SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==${stored}:{server}"


class TestPods:
    def variables(self, **more: Any) -> dict[str, str]:
        made = pod_environment(
            cluster="acid-c", version="15", superuser_secret="a", standby_secret="b", bootstrap=configuration(**more)
        )
        plain = {each.name: each.value for each in made if each.value is not None}
        fields = {"POD_IP": "127.1.2.3", "POD_NAME": "acid-c-0", "POD_NAMESPACE": "ns"}
        return {**plain, **fields, "PGPASSWORD_SUPERUSER": "super", "PGPASSWORD_STANDBY": "stand"}

    def test_passwords_come_from_secrets(self) -> None:
        made = pod_environment(
            cluster="c", version="15", superuser_secret="s-super", standby_secret="s-stand", bootstrap={}
        )
        refs = {each.name: each.value_from.secret_key_ref for each in made if each.value_from is not None}
        found = {name: (ref.name, ref.key) for name, ref in refs.items() if ref is not None}
        assert found == {
            "PGPASSWORD_SUPERUSER": ("s-super", "password"),
            "PGPASSWORD_STANDBY": ("s-stand", "password"),
        }

    def test_bootstraps_with_the_parameters_of_the_manifest(self) -> None:
        variables = self.variables(parameters={"max_connections": "33"}, patroni={"ttl": 20, "slots": None})
        made = launch.configuration(variables, Path("/bin"), Path("/data"), Path("/run"))
        assert made["bootstrap"]["dcs"]["postgresql"]["parameters"] == {"max_connections": "33"}
        assert made["bootstrap"]["dcs"]["ttl"] == 20
        assert "slots" not in made["bootstrap"]["dcs"]

    def test_each_pod_has_its_own_address_and_socket(self) -> None:
        made = launch.configuration(self.variables(), Path("/bin"), Path("/data"), Path("/data/run"))
        assert made["postgresql"]["listen"] == "127.1.2.3:5432"
        assert made["restapi"]["listen"] == "127.1.2.3:8008"
        assert made["postgresql"]["parameters"]["unix_socket_directories"] == "/data/run"
        assert made["kubernetes"]["use_endpoints"] is True
        json.dumps(made)

    def test_names_a_version_that_is_not_installed(self, tmp_path: Path) -> None:
        (tmp_path / "15").mkdir()
        with pytest.raises(SystemExit, match=r"PostgreSQL 99 is not installed .* installed: 15"):
            launch.programs("99", tmp_path)
        with pytest.raises(SystemExit, match="is not installed"):
            launch.programs("../15", tmp_path)

    def test_the_address_is_that_of_the_service(self) -> None:
        spec = {"clusterIP": "10.0.0.1", "ports": [{"port": 80}, {"name": "postgresql", "port": 5433}]}
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "c"}, "spec": spec}
        assert address_of(from_dict(core.Service, service)) == ("10.0.0.1", 5433)
        assert address_of(from_dict(core.Service, service | {"spec": {"clusterIP": "None"}})) is None
