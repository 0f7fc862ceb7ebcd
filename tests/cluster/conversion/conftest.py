"""The webhook server of the tests of admission, which converts as well."""

from __future__ import annotations

from tests.cluster.admission.conftest import hooks, real

__all__ = ["hooks", "real"]
