"""Which kinds `kubewright dev` shows: each object once, whatever versions its kind has."""

from __future__ import annotations

from kubewright import resource
from kubewright.api import JSON, Resource
from kubewright.development._program import _shown  # private: a pure function, tested without the operator's process


@resource("shown.example.com/v1beta1", kind="Site", storage=False)
class Older(Resource[JSON, None]):
    """A version that is only served."""


@resource("shown.example.com/v1", kind="Site", storage=True)
class Stored(Resource[JSON, None]):
    """The one that is stored."""


@resource("shown.example.com/v1")
class Theme(Resource[JSON, None]):
    """Another kind, with one version."""


def test_of_several_versions_the_stored_one_is_shown_unless_another_is_reconciled() -> None:
    def versions(*reconciled: type) -> list[str]:
        return [f"{one.api_version} {one.kind}" for one in _shown([Older, Stored, Theme], set(reconciled))]

    stored, theme = "shown.example.com/v1 Site", "shown.example.com/v1 Theme"
    assert versions() == versions(Stored, Theme) == [stored, theme]
    assert versions(Older) == ["shown.example.com/v1beta1 Site", theme]
