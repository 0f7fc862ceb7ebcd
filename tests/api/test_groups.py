"""Which API groups count as those of Kubernetes itself."""

import importlib
import pkgutil

import pytest

import kubewright.api
from kubewright.api.kinds import BUILT_IN_GROUPS


def test_the_groups_that_are_built_in_are_those_of_the_kinds_that_are_here() -> None:
    versions = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(kubewright.api.__path__, "kubewright.api.")
        if found.name.rpartition(".")[2].startswith("v")
    ]
    types = [getattr(version, name) for version in versions for name in version.__all__]
    assert {type_.__resource__.group for type_ in types if hasattr(type_, "__resource__")} == BUILT_IN_GROUPS


def test_missing_type_of_a_group_names_the_package_that_has_it() -> None:
    from kubewright.api import meta

    with pytest.raises(AttributeError, match=r"meta' has no attribute 'Time'; import it from kubewright\.api$"):
        meta.Time  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute 'Tyme'$"):
        meta.Tyme  # type: ignore[attr-defined]  # noqa: B018
