"""Nothing runs that the administrator did not map."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kubewright.cluster.processes import Image, Images, ImagesError, Refused


def entry(**settings: Any) -> Image:
    found = Images({"app": {"command": ["/bin/app", "serve"], **settings}}).find("app")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pattern", "image", "found"),
    [
        ("nginx", "nginx", True),
        ("nginx", "nginx:1.27", True),
        ("nginx", "docker.io/library/nginx:1.27@sha256:abc", True),
        ("nginx", "nginx-evil", False),
        ("nginx", "evil.example/nginx", False),
        ("nginx:1.27", "nginx:1.27", True),
        ("nginx:1.27", "nginx:1.28", False),
        ("ghcr.io/acme/*", "ghcr.io/acme/web:v2", True),
        ("ghcr.io/acme/*", "ghcr.io/other/web", False),
        ("localhost:5000/app", "localhost:5000/app:v1", True),
        ("*", "anything", True),
    ],
)
def test_matches_names_tags_and_patterns(pattern: str, image: str, found: bool) -> None:
    assert (Images({pattern: ["x"]}).find(image) is not None) is found


def test_prefers_exact_names_and_longer_patterns() -> None:
    images = Images({"*": ["any"], "acme/*": ["acme"], "acme/web": ["web"], "acme/web:v2": ["web2"]})
    found = [images.find(each) for each in ("x", "acme/y", "acme/web")]
    assert [each.command[0] for each in found if each is not None] == ["any", "acme", "web"]


def test_unmapped_image_is_not_found() -> None:
    assert Images().find("nginx") is None
    assert Images({"nginx": ["x"]}).find(None) is None


class TestRules:
    @pytest.mark.promise("Pods as processes", "A pod starts no program that the mapping of images does not allow.")
    def test_command_of_a_pod_is_refused(self) -> None:
        with pytest.raises(Refused, match=r"image \"app:v1\" does not allow the command 'sh'.*set allow_command"):
            entry().command_for("app:v1", ["sh", "-c", "evil"], None)
        assert entry(allow_command=True).command_for("app", ["sh"], ["-c"]) == ["sh", "-c"]

    def test_arguments_of_a_pod_are_refused(self) -> None:
        with pytest.raises(Refused, match="does not allow the arguments of a pod; set allow_args"):
            entry().command_for("app", None, ["--evil"])
        assert entry(allow_args=True).command_for("app", None, ["--fine"]) == ["/bin/app", "serve", "--fine"]

    def test_own_command_and_arguments_need_no_permission(self) -> None:
        app = entry(args=["--port=80"])
        assert app.command_for("app", None, None) == ["/bin/app", "serve", "--port=80"]
        assert app.command_for("app", ["/bin/app", "serve"], ["--port=80"]) == ["/bin/app", "serve", "--port=80"]

    def test_allowed_arguments_do_not_allow_a_command(self) -> None:
        with pytest.raises(Refused, match="command"):
            entry(allow_args=True).command_for("app", ["sh"], ["-c"])

    def test_executes_only_listed_programs(self) -> None:
        app = entry(allow_exec=["cat", "/bin/*"])
        app.check_exec("app", ["cat", "/etc/passwd"])
        app.check_exec("app", ["/bin/ls"])
        for command in (["sh"], ["/usr/bin/cat"], []):
            with pytest.raises(Refused, match="allow_exec"):
                app.check_exec("app", command)

    @pytest.mark.parametrize(
        "name",
        [
            "PATH",
            "LD_PRELOAD",
            "PYTHONPATH",
            "pythonpath",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "SHELLOPTS",
            "PS4",
            "_JAVA_OPTIONS",
            "NODE_PATH",
            "OPENSSL_CONF",
            "KUBEWRIGHT_X",
        ],
    )
    def test_guarded_variables_are_refused(self, name: str) -> None:
        with pytest.raises(Refused, match=f"does not allow the variable {name}; set allow_environment"):
            entry().check_environment("app", ["FINE", name])
        entry(allow_environment=[name.upper()]).check_environment("app", [name])


class TestFile:
    def test_reads_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "images.toml"
        file.write_text(
            '[images."ghcr.io/acme/*"]\ncommand = ["{python}", "-m", "acme"]\nallow_args = true\ndirectory = "."\n'
            '[images."ghcr.io/acme/*".environment]\nMODE = "test"\n'
        )
        assert Images.read(file).find("ghcr.io/acme/web") == Image(
            command=(sys.executable, "-m", "acme"),
            allow_args=True,
            directory=str(tmp_path),
            environment={"MODE": "test"},
        )

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[images.app]\n", 'image "app" has no command'),
            ('[images.app]\ncommand = "nginx -g"\n', "command is 'nginx -g'; expected a list of strings"),
            (
                '[images.app]\ncommand = ["x"]\nallow_arg = true\n',
                "unknown setting 'allow_arg'; did you mean allow_args",
            ),
            ('[images.app]\ncommand = ["x"]\nallow_args = "yes"\n', "allow_args is 'yes'; expected true or false"),
            ("[image.app]\n", r"has tables other than \[images"),
            ("[images", "cannot read"),
        ],
    )
    def test_rejects_an_invalid_file(self, tmp_path: Path, content: str, message: str) -> None:
        file = tmp_path / "images.toml"
        file.write_text(content)
        with pytest.raises(ImagesError, match=message):
            Images.read(file)

    def test_reports_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(ImagesError, match=r"cannot read .*none\.toml: No such file"):
            Images.read(tmp_path / "none.toml")


def test_keeps_the_folders_of_the_interpreter_and_those_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "images.toml"
    file.write_text('[images.app]\ncommand = ["x"]\nkeep = [".", "/opt/data", "{python}"]\n')
    found = Images.read(file).find("app")
    assert found is not None
    assert {str(tmp_path.resolve()), "/opt/data", sys.prefix, sys.base_prefix} <= set(found.keep)


def test_names_a_user_that_this_machine_does_not_have() -> None:
    assert entry(user="root").user_id == 0
    assert entry(user=12345).user_id == 12345
    with pytest.raises(Refused, match="this machine has no user 'no-such-user'"):
        _ = entry(user="no-such-user").user_id
