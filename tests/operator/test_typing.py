"""mypy --strict finds the mistakes that users make in an operator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.operator.conftest import EXAMPLE
from tests.type_checks import mypy

PROGRAM = """\
from collections.abc import Iterator

import kubewright as kw
from kubewright.api import apps, core


class FooSpec(kw.Model):
    deployment_name: str
    replicas: int | None = None


class FooStatus(kw.Model):
    available_replicas: int = 0


class OtherStatus(kw.Model):
    phase: str = ""


@kw.resource("example.com/v1")
class Foo(kw.Resource[FooSpec, FooStatus]):
    pass


operator = kw.Operator("typed")


def child(foo: Foo) -> apps.Deployment:
    raise NotImplementedError


@operator.reconciles(Foo, owns=[apps.Deployment], watches=[kw.Watch(core.Secret, map=lambda secret: [])])
async def fine(foo: Foo, ctx: kw.Context[Foo]) -> kw.Result | None:
    deployment = await ctx.apply(child(foo))
    replicas: int | None = deployment.spec.replicas
    secret = ctx.get(core.Secret, "name")
    if secret is not None and secret.data:
        ctx.log.info("%s %s", replicas, len(secret.data))
    await ctx.set_status(FooStatus(available_replicas=replicas or 0))
    await ctx.patch_status(available_replicas=1)
    await ctx.patch_status({"availableReplicas": 1})
    ctx.set_condition("Ready", True, "Fine")
    return kw.Result(requeue_after=30)


@operator.reconciles(Foo, name="plain")
def also_fine(foo: Foo, ctx: kw.BlockingContext[Foo]) -> None:
    ctx.set_status(FooStatus(available_replicas=1))
    for deployment in ctx.owned(apps.Deployment):
        ctx.delete(deployment)


@operator.reconciles(Foo, name="keys")
async def by_key(key: kw.ObjectKey, ctx: kw.Context[Foo]) -> None:
    ctx.get(Foo, key.name, key.namespace)


@operator.reconciles(Foo, name="class")
class Keeper:
    async def reconcile(self, foo: Foo, ctx: kw.Context[Foo]) -> None: ...


@operator.finalizes(Foo)
async def finalize(foo: Foo, ctx: kw.Context[Foo]) -> None: ...


@operator.defaults(Foo, failure_policy="Ignore")
def fill_in(foo: Foo) -> None:
    foo.spec.replicas = foo.spec.replicas or 1


@operator.validates(Foo)
async def check(foo: Foo, request: kw.AdmissionRequest[Foo]) -> list[kw.FieldError]:
    old: Foo | None = request.old
    return [kw.FieldError.invalid("spec.replicas", old, "too few")]


@operator.validates(Foo)
class Rules:
    def validate_update(self, old: Foo, new: Foo) -> Iterator[kw.FieldError | kw.AdmissionWarning]:
        yield kw.AdmissionWarning("changed")


@operator.converts(Foo, Foo)
def convert(foo: Foo) -> Foo:
    return foo


@operator.validates(core.Pod)
def text(pod: core.Pod) -> int:  # WRONG-ABOVE arg-type
    return 1


@operator.validates(Foo)
def other_object(pod: core.Pod) -> None: ...  # WRONG-ABOVE arg-type


@operator.defaults(Foo, failure_policy="ignore")  # WRONG arg-type
async def misspelled(foo: Foo) -> None:
    foo.spec.replica = 1  # WRONG attr-defined


@operator.converts(Foo, Foo)
def nothing(foo: Foo) -> None: ...  # WRONG-ABOVE arg-type


@operator.reconciles(Foo, name="wrong")
async def wrong(foo: Foo, ctx: kw.Context[Foo]) -> None:
    print(foo.spec.deploymentName)  # WRONG attr-defined
    print(foo.spec.replicas + 1)  # WRONG operator
    await ctx.set_status(FooStatus(availble_replicas=1))  # WRONG call-arg
    await ctx.set_status(FooStatus(available_replicas="1"))  # WRONG arg-type
    await ctx.set_status(OtherStatus())  # WRONG
    await ctx.patch_status(FooStatus(available_replicas=1))  # WRONG arg-type
    ctx.record("Synced", "fine", type="Info")  # WRONG arg-type
    print(ctx.get(core.Secret, "name").data)  # WRONG union-attr
    ctx.apply(apps.Deployment(spec=None))  # WRONG arg-type unused-coroutine


@operator.reconciles(Foo, name="kind")
async def other_kind(pod: core.Pod, ctx: kw.Context[core.Pod]) -> None: ...  # WRONG-ABOVE arg-type


@operator.reconciles(Foo, nane="typo")  # WRONG call-arg
async def option(foo: Foo, ctx: kw.Context[Foo]) -> None: ...


@operator.reconciles(Foo, name="result")
async def result(foo: Foo, ctx: kw.Context[Foo]) -> int:  # WRONG-ABOVE arg-type
    return 30


@operator.reconciles(Foo, name="blocking")
def blocking(foo: Foo, ctx: kw.BlockingContext[Foo]) -> None:
    ctx.set_status(OtherStatus())  # WRONG
"""


def check(*files: Path) -> str:
    done = mypy(*files)
    assert not done.stderr
    return done.stdout


@pytest.mark.promise("What wakes a reconciler", "A type checker finds wrong fields, also a misspelled status field.")
def test_mypy_finds_wrong_fields_misspelled_status_fields_and_wrong_options(tmp_path: Path) -> None:
    program = tmp_path / "typed.py"
    program.write_text(PROGRAM)
    found: dict[int, set[str]] = {}
    for line, code in re.findall(r"typed\.py:(\d+): error: .*\[([a-z-]+)\]$", check(program), re.MULTILINE):
        found.setdefault(int(line), set()).add(code)
    expected: dict[int, set[str]] = {}
    for number, text in enumerate(PROGRAM.splitlines(), start=1):
        if wrong := re.search(r"# WRONG(-ABOVE)?(.*)", text):
            expected[number - 1 if wrong[1] else number] = set(wrong[2].split())
    assert found.keys() == expected.keys()
    for number, codes in expected.items():
        assert codes <= found[number]


def test_the_examples_are_clean() -> None:
    assert check(*sorted(EXAMPLE.glob("*.py"))) == ""
