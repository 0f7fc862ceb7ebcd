"""Operators that define their kinds themselves: what they may, and how it ends when the server does not serve them."""

from __future__ import annotations

from kubewright.api import JSON, Resource
from kubewright.api._resource import resource
from kubewright.controller import Context
from kubewright.crd import InstallError
from kubewright.operator import ExitCode, Operator
from kubewright.operator._run import _explain


@resource("defining.example.com/v1", plural="definables")
class Definable(Resource[JSON, None]):
    """Defined by its operator."""


def defining(**options: bool) -> set[str]:
    operator = Operator("definer", **options)  # type: ignore[arg-type]  # the one option that these tests give

    @operator.reconciles(Definable)
    async def sync(obj: Definable, ctx: Context[Definable]) -> None: ...

    return {str(one) for one in operator.permissions() if one.group == "apiextensions.k8s.io"}


def test_roles_allow_for_the_definition_where_the_operator_makes_it() -> None:
    name = "customresourcedefinitions.apiextensions.k8s.io"
    assert defining(install_crds=True) == {
        f"create {name}",
        *(f"{verb} {name} definables.defining.example.com" for verb in ("get", "patch", "watch")),
    }
    assert defining() == defining(install_crds=False) == set()


def test_a_definition_that_is_not_served_ends_the_program_as_one_that_is_not_ready() -> None:
    assert _explain(InstallError("definables.defining.example.com", "not served after 30 s")) is ExitCode.NOT_READY
