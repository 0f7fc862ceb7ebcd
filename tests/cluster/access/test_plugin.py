"""`pytest --cluster-rbac`: the fixture `cluster` enforces roles."""

from __future__ import annotations

import pytest

TEST = """
import pytest
from kubewright.api import core
from kubewright.client import Forbidden

async def test_jane_may_not(cluster):
    async with cluster.client_as("jane") as jane:
        with pytest.raises(Forbidden):
            await jane.list(core.Secret, "default")
    assert cluster.rbac
"""


@pytest.mark.parametrize(("options", "outcome"), [(("--cluster-rbac",), "passed"), ((), "failed")])
def test_roles_apply_only_with_the_option(pytester: pytest.Pytester, options: tuple[str, ...], outcome: str) -> None:
    pytester.makepyfile(TEST)
    pytester.makeini("[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    pytester.runpytest_subprocess("-p", "no:cacheprovider", *options).assert_outcomes(**{outcome: 1})
