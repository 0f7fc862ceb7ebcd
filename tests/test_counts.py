"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from kubewright.counts import counted


@pytest.mark.parametrize(
    ("number", "forms", "shown"),
    [
        (0, ["error"], "0 errors"),
        (1, ["error"], "1 error"),
        (2, ["error"], "2 errors"),
        (1, ["retry", "retries"], "1 retry"),
        (3, ["retry", "retries"], "3 retries"),
        (1, ["cache is", "caches are"], "1 cache is"),
        (2, ["cache is", "caches are"], "2 caches are"),
    ],
)
def test_number_has_the_form_of_its_noun(number: int, forms: list[str], shown: str) -> None:
    assert counted(number, *forms) == shown
