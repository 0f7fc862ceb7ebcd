"""Names that Kubernetes or Python would reject are rejected before anything is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubewright.scaffold import ScaffoldError, carry_out, new_api, new_project, new_webhook


@pytest.fixture
def project(tmp_path: Path) -> Path:
    carry_out(new_project("guestbook", "my.domain"), tmp_path)
    return tmp_path


@pytest.mark.promise("Projects", "Names are checked before anything is written.")
@pytest.mark.parametrize("name", ["", "Guestbook", "1st", "-x", "x-", "a_b", "class", "kubewright", "tests", "x" * 56])
def test_rejects_invalid_project_name(name: str) -> None:
    with pytest.raises(ScaffoldError, match="name"):
        new_project(name, "my.domain")


@pytest.mark.parametrize(("name", "module"), [("json", "json"), ("test", "test"), ("xml", "xml")])
def test_rejects_project_name_that_hides_the_standard_library(name: str, module: str) -> None:
    with pytest.raises(ScaffoldError, match=f"its package would hide the standard library's module {module} .*--name"):
        new_project(name, "my.domain")


@pytest.mark.promise("Projects", "Names are checked before anything is written.")
@pytest.mark.parametrize("domain", ["", "domain", "My.Domain", ".com", "a..b", "a b.c", "-a.b"])
def test_rejects_invalid_domain(domain: str) -> None:
    with pytest.raises(ScaffoldError, match="domain"):
        new_project("guestbook", domain)


@pytest.mark.promise("Projects", "Names are checked before anything is written.")
@pytest.mark.parametrize(
    ("group", "version", "kind", "message"),
    [
        ("Web", "v1", "Guestbook", "a group must be lower case"),
        ("", "v1", "Guestbook", "a group must be lower case"),
        ("web", "1", "Guestbook", "a version must be like v1"),
        ("web", "v1x", "Guestbook", "a version must be like v1"),
        ("web", "v0", "Guestbook", "a version must be like v1"),
        ("web", "v1", "guestbook", "did you mean Guestbook?"),
        ("web", "v1", "Guest-Book", "CamelCase"),
        ("web", "v1", "Operator", "its module operator.py"),
        ("web", "v1", "Class", "its module class.py"),
        ("x" * 200, "v1", "Guestbook", "a group must be lower case"),
    ],
)
def test_rejects_invalid_kind(project: Path, group: str, version: str, kind: str, message: str) -> None:
    with pytest.raises(ScaffoldError) as caught:
        new_api(project, group=group, version=version, kind=kind)
    assert message in str(caught.value)


@pytest.mark.promise("Projects", "Names are checked before anything is written.")
@pytest.mark.parametrize(
    ("owned", "message"),
    [
        ("Deploymnt", "did you mean Deployment?"),
        ("Event", "several groups have a kind Event: use core/Event or events/Event"),
        ("apps/Pod", "not 'apps/Pod'"),
    ],
)
def test_rejects_unknown_owned_kind(project: Path, owned: str, message: str) -> None:
    with pytest.raises(ScaffoldError) as caught:
        new_api(project, group="web", version="v1", kind="Guestbook", owns=[owned])
    assert message in str(caught.value)


def test_owned_kinds_require_a_reconciler(project: Path) -> None:
    carry_out(new_api(project, group="web", version="v1", kind="Guestbook"), project)
    with pytest.raises(ScaffoldError) as caught:
        new_api(project, group="web", version="v2", kind="Guestbook", owns=["Deployment"])
    assert str(caught.value) == (
        "--owns requires a reconciler, and Guestbook in v2 gets none: all objects are reconciled as v1. Add"
        " owns=[apps.Deployment] to @operator.reconciles(Guestbook) in guestbook/guestbook.py"
    )
    with pytest.raises(ScaffoldError, match="Page in v1 gets none: leave it out"):
        new_api(project, group="web", version="v1", kind="Page", controller=False, owns=["Deployment"])


@pytest.mark.promise("Projects", "Names are checked before anything is written.")
def test_rejects_two_kinds_with_the_same_module(project: Path) -> None:
    carry_out(new_api(project, group="web", version="v1", kind="Guestbook"), project)
    with pytest.raises(ScaffoldError, match=r"Guestbook in web.my.domain/v1 already has the module guestbook.py"):
        new_api(project, group="other", version="v1", kind="Guestbook")


def test_accepts_a_group_with_the_domain(project: Path) -> None:
    given = [new_api(project, group=group, version="v1", kind="Page") for group in ("web", "web.my.domain")]
    assert given[0] == given[1]


def test_a_kind_requires_a_project(tmp_path: Path) -> None:
    with pytest.raises(ScaffoldError, match="create one with `kubewright init`"):
        new_api(tmp_path, group="web", version="v1", kind="Guestbook")


def test_a_webhook_requires_a_kind_and_an_option(project: Path) -> None:
    with pytest.raises(ScaffoldError, match="name the webhooks"):
        new_webhook(project, group="web", version="v1", kind="Guestbook")
    with pytest.raises(ScaffoldError, match=r"no Guestbook in web.my.domain/v1 \(there is none yet\)"):
        new_webhook(project, group="web", version="v1", kind="Guestbook", defaulting=True)
    carry_out(new_api(project, group="web", version="v1", kind="Guestbook"), project)
    with pytest.raises(ScaffoldError, match="nothing to convert to"):
        new_webhook(project, group="web", version="v1", kind="Guestbook", conversion=True)


KIND = "name='x'\ndomain='x.y'\n[[kinds]]\ngroup='g'\nversion='v1'\nkind='K'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it lacks name and domain"),
        ("name = 1\ndomain = 'x.y'", "name must be a string, not 1"),
        ("nonsense", "cannot be read: "),
        ("name = 'x'", "it lacks domain"),
        ("name='x'\ndomain='x.y'\nmore=1", "more is unknown"),
        ("name='x'\ndomain='x.y'\nkinds=5", "each kind must be a table below [[kinds]]"),
        ("name='x'\ndomain='x.y'\nkinds=['a']", "each kind must be a table below [[kinds]]"),
        ("name='x'\ndomain='x.y'\nscaffold='0.1'\nkinds=5", "each kind must be a table below [[kinds]]"),
        ("name='x'\ndomain='x.y'\nscaffold='0.1'\nkinds=['a']", "each kind must be a table below [[kinds]]"),
        ("name='x'\ndomain='x.y'\nscaffold=0", "there is no version 0 of the scaffold"),
        ("name='x'\ndomain='x.y'\nscaffold=true", "scaffold must be a number, not True"),
        (KIND, "it lacks module of a kind"),
        (KIND + "module='k'\nplural='ks'", "plural of a kind is unknown"),
        (KIND + "module='k'\nnamespaced='no'", "namespaced of a kind must be true or false, not 'no'"),
        (KIND + "module='k'\nowns=[1]", "owns of a kind must be a list of strings, not [1]"),
    ],
)
def test_reports_an_invalid_record(project: Path, text: str, message: str) -> None:
    (project / "kubewright.toml").write_text(text)
    with pytest.raises(ScaffoldError) as refused:
        new_api(project, group="web", version="v1", kind="Guestbook")
    assert "kubewright.toml" in str(refused.value)
    assert message in str(refused.value)


def test_finds_built_in_kinds_before_they_are_imported() -> None:
    """The types of a group are imported on first use, so a new interpreter has not imported any."""
    asked = "from kubewright.scaffold import find_builtin_kind; print(find_builtin_kind('deployment'))"
    assert subprocess.check_output([sys.executable, "-c", asked], text=True) == "apps.Deployment\n"
