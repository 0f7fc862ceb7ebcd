"""A provider for the tests of sign-in with OpenID Connect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.oidc.provider import TestProvider, provided


@pytest.fixture(scope="module")
def module_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestProvider]:
    with provided(tmp_path_factory.mktemp("provider")) as made:
        yield made


@pytest.fixture
def provider(module_provider: TestProvider) -> TestProvider:
    """A provider that behaves correctly."""
    module_provider.reset()
    return module_provider
