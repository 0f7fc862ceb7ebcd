"""`validate`: finds all problems of a bundle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, get_args

from kubewright.olm._check_bundle import check_format, check_parts
from kubewright.olm._check_csv import check_csv
from kubewright.olm._check_definitions import check_definitions
from kubewright.olm._hub import check_hub
from kubewright.olm._problems import Problem
from kubewright.olm._read import Bundle
from kubewright.olm._scorecard import check_scorecard
from kubewright.olm._shape import misshapen

__all__ = ["DEFAULT_SUITES", "SUITES", "Report", "Suite", "validate"]

Suite = Literal["format", "bundle", "scorecard", "operatorhub"]
"""A set of checks.

`format`: the files and annotations that catalogs need. `bundle`: the default checks of operator-framework's bundle
validation. `scorecard`: the suites basic and olm. `operatorhub`: the further requirements of OperatorHub.io.
"""
SUITES: Final[tuple[Suite, ...]] = get_args(Suite)
DEFAULT_SUITES: Final[tuple[Suite, ...]] = ("format", "bundle")

Check = Callable[[Bundle], Iterator[Problem]]
_CHECKS: Final[Mapping[Suite, Sequence[Check]]] = {
    "format": (check_format,),
    "bundle": (check_csv, check_definitions, check_parts),
    "scorecard": (check_scorecard,),
    "operatorhub": (check_hub,),
}


@dataclass(frozen=True, slots=True)
class Report:
    """The problems, in the order of the checks."""

    problems: Sequence[Problem]

    @property
    def errors(self) -> list[Problem]:
        """The problems for which the bundle is rejected."""
        return [one for one in self.problems if one.level == "error"]

    @property
    def ok(self) -> bool:
        """Whether there are no errors; warnings may be intended."""
        return not self.errors


def validate(bundle: Bundle | Path, suites: Iterable[Suite] = DEFAULT_SUITES) -> Report:
    """Checks a bundle, or the one in a folder. Raises `BundleError` only if the folder does not exist.

    Files that cannot be read are reported, and checks that need them are skipped.
    """
    read = bundle if isinstance(bundle, Bundle) else Bundle.read(bundle)
    found = list(read.unreadable)
    # An unreadable ClusterServiceVersion is reported by its own check; the others would fail on it.
    asked = [check for suite in suites for check in _CHECKS[suite]]
    if misshapen(read.csv):
        asked = [check for check in asked if check in (check_csv, check_definitions)] or [check_csv]
    for check in asked:
        found += check(read)
    return Report(found)
