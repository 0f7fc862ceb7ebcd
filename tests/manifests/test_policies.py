"""CEL rules as admission policies, written and enforced."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import pytest

import kubewright as kw
from kubewright.api import ObjectMeta, admissionregistration, meta, to_dict
from kubewright.cli import run
from kubewright.client import ApiError, Client, Invalid
from kubewright.crd import crds_of
from kubewright.manifests import policies_of
from tests.patience import until


@kw.constrain(kw.Rule("self.low <= self.high", message="low is at most high"))
class Window(kw.Model):
    low: int
    high: int


class ShopSpec(kw.Model):
    window: Window | None = None
    windows: Annotated[list[Window], kw.Items(0, 5)] | None = None
    by_day: Annotated[dict[str, Window], kw.Properties(0, 5)] | None = None
    owner: Annotated[str, kw.Immutable()] | None = None


@kw.resource("policies.example.com/v1")
class Shop(kw.Resource[ShopSpec, None]):
    """A kind with rules at every sort of place."""


class Plain(kw.Model):
    size: int = 1


@kw.resource("policies.example.com/v1")
class Stall(kw.Resource[Plain, None]):
    """A kind without rules."""


class Part(kw.Model):
    name: str
    size: Annotated[int, kw.Rule("self >= oldSelf")] = 1


class WholeSpec(kw.Model):
    parts: Annotated[list[Part], kw.ListType("map", keys=["name"])] = msgspec.field(default_factory=list)
    total: Annotated[int, kw.Rule("self > 0 || oldSelf.hasValue()", optional_old_self=True)] = 1
    size: Annotated[int, kw.Rule("self > 0")] = 1


@kw.resource("policies.example.com/v1")
class Whole(kw.Resource[WholeSpec, None]):
    """A kind with rules that no policy can have."""


def shop(namespace: str, **spec: Any) -> Shop:
    return Shop(metadata=ObjectMeta(generate_name="shop-", namespace=namespace), spec=ShopSpec(**spec))


def test_each_rule_is_put_at_its_place() -> None:
    made = policies_of(Shop)
    assert made is not None
    assert made.left_out == []
    expressions = {one.message: one.expression for one in made.policy.spec.validations or []}
    assert expressions["spec.window: low is at most high"] == (
        "(!has(object.spec) || object.spec == null || (!has(object.spec.window) || object.spec.window == null ||"
        " [object.spec.window].all(self, self.low <= self.high)))"
    )
    assert "spec.windows[*]: low is at most high" in expressions
    assert "spec.byDay[*]: low is at most high" in expressions
    assert policies_of(Stall) is None


def test_what_a_policy_cannot_have_is_named() -> None:
    made = policies_of(Whole)
    assert made is not None
    assert made.left_out == [
        ".spec.parts[*].size: self >= oldSelf: a policy does not know the old value of an element",
        ".spec.total: self > 0 || oldSelf.hasValue(): it also applies to creations, which a policy cannot express",
    ]
    assert len(made.policy.spec.validations or []) == 1


@pytest.mark.promise("Webhooks", "CEL rules become policies that a real server enforces.")
async def test_a_real_server_enforces_them(client: Client, namespace: str) -> None:
    made = policies_of(Shop)
    assert made is not None
    # The rules are taken out of the definition, so that only the policy can refuse.
    [definition] = crds_of(Shop)
    content = to_dict(definition)
    _without_rules(content)
    await client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=content)
    await client.wait_for(type(definition), definition.metadata.name, _established)
    assert made.binding.spec is not None
    only_here = {"kubernetes.io/metadata.name": namespace}
    made.binding.spec.match_resources = admissionregistration.MatchResources(
        namespace_selector=meta.LabelSelector(match_labels=only_here)
    )
    await client.create(made.policy)
    await client.create(made.binding)
    good, bad = Window(low=1, high=2), Window(low=2, high=1)
    await _until_refused(client, shop(namespace, window=bad))
    for broken, where in (
        (shop(namespace, windows=[good, bad]), r"spec\.windows\[\*\]: low is at most high"),
        (shop(namespace, by_day={"monday": bad}), r"spec\.byDay\[\*\]: low is at most high"),
    ):
        with pytest.raises(Invalid, match=where):
            await client.create(broken)
    kept = await client.create(shop(namespace, window=good, windows=[good], by_day={"monday": good}, owner="anna"))
    kept.spec.owner = "berta"
    with pytest.raises(Invalid, match=r"spec\.owner: "):
        await client.update(kept)
    await client.delete(admissionregistration.ValidatingAdmissionPolicyBinding, made.binding.metadata.name)
    await client.delete(admissionregistration.ValidatingAdmissionPolicy, made.policy.metadata.name)


def _without_rules(content: Any) -> None:
    if isinstance(content, dict):
        content.pop("x-kubernetes-validations", None)
        for value in content.values():
            _without_rules(value)
    elif isinstance(content, list):
        for value in content:
            _without_rules(value)


def _established(definition: Any) -> bool:
    return any(one.type == "Established" and one.status == "True" for one in definition.status.conditions or [])


async def _until_refused(client: Client, broken: Shop) -> None:
    """The server heeds a policy a while after it was created."""

    async def rejected() -> bool:
        try:
            await client.create(broken, dry_run=True)
        except Invalid as error:
            if "spec.window: low is at most high" not in str(error):
                raise
            return True
        except ApiError as error:
            if error.code != 404:
                raise
        return False

    await until(rejected)


PROGRAM = """
from typing import Annotated
import kubewright as kw

class Spec(kw.Model):
    size: Annotated[int, kw.Rule("self > 0")] = 1

@kw.resource("written.example.com/v1")
class Shop(kw.Resource[Spec, None]): ...
"""


def test_the_command_writes_them_when_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy_program.py").write_text(PROGRAM)
    arguments = ["manifests", str(tmp_path / "policy_program.py"), "--out", str(tmp_path / "config")]
    assert run(arguments) == 0
    assert not (tmp_path / "config" / "policy").exists()
    assert run([*arguments, "--policies"]) == 0
    text = (tmp_path / "config" / "policy" / "written.example.com_shops_v1.yaml").read_text()
    assert "kind: ValidatingAdmissionPolicy\n" in text
    assert "kind: ValidatingAdmissionPolicyBinding\n" in text
    assert (tmp_path / "config" / "policy" / "kustomization.yaml").exists()
    assert run([*arguments, "--policies", "--package", "helm"]) == 2
    assert "--policies and --package exclude each other" in capsys.readouterr().err
